/* How right the estimates were: a table a grouping. */
"use strict";
(function (S) {
  function table(title, rows) {
    const keys = Object.keys(rows[0]);
    const head = S.element("tr", {}, ...keys.map((key) => S.element("th", { scope: "col", text: key.replaceAll("_", " ") })));
    const body = rows.map((row) => S.element("tr", {}, ...keys.map((key) => S.element("td", { text: row[key] === null ? "–" : S.shown(row[key]) }))));
    return S.element("section", {}, S.element("h2", { text: title }), S.element("div", { class: "scroll" }, S.element("table", {}, S.element("thead", {}, head), S.element("tbody", {}, ...body))));
  }

  async function load() {
    const found = await S.get("accuracy");
    S.setHead(found.state);
    const box = S.by("score");
    if (!found.accuracy) { S.fill(box, S.element("p", { text: "Nothing is kept: start the service with --store FILE." })); return; }
    const groups = Object.entries(found.accuracy).filter(([, rows]) => Array.isArray(rows) && rows.length);
    if (!groups.length) { S.fill(box, S.element("p", { text: "No kept estimate has met its start yet. Come back once jobs have started." })); return; }
    S.fill(box, ...groups.map(([title, rows]) => table(title, rows)));
  }
  load().catch((error) => S.fill(S.by("score"), S.element("p", { class: "bad", text: S.shown(error.message) })));
})(Slotwise);
