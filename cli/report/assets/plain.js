/* What a page of tables needs of model.js: elements, the theme; nothing to choose, nothing drawn. */
"use strict";
const Slotwise = { data: null, chosen: null };

(function (S) {
  S.onChoice = () => {};
  S.choose = () => {};
  S.clock = (time, missing) => time === null || time === undefined ? missing || "?" : String(time);

  /** An element with text and children; text is never taken for markup. */
  S.element = function (tag, options, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(options || {})) {
      if (key === "class") made.className = value;
      else if (key === "text") made.textContent = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  };

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  function remembered() { try { return localStorage.getItem("slotwise-theme"); } catch { return null; } }
  function show(name) {
    root.dataset.theme = name;
    root.classList.toggle("dark", name === "dark");
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${name === "dark" ? "light" : "dark"} theme`);
  }
  S.setTheme = show;
  button.addEventListener("click", () => {
    const name = root.dataset.theme === "dark" ? "light" : "dark";
    show(name);
    try { localStorage.setItem("slotwise-theme", name); } catch { /* a page from a file may not */ }
  });
  system.addEventListener("change", () => { if (!remembered()) show(system.matches ? "dark" : "light"); });
  show(remembered() || (system.matches ? "dark" : "light"));
})(Slotwise);
