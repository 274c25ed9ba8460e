/* How right the estimates were: a table by method, queue, size or horizon, and the reliability of forecasts. */
"use strict";
(function (S) {
  const share = (value) => (value === null ? "–" : `${Math.round(100 * value)}\u00a0%`);
  const seconds = (value) => (value === null ? "–" : S.duration(value));
  const COLUMNS = [
    ["jobs", "Jobs", String], ["mean_error", "Mean error", seconds], ["median_error", "Median", seconds],
    ["p90_error", "9 in 10 within", seconds], ["bias", "Bias", seconds], ["within_5m", "Within 5 m", share],
    ["within_1h", "Within 1 h", share], ["by_early", "By P10", share], ["by_likely", "By P50", share], ["by_late", "By P90", share],
  ];

  function table(groups) {
    const known = groups.flatMap((group) => group.estimators);
    const columns = COLUMNS.filter(([key]) => known.some((item) => item[key] !== null));
    const head = ["Of", "Method"].map((text) => S.element("th", { scope: "col", text }));
    head.push(...columns.map(([, text]) => S.element("th", { scope: "col", class: "number", text })));
    const rows = groups.flatMap((group) => group.estimators.map((item) => {
      const cells = columns.map(([key, , text]) => S.element("td", { class: "number", text: text(item[key]) }));
      const name = group.group ? `${group.by} ${group.group}` : "all jobs";
      return S.element("tr", {}, S.element("td", { text: S.shown(name) }), S.element("td", { text: S.shown(item.estimator) }), ...cells);
    }));
    return S.element("div", { class: "scroll" }, S.element("table", {}, S.element("thead", {}, S.element("tr", {}, ...head)), S.element("tbody", {}, ...rows)));
  }

  function diagram(rows) {
    const svg = S.svg("svg", { viewBox: "0 0 220 220", class: "reliability", role: "img" });
    const worst = Math.max(...rows.map((row) => Math.abs(row.share - row.level)));
    svg.setAttribute("aria-label", `Reliability: the shares of jobs that had started differ from the levels of the forecast by up to ${Math.round(100 * worst)} points.`);
    const at = (level, value) => `${10 + 200 * level} ${210 - 200 * value}`;
    svg.append(S.svg("path", { class: "grid", d: "M10 10V210H210V10Z", fill: "none" }), S.svg("path", { class: "grid", d: `M${at(0, 0)}L${at(1, 1)}` }));
    for (const [key, style] of [["share", "likely"], ["calibrated", "possible"]]) {
      const points = rows.filter((row) => row[key] !== null);
      if (points.length) svg.append(S.svg("path", { class: style, d: points.map((row, number) => `${number ? "L" : "M"}${at(row.level, row[key])}`).join("") }));
    }
    const list = S.element("tbody", {}, ...rows.map((row) => S.element("tr", {}, S.element("td", { text: share(row.level) }), S.element("td", { class: "number", text: share(row.share) }), S.element("td", { class: "number", text: share(row.calibrated) }))));
    const head = S.element("thead", {}, S.element("tr", {}, S.element("th", { scope: "col", text: "Forecast says" }), S.element("th", { scope: "col", class: "number", text: "Had started" }), S.element("th", { scope: "col", class: "number", text: "Calibrated" })));
    const keys = S.element("p", { class: "key" }, S.element("span", { class: "likely", text: "as forecast" }), S.element("span", { class: "possible", text: "calibrated" }));
    return S.element("section", {}, S.element("h2", { text: "How reliable the forecasts were" }), keys, svg, S.element("div", { class: "scroll" }, S.element("table", {}, head, list)));
  }

  const choice = S.element("select", { "aria-label": "Groups" }, ...["method", "queue", "size", "horizon"].map((name) => S.element("option", { value: name, text: name === "method" ? "All jobs" : `By ${name}` })));
  async function load() {
    const found = await S.get(`accuracy?by=${choice.value}`);
    S.setHead(found.state);
    const box = S.by("score"), told = found.accuracy;
    if (!told) { S.fill(box, S.element("p", { text: "Nothing is kept: start the service with --store FILE." })); return; }
    const groups = told.groups.filter((group) => group.estimators.length);
    if (!groups.length) { S.fill(box, S.element("p", { text: "No kept estimate has met its start yet. Come back when jobs have started." })); return; }
    const size = told.store;
    const intro = S.element("p", { class: "soft", text: `${size.started} starts, ${size.estimates} kept estimates, ${size.polls} polls. A job counts once in each line, by its first estimate there.` });
    S.fill(box, choice, intro, table(groups), told.reliability.length ? diagram(told.reliability) : null);
  }
  const failed = (error) => S.fill(S.by("score"), S.element("p", { class: "bad", text: S.shown(error.message) }));
  choice.addEventListener("change", () => load().catch(failed));
  load().catch(failed);
})(Slotwise);
