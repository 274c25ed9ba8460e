/* The page of one job: its start, its place, why not earlier, what would help, how its start moved. */
"use strict";
(function (S) {
  const path = location.pathname;
  const id = path.slice(path.lastIndexOf("/job/") + 5);
  const api = `jobs/${id}`;
  const name = decodeURIComponent(id);
  let explainedOf = null;

  S.by("title").textContent = `Job ${S.shown(name)}`;
  document.title = `Job ${S.shown(name)} · slotwise`;
  S.by("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(location.href); S.by("copy").textContent = "Copied"; } catch { S.say("the browser does not allow copying"); }
  });

  function figure(title, text) {
    return S.element("div", {}, S.element("dt", { text: title }), S.element("dd", { text: text || "–" }));
  }

  function drawHero(found) {
    const job = found.job, now = found.state.time;
    const big = S.by("big"), text = S.time(job, "as_configured", now);
    big.textContent = (job.of_earlier_state && text ? "~ " : "") + (text || job.state);
    big.classList.toggle("words", !text);
    const wait = job.as_configured === null || job.as_configured === undefined ? null : job.as_configured - found.now;
    S.by("in").textContent = wait === null || !text ? S.shown(job.reason || "") : wait > 0 ? `in ${S.duration(wait)}` : "now";
    const parts = [figure("Possible", S.time(job, "possible", now) + (job.proved ? " (proved)" : ""))];
    if (job.likely !== undefined) parts.push(figure("Likely", S.time(job, "likely", now)), figure("9 in 10 by", S.time(job, "nine_in_ten_by", now)));
    parts.push(figure("In the queue", `${found.position} of ${found.of}`));
    S.fill(S.by("figures"), ...parts);
    const facts = [job.user, `queue ${job.queue}`, `${job.slots} ${job.slots === 1 ? "slot" : "slots"}`];
    if (found.run_limit) facts.push(`at most ${S.duration(found.run_limit)}`);
    facts.push(`waits since ${S.time(job, "submit", now)}`);
    S.by("facts").textContent = facts.map(S.shown).join(" · ");
    S.fill(S.by("lines"), ...found.lines.map((line) => S.element("li", { text: S.shown(line) })));
  }

  function drawPlace(found) {
    const box = S.by("place");
    if (!found.place.length) { S.fill(box, S.element("p", { class: "soft", text: found.job.of_earlier_state ? "Its start is of an earlier state; the new one is being planned." : "There is no start as configured to draw." })); return; }
    const begin = found.now, start = found.job.as_configured;
    const jobsOn = (host) => [...host.jobs, ...host.others.map((item) => ({ ...item, job: "of another user" }))];
    const ends = found.place.flatMap((host) => jobsOn(host).map((item) => item.end)).filter((end) => end !== null);
    const end = Math.max(start + 60, ...ends, begin + 600);
    const percent = (time) => `${(100 * Math.max(0, time - begin) / (end - begin)).toFixed(2)}%`;
    const rows = found.place.map((host) => {
      const bars = S.element("div", { class: "bars", "aria-hidden": "true" });
      const free = [];  // lanes: end of the last bar on each slot
      for (const item of jobsOn(host).sort((a, b) => (a.start ?? begin) - (b.start ?? begin))) {
        const from = item.start ?? begin, until = item.end ?? end;
        let lane = 0;
        while (lane + item.slots < host.slots && free.slice(lane, lane + item.slots).some((time) => time > from)) lane += 1;
        for (let slot = lane; slot < lane + item.slots; slot += 1) free[slot] = until;
        const bar = S.element("i", { class: item.job === name ? "me" : item.kind, text: S.shown(item.job), title: S.shown(item.job) });
        bar.style.left = percent(from);
        bar.style.width = percent(begin + until - from);
        bar.style.top = `${100 * lane / host.slots}%`;
        bar.style.height = `${100 * item.slots / host.slots}%`;
        bars.append(bar);
      }
      const words = jobsOn(host).map((item) => `job ${item.job} with ${item.slots} slots ${item.start === null ? "runs" : "from then"}`).join(", ");
      return S.element("div", { class: "row" }, S.element("span", { class: "name", text: S.shown(host.host), title: S.shown(host.host) }), bars, S.element("span", { class: "vh", text: S.shown(words) }));
    });
    S.fill(box, ...rows, S.element("p", { class: "soft", text: `From now to +${S.duration(end - begin)}: running, planned, and this job; each to its limit.` }));
  }

  function drawMoves(found) {
    const rows = found.history.length ? found.history : found.moves, now = found.state.time;
    if (!rows.length) { S.fill(S.by("moved"), S.element("p", { class: "soft", text: "No start is known yet." })); return; }
    const titles = [["as_configured", "As configured"], ["likely", "Likely"], ["possible", "Possible"]].filter(([key]) => rows.some((row) => row[key] !== null && row[key] !== undefined));
    const head = S.element("tr", {}, S.element("th", { scope: "col", text: "State of" }), ...titles.map(([, title]) => S.element("th", { scope: "col", class: "number", text: title })));
    const body = rows.slice(0, 50).map((row) => S.element("tr", {}, S.element("td", { text: S.time(row, "at", now) }), ...titles.map(([key]) => S.element("td", { class: "number", text: S.time(row, key, now) || "–" }))));
    const table = S.element("table", {}, S.element("thead", {}, head), S.element("tbody", {}, ...body));
    const parts = [];
    if (rows.length > 1) parts.push(chart(rows, titles));
    const details = S.element("details", {}, S.element("summary", { text: `As a table (${rows.length} ${rows.length === 1 ? "state" : "states"})` }), S.element("div", { class: "scroll" }, table));
    details.open = S.by("moved").querySelector("details")?.open ?? rows.length === 1;
    S.fill(S.by("moved"), ...parts, details);
  }

  function chart(rows, titles) {
    const ordered = [...rows].reverse(), ns = "http://www.w3.org/2000/svg";
    const make = (tag, attributes) => { const item = document.createElementNS(ns, tag); for (const [key, value] of Object.entries(attributes)) item.setAttribute(key, value); return item; };
    const values = ordered.flatMap((row) => titles.map(([key]) => row[key])).filter((time) => time !== null && time !== undefined);
    const [low, high] = [Math.min(...values), Math.max(...values)], [first, last] = [ordered[0].at, ordered.at(-1).at];
    const x = (time) => 8 + 984 * (last > first ? (time - first) / (last - first) : 1);
    const y = (time) => 145 - 130 * (high > low ? (time - low) / (high - low) : .5);
    const svg = make("svg", { class: "moves", viewBox: "0 0 1000 160", preserveAspectRatio: "none", role: "img" });
    const end = ordered.at(-1).as_configured, begin = ordered[0].as_configured;
    const moved = begin === null || end === null ? "" : end === begin ? "is where it was" : `moved ${S.duration(Math.abs(end - begin))} ${end < begin ? "earlier" : "later"}`;
    svg.setAttribute("aria-label", `The start as configured ${moved || "is not known throughout"} over ${ordered.length} states.`);
    for (const [key] of titles) {
      let path = "", before = null;
      for (const row of ordered) {
        const time = row[key];
        if (time === null || time === undefined) { before = null; continue; }
        path += before === null ? `M${x(row.at).toFixed(1)} ${y(time).toFixed(1)}` : `H${x(row.at).toFixed(1)}V${y(time).toFixed(1)}`;
        before = time;
      }
      svg.append(make("path", { class: key === "as_configured" ? "configured" : key, d: path, "vector-effect": "non-scaling-stroke" }));
    }
    const keys = S.element("p", { class: "key" }, ...titles.map(([key, title]) => S.element("span", { class: key === "as_configured" ? "configured" : key, text: title })));
    return S.element("div", {}, keys, svg);
  }

  function drawExplanation(found) {
    const told = found.explanation, now = found.state.time;
    const whys = told.obstacles.map((item) => S.element("li", {}, S.element("span", { class: "tm", text: `${S.time(item, "from", now)} – ${S.time(item, "until", now)}` }), S.element("span", { text: S.shown(item.reason) })));
    if (!whys.length) whys.push(S.element("li", { class: "soft", text: S.shown(told.waits_for || (told.start === told.now ? "It starts now." : "Nothing stands in its way but its place in the queue.")) }));
    S.fill(S.by("obstacles"), ...whys);
    const helps = told.suggestions.slice(0, 5).map((item, at) => {
      const line = found.commands[at], gain = item.gain ? `, ${S.duration(item.gain)} earlier` : "";
      const text = S.element("b", { class: "good", text: `Starts ${S.time(item, "start", now)}${gain}` });
      return S.element("li", {}, text, ` ${S.shown(item.change)}`, line && line !== item.change ? S.copyable(line) : null);
    });
    for (const item of (told.configuration || []).slice(0, 3)) {
      const gain = item.gain ? `, ${S.duration(item.gain)} earlier` : "";
      helps.push(S.element("li", {}, S.element("b", { text: `Starts ${S.time(item, "start", now)}${gain}` }), ` if an administrator sets ${S.shown(item.where)}: ${S.shown(item.setting)}`));
    }
    if (!helps.length) helps.push(S.element("li", { class: "soft", text: "Nothing that was tried starts it earlier." }));
    S.fill(S.by("helps"), ...helps);
  }

  function gone(error) {
    S.status("warn", `Job ${S.shown(name)} is not pending`, error.message);
    S.by("big").textContent = "–";
    for (const part of ["obstacles", "helps", "place", "lines"]) S.fill(S.by(part));
    if (error.record.state) S.setHead(error.record.state);
    drawMoves({ history: error.record.history || [], moves: [], state: error.record.state || {} });
  }

  async function explain(version) {
    explainedOf = version;
    try { drawExplanation(await S.get(`${api}?explain=true`)); } catch (error) {
      if (error.status === 404) return;
      S.fill(S.by("obstacles"), S.element("li", { class: "soft", text: S.shown(error.message) }));
      S.fill(S.by("helps"));
      explainedOf = null;
    }
  }

  S.follow(async () => {
    let found;
    try { found = await S.get(api); } catch (error) { if (error.status === 404) { gone(error); return; } throw error; }
    S.setHead(found.state);
    if (!S.staleStatus()) S.by("status").hidden = true;
    drawHero(found); drawPlace(found); drawMoves(found);
    // Explanations take the planner's time: one a minute, and one when the page opens.
    if (explainedOf === null || Date.now() - explainedOf > 60000) explain(Date.now());
  });
})(Slotwise);
