/* Switches and buttons: what ties the parts of the page together. */
"use strict";
(function (S) {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => S.keepTheme(root.dataset.theme === "dark" ? "light" : "dark"));

  // --- the switch between the methods ---------------------------------------------------------------

  const meaning = document.getElementById("meaning");
  const against = document.getElementById("against");
  const legend = document.getElementById("legend");

  function show() {
    const chosen = document.querySelector("input[name=view]:checked");
    const difference = chosen && chosen.value === "difference";
    const view = difference ? S.data.views[S.data.views.length - 1] : chosen ? S.viewNamed(chosen.value) : S.data.views[0];
    const base = difference ? S.viewNamed(against.value) : null;
    if (against) against.parentElement.hidden = !difference;
    S.gantt.show(view, base);
    const moved = difference ? changes(base, view) : null;
    meaning.textContent = difference
      ? `${view.name} against ${base.name}: ${moved.earlier} earlier, ${moved.later} later, ${moved.same} at the same time. Dashed: where ${base.name} has the job.` : view.meaning;
    explain(difference);
    S.refillGantt();
    S.say(meaning.textContent);
  }

  function changes(base, view) {
    const [before, after] = [S.startsOf(base), S.startsOf(view)];
    const found = { earlier: 0, later: 0, same: 0 };
    for (const number of new Set([...before.keys(), ...after.keys()])) {
      const [was, is] = [before.get(number), after.get(number)];
      found[was === is ? "same" : is !== undefined && (was === undefined || is < was) ? "earlier" : "later"] += 1;
    }
    return found;
  }

  function explain(difference) {
    const item = (style, text) => {
      const made = S.element("li", {}, S.element("i", { "aria-hidden": "true" }), text);
      made.firstChild.style.cssText = style;
      return made;
    };
    const hatch = "background:repeating-linear-gradient(135deg,var(--reserved) 0 2px,transparent 2px 6px);border:1px solid var(--reserved)";
    const items = [item("background:var(--running)", S.data.kind === "simulation" ? "ran at the beginning" : "running")];
    if (difference) items.push(item("background:var(--good)", "earlier"), item("background:var(--bad)", "later"), item("background:var(--planned)", "same start"), item("border:1px dashed var(--soft)", "before"));
    else items.push(item("background:linear-gradient(90deg,#3b76e1 33%,#e0742c 33% 66%,#1f9d7a 66%)", S.data.kind === "simulation" ? "jobs" : "planned, a colour a job"));
    if (S.data.groups.length) items.push(item("background:var(--planned)", "planned, in a folded row"));
    if (S.gantt.state.view.bars.some((bar) => bar[1] === 1)) items.push(item(hatch, "held for a later start"));
    items.push(item("background:var(--bad);width:3px", "now"));
    legend.replaceChildren(...items);
  }

  for (const input of document.querySelectorAll("input[name=view]")) input.addEventListener("change", show);
  if (against) against.addEventListener("change", show);
  const act = (id, doing) => { const found = document.getElementById(id); if (found) found.addEventListener("click", doing); };
  act("fold", () => S.gantt.fold(0));
  act("unfold-one", () => S.gantt.fold(Math.min(1 + depthNow(), S.gantt.levels)));
  act("zoom-in", () => S.gantt.zoom(0.5));
  act("zoom-out", () => S.gantt.zoom(2));
  act("zoom-all", () => S.gantt.whole());
  function depthNow() {
    let depth = 0;
    for (const place of S.gantt.state.opened) {
      let at = 1;
      for (let up = S.data.groups[place][2]; up !== null; up = S.data.groups[up][2]) at += 1;
      depth = Math.max(depth, at);
    }
    return depth;
  }
  show();
  const { comparison, plan, advice } = S.data;
  const inOrder = comparison ? comparison.jobs : plan ? [...plan.reservations, ...plan.unplaced] : [];
  const explained = inOrder.find((row) => Object.hasOwn(advice, row.job));
  if (explained) S.choose(explained.job);
  root.dataset.ready = "yes";
})(Slotwise);
