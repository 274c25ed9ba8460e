/* The name that everything hangs on, elements, and the theme: the reader's last choice, else the system's. */
"use strict";
const Slotwise = { data: null, chosen: null };

(function (S) {
  const found = document.getElementById("data");
  S.data = found ? JSON.parse(found.textContent) : null;

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

  // Choosing a job: every part of the page hears of it.
  const listeners = [];
  S.onChoice = (listener) => listeners.push(listener);
  S.choose = function (job) {
    S.chosen = job;
    for (const listener of listeners) listener(job);
  };
  S.clock = (time, missing) => time === null || time === undefined ? missing || "?" : String(time);

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  function remembered() { try { return localStorage.getItem("slotwise-theme"); } catch { return null; } }
  S.setTheme = function (name) {
    root.dataset.theme = name;
    root.classList.toggle("dark", name === "dark");
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${name === "dark" ? "light" : "dark"} theme`);
  };
  button.addEventListener("click", () => {
    const name = root.dataset.theme === "dark" ? "light" : "dark";
    S.setTheme(name);
    try { localStorage.setItem("slotwise-theme", name); } catch { /* a page from a file may not */ }
  });
  system.addEventListener("change", () => { if (!remembered()) S.setTheme(system.matches ? "dark" : "light"); });
  S.setTheme(remembered() || (system.matches ? "dark" : "light"));
})(Slotwise);
