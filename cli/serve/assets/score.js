/* How right the estimates were: a table by method, queue, size or horizon, and the reliability of forecasts. */
"use strict";
(function (S) {
  const share = (value) => (value === null ? "–" : `${Math.round(100 * value)}\u00a0%`);
  const seconds = (value) => (value === null ? "–" : S.duration(value));
  const COLUMNS = [
    ["jobs", "Jobs", String], ["mean_error", "Mean error", seconds], ["median_error", "Median", seconds],
    ["p90_error", "9 in 10 within", seconds], ["bias", "Started", (value) => (value === null ? "–" : late(-value))], ["within_5m", "Within 5 m", share],
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

  const TITLES = { likely: "likely", "as configured": "as configured", printed: "printed by the scheduler", estimate: "reservation estimate", possible: "could start" };
  const STYLES = { likely: "likely", "as configured": "configured", printed: "other", estimate: "other", possible: "possible" };
  const off = (row) => row.waited - row.estimated;
  const late = (seconds) => (Math.abs(seconds) < 60 ? "as estimated" : `${S.duration(Math.abs(seconds))} ${seconds > 0 ? "late" : "early"}`);

  /** The shares of starts that each method had right within some minutes, as bars. */
  function within(methods) {
    const groups = [["within_1m", "1 minute"], ["within_10m", "10 minutes"], ["within_1h", "60 minutes"]];
    return groups.flatMap(([key, words]) => [S.element("h3", { text: `within ${words} of the start` }), ...methods.map((item) => {
      const bar = S.element("i", { class: STYLES[item.estimator], "aria-hidden": "true" });
      bar.style.width = `${100 * item[key]}%`;
      return S.element("div", { class: "share" }, S.element("span", { text: TITLES[item.estimator] }), S.element("span", {}, bar), S.element("span", { class: "n", text: share(item[key]) }), S.element("span", { class: "n soft", text: `${item.jobs} ${item.jobs === 1 ? "job" : "jobs"}` }));
    })]);
  }

  /** One point a job: the wait that was estimated, and the one that followed; both on a scale of logarithms. */
  function scatter(rows, worst) {
    const box = S.by("each"), width = Math.min(560, Math.max(300, box.clientWidth || 520)), height = Math.round(.8 * width);
    const longest = Math.max(3600, ...rows.flatMap((row) => [row.estimated, row.waited]));
    const scale = (seconds) => Math.log(Math.max(60, seconds) / 60) / Math.log(longest / 60);
    const x = (seconds) => 52 + (width - 68) * scale(seconds), y = (seconds) => height - 46 - (height - 62) * scale(seconds);
    const found = rows.filter((row) => Math.abs(off(row)) <= 600).length;
    const svg = S.svg("svg", { class: "each", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${rows.length} starts, estimated wait against true wait: ${found} lie within 10 minutes of each other, ${rows.filter((row) => off(row) > 600).length} started later and ${rows.filter((row) => off(row) < -600).length} earlier.` });
    for (const time of [60, 600, 3600, 14400, 86400, 604800].filter((each) => each <= longest)) svg.append(S.svg("path", { class: "grid", d: `M${x(time)} 16V${height - 46}M52 ${y(time)}H${width - 16}` }), S.svg("text", { x: x(time), y: height - 30, "text-anchor": "middle" }, S.duration(time)), S.svg("text", { x: 46, y: y(time) + 4, "text-anchor": "end" }, S.duration(time)));
    svg.append(S.svg("path", { class: "same", d: `M${x(60)} ${y(60)}L${x(longest)} ${y(longest)}` }), S.svg("text", { x: 60, y: 30 }, "started later"), S.svg("text", { x: width - 22, y: height - 54, "text-anchor": "end" }, "started earlier"), S.svg("text", { x: width / 2 + 20, y: height - 8, "text-anchor": "middle" }, "estimated: still to wait"), S.svg("text", { transform: `translate(12 ${height / 2 - 20}) rotate(-90)`, "text-anchor": "middle" }, "happened: waited"));
    const marked = [];
    for (const row of [...rows.filter((each) => !worst.includes(each)), ...worst]) {
      const [left, top] = [x(row.estimated), y(row.waited)], covers = marked.some((other) => Math.hypot(other[0] - left, other[1] - top) < 17);
      const place = covers ? -1 : worst.indexOf(row);
      if (place >= 0) marked.push([left, top]);
      svg.append(S.svg("circle", { class: place < 0 ? "" : "worst", cx: left, cy: top, r: place < 0 ? 3.5 : 8 }, S.svg("title", {}, `${S.shown(row.job)}: ${late(off(row))}`)));
      if (place >= 0) svg.append(S.svg("text", { class: "ink", x: left, y: top + 4, "text-anchor": "middle" }, place + 1));
    }
    return svg;
  }

  /** The mean of happened minus estimated by classes of the estimated wait. */
  function bias(groups, methods) {
    const width = Math.max(300, S.by("bias").clientWidth || 520), height = 220;
    const of = (group, name) => group.estimators.find((item) => item.estimator === name && item.jobs)?.bias;
    const known = groups.flatMap((group) => methods.map((item) => of(group, item.estimator))).filter((value) => value !== undefined && value !== null).map((value) => -value);
    if (!known.length) return S.element("p", { class: "soft", text: "No class has a start yet." });
    const [low, high] = [Math.min(-600, ...known), Math.max(600, ...known)];
    const x = (place) => 84 + (width - 110) * (groups.length > 1 ? place / (groups.length - 1) : .5), y = (seconds) => 170 - 156 * (seconds - low) / (high - low);
    const svg = S.svg("svg", { class: "moves", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Mean difference by estimated wait, as configured: ${groups.map((group) => `${group.group}: ${of(group, "as configured") === undefined ? "no start" : late(-of(group, "as configured"))}`).join("; ")}.` });
    const apart = (value) => !value || Math.abs(y(value) - y(0)) >= 16;
    for (const seconds of [low, 0, high].filter(apart)) svg.append(S.svg("path", { class: "grid", d: `M84 ${y(seconds)}H${width - 12}` }), S.svg("text", { x: 78, y: y(seconds) + 4, "text-anchor": "end" }, seconds ? late(seconds) : "as estimated"));
    groups.forEach((group, place) => svg.append(S.svg("text", { x: x(place), y: 190, "text-anchor": "middle" }, group.group)));
    svg.append(S.svg("text", { x: width / 2 + 30, y: 212, "text-anchor": "middle" }, "estimated wait"));
    for (const { estimator } of methods) {
      const points = groups.map((group, place) => [place, of(group, estimator)]).filter(([, value]) => value !== undefined && value !== null);
      svg.append(S.svg("path", { class: STYLES[estimator], d: points.map(([place, value], at) => `${at ? "L" : "M"}${x(place).toFixed(1)} ${y(-value).toFixed(1)}`).join("") }), ...points.map(([place, value]) => S.svg("circle", { class: STYLES[estimator], cx: x(place), cy: y(-value), r: 3.5 })));
    }
    return S.element("div", {}, S.element("p", { class: "key" }, ...methods.map((item) => S.element("span", { class: STYLES[item.estimator], text: TITLES[item.estimator] }))), svg);
  }

  function worstTable(rows) {
    if (!rows.length) return S.element("p", { class: "soft", text: "No start was off by 10 minutes or more." });
    const because = rows.some((row) => row.because);
    const head = ["", "Job", "Estimated", "Happened", "Off by"].map((text, place) => S.element("th", { scope: "col", ...(place > 1 ? { class: "number" } : {}), text }));
    if (because) head.push(S.element("th", { scope: "col", class: "wide", text: "Because" }));
    const body = rows.map((row, place) => S.element("tr", {}, S.element("td", {}, S.element("span", { class: "mark", text: place + 1 })), S.element("td", {}, S.element("a", { href: `${S.up}job/${encodeURIComponent(row.job)}`, text: S.shown(row.job) })), S.element("td", { class: "number", text: S.duration(row.estimated) }), S.element("td", { class: "number", text: S.duration(row.waited) }), S.element("td", { class: `number ${off(row) > 0 ? "bad" : "good"}`, text: late(off(row)) }), because ? S.element("td", { class: "wide", text: S.shown(row.because) || "–" }) : ""));
    return S.element("div", { class: "scroll" }, S.element("table", {}, S.element("thead", {}, S.element("tr", {}, ...head)), S.element("tbody", {}, ...body)));
  }

  // The starts that are compared job by job, and those of them that the filters leave.
  let compared = [], ofAll = [];
  const LEADS = [["", 0, Infinity], ["under 10m", 0, 600], ["10m to 1h", 600, 3600], ["1h to 4h", 3600, 14400], ["4h to 1d", 14400, 86400], ["1d or more", 86400, Infinity]];
  function drawFilters() {
    const fill = (id, all, names) => { const kept = S.by(id).value; S.fill(S.by(id), ...["", ...names].map((name) => S.element("option", { value: name, text: S.shown(name) || all }))); S.by(id).value = kept; };
    const known = (key) => [...new Set(compared.map((row) => row[key]))].sort();
    fill("queue", "All queues", known("queue"));
    fill("user", "All users", known("user"));
    fill("lead", "Estimated at any time before", LEADS.slice(1).map(([name]) => name));
    const printed = compared.filter((row) => "printed" in row.by_method).length;
    S.by("printed").nextElementSibling.textContent = `Only jobs that the scheduler estimated too (${printed})`;
    S.by("printed").closest("label").hidden = !printed;
    S.by("filters").hidden = compared.length < 2;
  }
  /** The shares of the filtered starts by method, in the form of the figures of all. */
  const sharesOf = (rows) => ofAll.map(({ estimator }) => {
    const errors = rows.filter((row) => estimator in row.by_method).map((row) => Math.abs(row.waited - row.by_method[estimator]));
    const within = (limit) => errors.filter((error) => error <= limit).length / errors.length;
    return { estimator, jobs: errors.length, within_1m: within(60), within_10m: within(600), within_1h: within(3600) };
  }).filter((item) => item.jobs);
  function drawCompared() {
    const value = (id) => S.by(id).value, [, low, high] = LEADS.find(([name]) => name === value("lead")) ?? LEADS[0];
    const rows = compared.filter((row) => (!value("queue") || row.queue === value("queue")) && (!value("user") || row.user === value("user"))
      && row.estimated >= low && row.estimated < high && (!S.by("printed").checked || "printed" in row.by_method));
    const worst = rows.filter((row) => Math.abs(off(row)) >= 600).sort((a, b) => Math.abs(off(b)) - Math.abs(off(a))).slice(0, 8);
    const none = S.element("p", { class: "soft", text: compared.length ? "No start is left by these filters." : "No start of yours is known yet." });
    S.by("count").textContent = `${rows.length} of the last ${compared.length} starts, each by its first estimate`;
    S.fill(S.by("each"), rows.length ? scatter(rows, worst) : none);
    S.fill(S.by("within"), ...within(rows.length === compared.length ? ofAll : sharesOf(rows)));
    S.fill(S.by("worst"), worstTable(worst));
  }
  for (const id of ["queue", "user", "lead", "printed"]) S.by(id).addEventListener("input", drawCompared);

  const choice = S.element("select", { "aria-label": "Groups" }, ...["horizon", "queue", "size"].map((name) => S.element("option", { value: name, text: `By ${name}` })));
  async function load() {
    const found = await S.get(`accuracy?by=${choice.value}`);
    S.setHead(found.state);
    const box = S.by("score"), known = found.accuracy, groups = known ? known.groups.filter((group) => group.estimators.length) : [];
    const parts = ["each", "within", "bias", "worst"].map((name) => [S.by(name), S.by(name).closest("section")]);
    for (const [, section] of parts) section.hidden = !groups.length;
    box.hidden = false;
    S.by("status").hidden = !groups.length;
    if (!known) { S.fill(box, S.element("p", { text: "Nothing is kept: start the service with --store FILE." })); return; }
    if (!groups.length) { S.fill(box, S.element("p", { text: "No kept estimate has met its start yet. Come back when jobs have started." })); return; }
    const size = known.store, methods = groups[0].estimators.filter((item) => TITLES[item.estimator] && item.estimator !== "possible" && item.jobs);
    const best = methods.find((item) => item.estimator === "likely") || methods.find((item) => item.estimator === "as configured");
    if (best) S.status(best.within_1h < .5 ? "warn" : "good", `${best.estimator === "likely" ? "Likely starts are" : "Starts as configured are"} right within 10 minutes for ${share(best.within_10m)}, and within an hour for ${share(best.within_1h)}`, `${best.jobs} ${best.jobs === 1 ? "start" : "starts"}`, size.first_poll === null ? "" : `over ${S.duration(size.last_poll - size.first_poll)}`);
    S.by("source").textContent = `, ${S.shown(found.state.source)}`;
    compared = known.compared;
    ofAll = methods;
    drawFilters();
    drawCompared();
    if (choice.value === "horizon") S.fill(S.by("bias"), bias(groups.slice(1), methods));
    const intro = S.element("p", { class: "soft", text: `${size.started} starts, ${size.estimates} kept estimates, ${size.polls} polls. A job counts once in each line, by its first estimate there.` });
    S.fill(box, S.element("h2", { text: "By method" }), choice, intro, table(groups), known.reliability.length ? diagram(known.reliability) : null);
  }
  const failed = (error) => S.fill(S.by("score"), S.element("p", { class: "bad", text: S.shown(error.message) }));
  choice.addEventListener("change", () => load().catch(failed));
  load().catch(failed);
})(Slotwise);
