/* Switches, buttons, folds and paper: what ties the parts of the page together. */
"use strict";
(function (S) {
  const data = S.data;
  const E = S.element;
  const key = document.getElementById("key");

  function legend() {
    const { view } = S.gantt.state;
    const item = (style, text) => E("li", {}, E("i", { class: style, "aria-hidden": "true" }), text);
    const two = data.views.length > 1;
    const last = view === data.views[data.views.length - 1];
    const items = [item("running", data.kind === "simulation" ? "ran at the beginning" : "running"), item("planned", data.kind === "simulation" ? "jobs" : two && !last ? "starts" : "planned")];
    if (two && last) items.push(item("sooner", "earlier"));
    if (view.bars.some((bar) => bar[1] === 1)) items.push(item("reserved", "reserved"));
    items.push(item("chosen", "chosen"));
    if (two) items.push(item("ghost", last ? "as configured" : "possible"));
    key.replaceChildren(...items);
  }

  function show(number) {
    const view = data.views[number];
    S.gantt.show(view);
    legend();
    S.refillGantt();
  }
  for (const input of document.querySelectorAll("input[name=view]")) {
    input.addEventListener("change", () => { show(Number(input.value)); S.say(`${data.views[Number(input.value)].name}: ${data.views[Number(input.value)].meaning}`); });
  }
  const act = (id, doing) => { const found = document.getElementById(id); if (found) found.addEventListener("click", doing); };
  act("fold", () => { S.gantt.state.touched = true; S.gantt.fold(0); });
  act("unfold-one", () => { S.gantt.state.touched = true; S.gantt.unfold(); });
  act("zoom-in", () => S.gantt.zoom(0.5));
  act("zoom-out", () => S.gantt.zoom(2));
  act("zoom-all", () => S.gantt.whole());
  act("print", () => print());

  // --- links into folds open them ---------------------------------------------------------------

  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    const fold = link && document.getElementById(link.getAttribute("href").slice(1));
    if (fold && fold.tagName === "DETAILS") fold.open = true;
    const name = event.target.closest("button.name");
    if (name) S.choose(name.dataset.job);
  });

  // --- paper: every fold open, light colours, and then as before --------------------------------

  let before = null;
  addEventListener("beforeprint", () => {
    if (before) return;
    before = { theme: document.documentElement.dataset.theme, shut: [...document.querySelectorAll("details:not([open])")] };
    for (const fold of before.shut) fold.open = true;
    if (before.theme === "dark") S.setTheme("light");
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    for (const fold of before.shut) fold.open = false;
    if (before.theme === "dark") S.setTheme("dark");
    before = null;
  });

  show(data.views.length - 1);
  const first = document.querySelector("#picks input:checked");
  if (first) S.choose(first.value);
  document.documentElement.dataset.ready = "yes";
})(Slotwise);
