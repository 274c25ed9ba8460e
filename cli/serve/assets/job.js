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

  function figure(title, value, small, good) {
    const parts = [value || "–"].flat().filter(Boolean);
    return S.element("div", {}, S.element("dt", { text: title }), S.element("dd", good ? { class: "good" } : {}, ...parts), small ? S.element("dd", { class: "small" }, small) : null);
  }

  function range(job, now, stamp) {
    const ends = [job.one_in_ten_by, job.nine_in_ten_by];
    if (ends.some((time) => time === null || time === undefined)) return null;
    const last = Math.max(...ends, job.likely) + 60, x = (time) => 280 * Math.max(0, time - now) / (last - now);
    const words = ends.map((time) => S.clock(time, now, stamp));
    const svg = S.svg("svg", { class: "range", viewBox: "0 0 300 18", role: "img", "aria-label": `Likely ${S.clock(job.likely, now, stamp)}, 8 in 10 starts between ${words.join(" and ")}` });
    svg.append(S.svg("path", { class: "grid", d: "M0 9H300" }), S.svg("rect", { class: "eight", x: x(ends[0]), y: 4, width: Math.max(4, x(ends[1]) - x(ends[0])), height: 10, rx: 5 }), S.svg("rect", { class: "middle", x: x(job.likely) - 2, y: 0, width: 4, height: 18, rx: 2 }));
    return S.element("span", {}, svg, `8 in 10 between ${words.join(" and ")}`);
  }

  function setFacts(job, limit, now) {
    const facts = [job.user, job.queue, `${job.slots} ${job.slots === 1 ? "slot" : "slots"}`];
    if (limit) facts.push(`at most ${S.duration(limit)}`);
    facts.push(`${job.started === undefined ? "waits" : "waited"} since ${S.time(job, "submit", now)}`);
    S.by("facts").textContent = facts.map(S.shown).join(" · ");
  }

  function drawHero(found) {
    const job = found.job, stamp = found.state.time, outlook = found.outlook || {};
    const big = S.by("big"), text = S.time(job, "as_configured", stamp);
    S.by("start-title").textContent = "Starts as configured";
    big.textContent = (job.of_earlier_state && text ? "~ " : "") + (text || job.state);
    big.classList.toggle("words", !text);
    const wait = job.as_configured === null || job.as_configured === undefined ? null : job.as_configured - found.now;
    S.by("in").textContent = wait === null || !text ? S.shown(job.reason || "") : wait > 0 ? `in ${S.duration(wait)}, if every job runs to its limit` : "now";
    const possible = S.time(job, "possible", stamp), proved = job.proved ? S.element("span", { class: "badge good", text: "proved" }) : null;
    const parts = [];
    if (job.no_earlier) parts.push(figure("Could start", S.shown(job.no_earlier)));
    else if (possible || found.state.planning) parts.push(figure("Could start", possible ? [possible, " ", proved] : "planning …", job.earlier_by ? `${S.duration(job.earlier_by)} earlier, no job before it delayed` : "", Boolean(job.earlier_by)));
    if (job.likely !== undefined) parts.push(figure("Likely", S.time(job, "likely", stamp), range(job, found.now, stamp)));
    if (job.estimate !== null && job.estimate !== undefined) parts.push(figure(`By the ${outlook.estimate_by || "scheduler’s"} estimate`, S.time(job, "estimate", stamp), outlook.estimate_by === "greedy" && job.estimate > found.now ? "no sooner than" : ""));
    parts.push(figure("In line", `${found.position} of ${found.of}`));
    S.fill(S.by("figures"), ...parts);
    setFacts(job, found.run_limit, stamp);
    S.fill(S.by("lines"), ...found.lines.map((line) => S.element("li", { text: S.shown(line) })));
    for (const [id, value] of [["slots", job.slots], ["limit", found.run_limit && Math.ceil(found.run_limit / 60)]]) if (!S.by(id).placeholder) { S.by(id).placeholder = value || ""; }
  }

  function drawPlace(found) {
    const box = S.by("place"), stamp = found.state.time, begin = found.now;
    if (!found.place.length) { S.fill(box, S.element("p", { class: "soft", text: found.job.of_earlier_state || found.state.planning ? "planning …" : "It has no start as configured." })); return; }
    const jobsOn = (host) => [...host.jobs, ...host.others.map((item) => ({ ...item, job: "of another user" })), ...(host.could_start ? [{ ...host.could_start, job: name, kind: "could start" }] : [])];
    const ends = found.place.flatMap((host) => jobsOn(host).filter((item) => item.job === name || item.kind === "running").map((item) => item.end)).filter((end) => end !== null);
    const end = Math.max(found.job.as_configured + 60, begin + 600, ...ends);
    const percent = (time) => `${(100 * Math.max(0, time - begin) / (end - begin)).toFixed(2)}%`;
    const rows = found.place.map((host) => {
      const bars = S.element("div", { class: "bars", "aria-hidden": "true" });
      const free = [], height = Math.max(40, 18 * Math.min(4, host.slots));  // free: end of the last bar on each slot
      for (const item of jobsOn(host).sort((a, b) => (a.kind === "could start") - (b.kind === "could start") || (a.start ?? begin) - (b.start ?? begin))) {
        const from = item.start ?? begin, until = item.end ?? end, could = item.kind === "could start";
        let lane = 0;
        while (!could && lane + item.slots < host.slots && free.slice(lane, lane + item.slots).some((time) => time > from)) lane += 1;
        if (!could) for (let slot = lane; slot < lane + item.slots; slot += 1) free[slot] = until;
        const kind = could ? "could" : item.job === name ? "me" : item.kind;
        const tall = could || height * item.slots / host.slots >= 13;
        const bar = S.element("i", { class: kind, text: could ? "could start" : tall ? S.shown(item.job) : "", title: S.shown(item.job) });
        bar.style.left = percent(from);
        bar.style.width = percent(begin + Math.min(until, end) - from);
        bar.style.top = could ? "0" : `${100 * lane / host.slots}%`;
        bar.style.height = could ? "100%" : `${100 * item.slots / host.slots}%`;
        bars.append(bar);
      }
      bars.style.height = `${height}px`;
      const words = jobsOn(host).map((item) => `job ${item.job} with ${item.slots} slots ${item.start === null ? "runs" : `${item.kind === "could start" ? "could start" : "starts"} ${S.clock(item.start, begin, stamp)}`}`).join(", ");
      return S.element("div", { class: "row" }, S.element("span", { class: "name", text: S.shown(host.host), title: S.shown(host.host) }), bars, S.element("span", { class: "vh", text: S.shown(words) }));
    });
    const axis = S.element("div", { class: "at", "aria-hidden": "true" });
    for (const time of [begin, ...S.ticks(begin, end, box.clientWidth < 500 ? 4 : 8, begin, stamp)]) {
      if (time > begin && (time - begin < (end - begin) / 16 || end - time < (end - begin) / 20)) continue;
      const mark = S.element("span", time > begin ? { text: S.clock(time, begin, stamp) } : { class: "now", text: "now" });
      mark.style.left = percent(time);
      axis.append(mark);
    }
    const keys = [["running", "running"], ["planned", "planned"], ["me", `${S.shown(name)} as configured`], ["could", `${S.shown(name)}, could start`]];
    const used = new Set(rows.flatMap((row) => [...row.querySelectorAll("i")].map((bar) => bar.className)));
    S.fill(box, S.element("p", { class: "key boxes" }, ...keys.filter(([kind]) => used.has(kind)).map(([kind, text]) => S.element("span", {}, S.element("i", { class: kind }), text))), ...rows, S.element("div", { class: "row" }, S.element("span", {}), axis));
  }

  /** Moves of the start, the last ones first: those that this service saw, then those of its store. */
  const moves = (found) => [...found.moves, ...found.history.filter((row) => row.at < (found.moves.at(-1)?.at ?? Infinity))].filter((row) => row.change && row.change.kind !== "new").slice(0, 6);
  const kept = (found) => (found.history.length > 1 || !found.moves.length ? found.history : found.moves);

  /** What was told over the states: a chart, the causes of moves, and a table. started: null while it waits. */
  function drawMoves(found, started) {
    const rows = kept(found), stamp = found.state.time;
    if (!rows.length) { S.fill(S.by("moved"), S.element("p", { class: "soft", text: started === null ? "No start is known yet." : "What was told is not known: it started before this service did, or no state of it was kept." })); return; }
    const titles = [["as_configured", "As configured"], ["likely", "Likely"], ["possible", "Could start"]].filter(([key]) => rows.some((row) => row[key] !== null && row[key] !== undefined));
    const head = S.element("tr", {}, S.element("th", { scope: "col", text: "State of" }), ...titles.map(([, title]) => S.element("th", { scope: "col", class: "number", text: title })));
    const body = rows.slice(0, 50).map((row) => S.element("tr", {}, S.element("td", { text: S.time(row, "at", stamp) }), ...titles.map(([key]) => S.element("td", { class: "number", text: S.time(row, key, stamp) || "–" }))));
    const changed = moves(found);
    const causes = changed.map((row, place) => {
      const level = row.change.kind === "later" ? "bad" : "good", number = S.element("span", { class: "mark", text: changed.length - place });
      return S.element("li", {}, S.element("span", { class: "tm" }, number, ` ${S.time(row, "at", stamp)}`), S.element("span", {}, S.element("b", row.change.by ? { class: level, text: `${S.duration(row.change.by)} ${row.change.kind}` } : { text: "changed" }), `, now ${S.time(row, "as_configured", stamp) || "unknown"}`, row.change.because ? S.shown(`: ${row.change.because}`) : ""));
    });
    const details = S.element("details", {}, S.element("summary", { text: `As a table (${rows.length} ${rows.length === 1 ? "state" : "states"})` }), S.element("div", { class: "scroll" }, S.element("table", {}, S.element("thead", {}, head), S.element("tbody", {}, ...body))));
    details.open = S.by("moved").querySelector("details")?.open ?? rows.length === 1;
    S.fill(S.by("moved"), rows.length > 1 || started !== null ? chart(rows, titles, found, started, changed) : null, causes.length ? S.element("ul", { class: "why" }, ...causes) : null, details);
  }

  function chart(rows, titles, found, started, changed) {
    const ordered = [...rows].reverse(), now = found.now, stamp = found.state.time;
    const width = Math.max(280, S.by("moved").clientWidth || 640), height = 220;
    const known = (value) => value !== null && value !== undefined;
    const shaded = ordered.filter((row) => known(row.one_in_ten_by) && known(row.nine_in_ten_by));
    const values = [...titles.map(([key]) => key), "one_in_ten_by", "nine_in_ten_by"].flatMap((key) => ordered.map((row) => row[key])).concat(started).filter(known);
    const [low, high] = [Math.min(...values) - 60, Math.max(...values) + 60], first = ordered[0].at, last = Math.max(first + 60, started ?? now);
    const x = (time) => 62 + (width - 74) * (Math.min(last, time) - first) / (last - first), y = (time) => 178 - 168 * (time - low) / (high - low);
    const svg = S.svg("svg", { class: "moves", viewBox: `0 0 ${width} ${height}`, role: "img" });
    const end = ordered.at(-1).as_configured, begin = ordered[0].as_configured;
    const moved = !known(begin) || !known(end) ? "is not known throughout" : end === begin ? "is where it was" : `moved ${S.duration(Math.abs(end - begin))} ${end < begin ? "earlier" : "later"}`;
    svg.setAttribute("aria-label", `The start as configured ${moved} over ${ordered.length} states${started === null ? "" : `; it started ${S.clock(started, now, stamp)}`}.`);
    for (const time of S.ticks(low, high, 6, now, stamp)) svg.append(S.svg("path", { class: "grid", d: `M62 ${y(time)}H${width - 12}` }), S.svg("text", { x: 56, y: y(time) + 4, "text-anchor": "end" }, S.clock(time, now, stamp)));
    for (const time of S.ticks(first, last, width < 420 ? 4 : 7, now, stamp)) svg.append(S.svg("path", { class: "grid", d: `M${x(time)} 178v5` }), S.svg("text", { x: Math.min(width - 20, x(time)), y: 197, "text-anchor": "middle" }, S.clock(time, now, stamp)));
    svg.append(S.svg("text", { x: width / 2 + 25, y: 215, "text-anchor": "middle" }, started === null ? "state of" : "told at"));
    if (shaded.length > 1) {
      const edge = (key, items) => items.map((row) => `${x(row.at).toFixed(1)} ${y(row[key]).toFixed(1)}`).join("L");
      svg.append(S.svg("path", { class: "eight", d: `M${edge("one_in_ten_by", shaded)}L${edge("nine_in_ten_by", [...shaded].reverse())}Z` }));
    }
    for (const [key] of titles) {
      let path = "", before = null;
      for (const row of ordered) {
        const time = key === "possible" && known(row.as_configured) && row.possible > row.as_configured ? null : row[key];
        if (!known(time)) { if (before !== null) path += `H${x(row.at).toFixed(1)}`; before = null; continue; }
        path += before === null ? `M${x(row.at).toFixed(1)} ${y(time).toFixed(1)}` : `H${x(row.at).toFixed(1)}V${y(time).toFixed(1)}`;
        before = time;
      }
      if (before !== null) path += `H${x(last).toFixed(1)}`;
      svg.append(S.svg("path", { class: key === "as_configured" ? "configured" : key, d: path }));
    }
    // The numbers of the list below, the last moves on top; those that would cover another are left out.
    const marked = [];
    changed.forEach((row, place) => {
      const [left, top] = [x(row.at), y(row.as_configured)];
      if (!known(row.as_configured) || marked.some((other) => Math.hypot(other[0] - left, other[1] - top) < 17)) return;
      marked.push([left, top]);
      svg.append(S.svg("circle", { class: "mark", cx: left, cy: top, r: 8 }), S.svg("text", { class: "ink", x: left, y: top + 4, "text-anchor": "middle" }, changed.length - place));
    });
    if (started !== null) svg.append(S.svg("path", { class: "started", d: `M62 ${y(started)}H${x(last)}` }), S.svg("circle", { cx: x(last), cy: y(started), r: 5 }), S.svg("text", { class: "ink", x: 68, y: y(started) + (y(started) > 160 ? -6 : 16) }, `started ${S.clock(started, now, stamp)}`));
    const keys = S.element("p", { class: "key" }, ...titles.map(([key, title]) => S.element("span", { class: key === "as_configured" ? "configured" : key, text: key === "likely" && shaded.length > 1 ? "Likely, 8 in 10 shaded" : title })));
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

  const off = (told, happened) => (Math.abs(happened - told) < 60 ? "as told" : `${S.duration(Math.abs(happened - told))} ${happened < told ? "early" : "late"}`);

  /** A job that is not pending: what happened against what was told. */
  function gone(found) {
    const stamp = found.state.time, run = found.run;
    for (const part of ["helps", "why", "place", "ask"]) S.by(part).closest("section").hidden = true;
    S.by("why").parentNode.hidden = true;
    S.fill(S.by("lines"));
    S.by("lines").closest("section").hidden = true;
    S.setHead(found.state);
    const rows = kept(found), started = run ? run.started : found.history[0]?.started ?? null;
    if (!S.staleStatus()) S.by("status").hidden = started !== null;
    if (started === null) {
      S.status("warn", `Job ${S.shown(name)} is not pending`, found.error);
      S.by("big").closest("section").hidden = true;
      drawMoves(found, null);
      return;
    }
    const clock = (time) => S.clock(time, found.now, stamp);
    const at = (lead) => rows.find((row) => row.at <= started - lead);
    const leads = [[86400, "a day"], [14400, "4 hours"], [7200, "2 hours"], [3600, "an hour"], [1800, "30 minutes"], [600, "10 minutes"]].map(([lead, words]) => [words, at(lead)]).filter(([, row]) => row && row.as_configured !== null);
    const [words, row] = leads[0] || ["first", rows.at(-1)];
    S.by("start-title").textContent = "Started";
    S.by("big").textContent = clock(started);
    S.by("in").textContent = run ? `on ${Object.entries(run.on).map(([host, slots]) => `${slots}*${S.shown(host)}`).slice(0, 4).join(" ")}${run.until === null ? "" : `, runs until ${S.time(run, "until", stamp)} at the latest`}` : "it has finished";
    const told = leads.length ? `Told ${words} before` : "Told first", parts = [];
    if (row && row.as_configured !== null) parts.push(figure(`${told}, as configured`, S.time(row, "as_configured", stamp), off(row.as_configured, started), Math.abs(started - row.as_configured) < 3600));
    if (row && row.likely !== null && row.likely !== undefined) parts.push(figure(`${told}, likely`, S.time(row, "likely", stamp), off(row.likely, started)));
    if (run) { parts.push(figure("Waited", S.duration(run.started - run.submit))); setFacts(run, run.until && run.until - run.started, stamp); }
    S.fill(S.by("figures"), ...parts);
    S.by("moved-title").textContent = "What was told, and when";
    drawMoves(found, started);
    const cells = (texts, tag) => S.element("tr", {}, ...texts.map((text, place) => S.element(tag, { ...(tag === "th" ? { scope: "col" } : {}), ...(place ? { class: "number" } : {}), text })));
    const inside = (each) => (each.one_in_ten_by === null || each.one_in_ten_by === undefined ? "" : each.one_in_ten_by <= started && started <= each.nine_in_ten_by ? "inside 8 in 10" : "outside 8 in 10");
    const box = S.by("told");
    box.closest("section").classList.toggle("known", leads.length > 0);
    S.fill(box, S.element("table", {}, S.element("thead", {}, cells(["Before", "Told", "Likely", "It started"], "th")), S.element("tbody", {}, ...leads.map(([text, each]) => cells([text, S.time(each, "as_configured", stamp), S.time(each, "likely", stamp) || "–", [off(each.as_configured, started), inside(each)].filter(Boolean).join(", ")], "td")))), S.element("p", {}, S.element("a", { href: `${S.up}score`, text: "How right we were" })));
  }

  S.by("ask").addEventListener("submit", async (event) => {
    event.preventDefault();
    const [slots, limit] = ["slots", "limit"].map((field) => Number(S.by(field).value)), box = S.by("answer");
    if (!slots && !limit) { S.fill(box, S.element("p", { class: "soft", text: "Give another number of slots, or another limit." })); return; }
    S.fill(box, S.element("p", { class: "soft", text: "Planning …" }));
    try {
      const found = await S.post("ask", { job: name, ...(slots ? { slots } : {}), ...(limit ? { run_limit: 60 * limit } : {}) });
      S.fill(box, ...found.lines.map((line) => S.element("p", { text: S.shown(line) })), ...found.answer.commands.filter(Boolean).map(S.copyable));
    } catch (error) { S.fill(box, S.element("p", { class: "bad", role: "alert", text: S.shown(error.message) })); }
  });

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
    const found = await S.get(`${api}?left=true`);
    if (!found.job) { gone(found); return; }
    S.setHead(found.state);
    if (!S.staleStatus()) S.by("status").hidden = true;
    drawHero(found); drawPlace(found); drawMoves(found, null);
    // Explanations take the planner's time: one a minute, and one when the page opens.
    if (explainedOf === null || Date.now() - explainedOf > 60000) explain(Date.now());
  });
})(Slotwise);
