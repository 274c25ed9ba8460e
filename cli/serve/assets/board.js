/* The board: pending jobs with their starts, live; and the box for a job that is not submitted yet. */
"use strict";
(function (S) {
  const MAX_ROWS = 1000;
  const GAINS = { earlier: "good", later: "bad" };
  let answer = null, sort = { key: "", down: false };

  /** Whether both starts are of the same state, so that they may be compared. */
  const isOfOneState = (job) => Boolean(job.of_earlier_state) === Boolean(job.possible_of_earlier_state);

  const COLUMNS = [
    { key: "job", title: "Job", of: (job) => S.shown(job.job) },
    { key: "user", title: "User", of: (job) => S.shown(job.user) },
    { key: "queue", title: "Queue", style: "q", of: (job) => S.shown(job.queue) },
    { key: "slots", title: "Slots", style: "n sl", of: (job) => job.slots },
    { key: "as_configured", title: "As configured", style: "n st", time: true, name: "when the scheduler starts it with its settings as they are, by simulation" },
    { key: "likely", title: "Likely", style: "n more2", time: true, optional: true, name: "half of the forecasts start it by then" },
    { key: "nine_in_ten_by", title: "9 in 10 by", style: "n more3", time: true, optional: true, name: "nine in ten forecasts start it by then" },
    { key: "possible", title: "Could start", style: "n more", time: true, name: "the earliest start if all jobs are placed together, in priority order" },
    { key: "earlier_by", title: "Earlier by", style: "n gain", of: (job) => (job.earlier_by && isOfOneState(job) ? S.duration(job.earlier_by) : "") },
    { key: "state", title: "State", style: "sta" },
    { key: "waits_for", title: "Waits for", style: "wf" },
    { key: "changed", title: "Last change", style: "ch" },
  ];

  function columns() {
    return COLUMNS.filter((item) => !item.optional || answer.jobs.some((job) => job[item.key] !== undefined && job[item.key] !== null));
  }

  function startCell(job, item) {
    const td = S.element("td", { class: item.style, "data-title": item.title.toLowerCase() });
    if (answer.state.planning && (item.key === "possible" || item.key === "as_configured") && (job[item.key] ?? null) === null) { td.append(S.element("span", { class: "soft", text: "planning …" })); return td; }
    if (item.key === "possible" && job.no_earlier) { td.append(S.shown(job.no_earlier)); return td; }
    const stamp = job[`${item.key}_time`];
    const earlier = item.key === "possible" ? job.possible_of_earlier_state : job.of_earlier_state;
    const old = (earlier || answer.state.stale) && job[item.key] !== null && job[item.key] !== undefined;
    if (old) { td.classList.add("old"); td.append("~ "); }
    if (stamp) {
      const [day, time] = S.when(stamp, answer.state.time);
      if (day) td.append(S.element("span", { class: "dy", text: day }), " ");
      const sooner = item.key === "possible" && isOfOneState(job) && job.as_configured !== null && job.possible < job.as_configured;
      td.append(sooner ? S.element("b", { class: "good", text: time }) : time);
      if (sooner && job.proved) td.append(" ", S.element("span", { class: "badge good", text: "proved" }));
    } else td.append(S.time(job, item.key, answer.state.time) || "–");
    const doubts = item.key === "possible" ? [...(job.cautions || []), ...(job.possible_cautions || [])] : job.cautions || [];
    if (doubts.length && stamp) td.append(S.element("span", { class: "warn", title: S.shown(doubts.join("\n")), "aria-label": "a rule is not taken into account", text: " ?" }));
    return td;
  }

  function stateCell(job, item) {
    const level = { "held back": "warn", impossible: "bad", "starts now": "good" }[job.state];
    const td = S.element("td", { class: item.style });
    const open = job.state === "not examined" && answer.state.planning;
    td.append(level ? S.element("span", { class: `badge ${level}`, text: job.state }) : open ? "planning …" : job.state);
    return td;
  }

  function changeCell(job, item) {
    const td = S.element("td", { class: item.style });
    const change = job.changed;
    if (!change) { td.append(S.element("span", { class: "soft", text: "–" })); return td; }
    if (change.kind === "new") { td.append(S.element("span", { class: "badge new", text: "new" })); return td; }
    const moved = change.by ? `${S.duration(change.by)} ${change.kind}` : "changed";
    td.append(S.element("b", { class: GAINS[change.kind] || "", text: moved }), change.because ? `, after ${S.shown(change.because)}` : "");
    return td;
  }

  function jobLink(name) {
    return S.element("a", { class: "job", href: `job/${name.split("/").map(encodeURIComponent).join("/")}`, text: S.shown(name) });
  }

  /** A queue whose click shows its jobs alone. */
  function queueButton(name) {
    const button = S.element("button", { type: "button", class: "link", text: S.shown(name), title: "Show its jobs alone" });
    button.addEventListener("click", () => { S.by("queue").value = name; draw(); });
    return button;
  }

  function row(job) {
    const tr = S.element("tr", {});
    for (const item of columns()) {
      if (item.key === "job") {
        tr.append(S.element("th", { scope: "row" }, jobLink(job.job)));
      } else if (item.time) tr.append(startCell(job, item));
      else if (item.key === "state") tr.append(stateCell(job, item));
      else if (item.key === "changed") tr.append(changeCell(job, item));
      else tr.append(S.element("td", { class: item.style || "", title: item.key === "waits_for" ? S.shown(job.reason) : "", text: item.of ? String(item.of(job)) : S.shown(job[item.key]) || "–" }));
    }
    return tr;
  }

  function value(job, key) {
    if (key === "changed") return job.changed ? job.changed.at : null;
    return job[key] === undefined ? null : job[key];
  }

  function sorted(jobs) {
    if (!sort.key) return jobs;
    const known = jobs.filter((job) => value(job, sort.key) !== null);
    known.sort((a, b) => {
      const [x, y] = [value(a, sort.key), value(b, sort.key)];
      const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
      return sort.down ? -order : order;
    });
    return [...known, ...jobs.filter((job) => value(job, sort.key) === null)];
  }

  function chosen() {
    const words = S.by("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [user, queue] = [S.by("user").value, S.by("queue").value];
    return answer.jobs.filter((job) => (!user || job.user === user) && (!queue || job.queue === queue)
      && (!S.by("changed").checked || job.changed) && (!S.by("held").checked || job.state === "held back")
      && words.every((word) => `${job.job}\n${job.user}\n${job.queue}\n${job.state}`.toLowerCase().includes(word)));
  }

  function drawChips() {
    const count = (id, of) => { S.by(id).nextElementSibling.textContent = `${id === "held" ? "Held back" : "Changed"} ${answer.jobs.filter(of).length}`; };
    count("changed", (job) => job.changed);
    count("held", (job) => job.state === "held back");
  }

  function drawHead() {
    const cells = columns().map((item) => {
      const on = sort.key === item.key;
      const button = S.element("button", { type: "button", text: item.title + (on ? (sort.down ? " ▾" : " ▴") : "") });
      button.addEventListener("click", () => {
        if (on && sort.down) sort = { key: "", down: false };
        else sort = { key: item.key, down: on };
        draw();
        S.by("jobs").querySelectorAll("thead button")[columns().indexOf(item)]?.focus();
      });
      const th = S.element("th", { scope: "col", class: item.style || "", title: item.name || "" }, button);
      if (on) th.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
      return th;
    });
    const line = S.by("jobs").tHead.rows[0];
    const before = [...line.cells].map((cell) => cell.textContent).join("|");
    if (before !== cells.map((cell) => cell.textContent).join("|")) S.fill(line, ...cells);
  }

  function draw() {
    const rows = sorted(chosen());
    drawHead();
    const focused = document.activeElement?.closest?.("tbody tr th a")?.getAttribute("href");
    S.fill(S.by("jobs").tBodies[0], ...rows.slice(0, MAX_ROWS).map(row));
    if (focused) [...S.by("jobs").tBodies[0].querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
    const more = rows.length > MAX_ROWS ? `, the first ${MAX_ROWS} shown` : "";
    S.by("count").textContent = answer.total ? `${rows.length} of ${answer.total} jobs${more}${sort.key ? "" : ", in priority order"}` : "Nothing waits.";
  }

  function options(box, all, values) {
    const kept = box.value;
    const names = [...new Set(values)].sort();
    if ([...box.options].slice(1).map((item) => item.value).join("\n") === names.join("\n") && box.options.length) return;
    S.fill(box, S.element("option", { value: "", text: all }), ...names.map((name) => S.element("option", { value: name, text: S.shown(name) })));
    box.value = names.includes(kept) ? kept : "";
  }

  function drawStatus() {
    if (S.staleStatus()) return;
    const count = (state) => answer.jobs.filter((job) => job.state === state).length;
    const parts = [];
    const say = (number, one, many) => { if (number) parts.push(`${number} ${number === 1 ? one : many}`); };
    say(count("starts now"), "starts now", "start now");
    say(count("waits"), "waits", "wait");
    say(count("starts if"), "starts only if something happens", "start only if something happens");
    say(count("unknown end"), "has no known start", "have no known start");
    say(count("not examined"), "is being planned", "are being planned");
    const size = answer.cluster, used = (size.queues || []).reduce((sum, item) => sum + item.running_slots, 0);
    parts.push(`${size.running} ${size.running === 1 ? "job runs" : "jobs run"} on ${used} of ${size.slots} slots`);
    const helped = answer.jobs.filter((job) => job.state === "held back"), held = helped.length, never = count("impossible");
    if (never) S.status("bad", `${never} ${never === 1 ? "job cannot" : "jobs cannot"} start here`, ...(held ? [`${held} held back`] : []), ...parts);
    else if (held) S.status("warn", `${held <= 2 ? `${held === 1 ? "Job" : "Jobs"} ${helped.map((job) => S.shown(job.job)).join(" and ")}` : `${held} jobs`} could start earlier`, ...parts);
    else S.status(answer.state.planning ? "warn" : "good", answer.state.planning ? "Planning …" : answer.total ? "No job is known to be held back" : "Nothing waits", ...parts);
  }

  function drawFoot() {
    const one = answer.jobs.some((job) => job.likely !== undefined) ? " Likely and 9 in 10 by: forecasts from past run times." : "";
    const old = answer.jobs.some((job) => job.of_earlier_state || job.possible_of_earlier_state) ? " Starts with ~ are of an earlier state; the new one is being planned." : "";
    const undated = answer.jobs.some((job) => job.submit_text) ? " Times count from the state." : "";
    S.by("foot").textContent = `As configured: every job runs to its limit, no further job is submitted. Could start: the earliest start if all jobs are planned together, in priority order.${one}${old}${undated}`;
    const cautions = answer.cautions.map((item) => S.element("li", { text: `${S.shown(item.caution)} (${item.jobs.length === 1 ? `job ${S.shown(item.jobs[0])}` : `${item.jobs.length} jobs`})` }));
    const warnings = answer.warnings.map((text) => S.element("li", { class: "warn", text: S.shown(text) }));
    S.fill(S.by("cautions"), ...warnings.slice(0, 10), ...cautions);
    if (!warnings.length && !cautions.length) S.fill(S.by("cautions"), S.element("li", { class: "soft", text: "No rule of this cluster is known to be left out." }));
  }

  function announce(before) {
    if (!before || before.state.version === answer.state.version) return;
    const old = new Map(before.jobs.map((job) => [job.job, job.changed?.at]));
    const moved = answer.jobs.filter((job) => old.has(job.job) && job.changed && job.changed.kind !== "new" && old.get(job.job) !== job.changed.at);
    if (moved.length && !answer.state.planning) S.say(`${moved.length} ${moved.length === 1 ? "start has" : "starts have"} changed, the first is job ${S.shown(moved[0].job)}`);
  }

  // Slots over time, queues, hosts not in use.
  function drawCluster() {
    const cluster = answer.cluster, kinds = cluster.kinds || [];
    S.fill(S.by("strip"), ...kinds.map((kind) => {
      const share = (count) => `height:${100 * count / Math.max(1, kind.capacity)}%`;
      const bars = kind.free.map((free, at) => {
        const bar = S.element("i", {}), parts = [["run", kind.running[at]], ["plan", Math.max(0, kind.capacity - free - kind.running[at])]];
        for (const [name, count] of parts) { const part = S.element("i", { class: name }); part.style.cssText = share(count); bar.append(part); }
        return bar;
      });
      const after = kind.free.findIndex((free) => free === kind.capacity);
      const said = `${kind.kind}: ${kind.free[0]} of ${kind.capacity} slots free now, ${after < 0 ? "not all free within 24 hours" : `all free after ${after} hours`}`;
      return S.element("div", { class: "kind" }, S.element("span", { text: S.shown(kind.kind) }),
        S.element("span", {}, S.element("b", { text: String(kind.free[0]) }), ` free of ${kind.capacity}`),
        S.element("div", { class: "hours", role: "img", "aria-label": S.shown(said) }, ...bars));
    }), kinds.length ? S.element("div", { class: "kind" }, S.element("span", {}), S.element("span", {}), S.element("div", { class: "axis" }, ...[0, 6, 12, 18, 24].map((hour) => S.element("span", { class: hour ? "" : "now", text: hour ? S.clock(cluster.from + 3600 * hour, cluster.from, answer.state.time) : "now" })))) : S.element("p", { class: "soft", text: "planning …" }));
    S.fill(S.by("queues").tBodies[0], ...(cluster.queues || []).map((item) => S.element("tr", {},
      S.element("th", { scope: "row" }, queueButton(item.queue)), S.element("td", { class: "n", text: `${item.running_slots} slots` }),
      S.element("td", { class: "n", text: item.waiting_jobs ? `${item.waiting_slots} in ${item.waiting_jobs} ${item.waiting_jobs === 1 ? "job" : "jobs"}` : "–" }),
      item.longest === null ? S.element("td", { class: "n", text: "–" }) : S.element("td", { class: "n" }, jobLink(item.longest), `, ${S.duration(item.waited)}`))));
    const down = cluster.not_in_use || [];
    S.fill(S.by("down"), down.length ? S.element("h3", { text: "Hosts not in use" }) : null, ...down.map((item) => S.element("p", {}, S.element("span", { class: "badge warn", text: S.shown(item.status) }), ` ${S.shown(item.host)}, ${item.slots} slots`)));
  }

  /** The user and the queue of a job that is asked about; what was chosen stays. */
  function drawAssumed() {
    const { user, queue, queues, is_fixed } = answer.assumed ?? { user: "", queue: "", queues: [] }, to = S.by("to"), kept = to.value || queue;
    if (!S.by("as").value && document.activeElement !== S.by("as")) S.by("as").value = user;
    S.by("as").readOnly = Boolean(is_fixed);
    if ([...to.options].map((item) => item.value).join("\n") === queues.join("\n")) return;
    S.fill(to, ...queues.map((name) => S.element("option", { value: name, text: S.shown(name) })));
    to.value = queues.includes(kept) ? kept : queue;
  }
  for (const id of ["as", "to"]) S.by(id).addEventListener("change", () => { if (answer?.assumed) drawFits(false); });

  // What could start now: asked at once of a small cluster, by the button of a large one.
  let asked = "";
  const who = () => ({ user: S.by("as").value.trim() || (answer.assumed?.user ?? ""), queue: S.by("to").value });
  async function drawFits(wanted) {
    const version = JSON.stringify([answer.state.version, who()]);
    if (asked === version) return;
    if (answer.state.planning) { if (!asked) S.fill(S.by("fits"), S.element("p", { class: "soft", text: "planning …" })); return; }
    if (!wanted && answer.cluster.pending > 100) {
      const button = S.element("button", { type: "button", text: "Search" });
      button.addEventListener("click", () => drawFits(true));
      S.fill(S.by("fits"), button);
      return;
    }
    asked = version;
    if (wanted) S.fill(S.by("fits"), S.element("p", { class: "soft", text: "Searching …" }));
    try {
      const found = (await S.get(`slots?${new URLSearchParams(who())}`)).slots;
      const rows = found.rows.slice(0, 6).map((item) => S.element("tr", {}, S.element("th", { scope: "row", text: S.shown(item.kind) }), S.element("td", { class: "n", text: String(item.slots) }),
        S.element("td", { class: "n", text: item.at_most === null ? "no limit" : S.duration(item.at_most) }), S.element("td", { text: item.delays ? `job ${S.shown(item.delays)} would be delayed` : S.shown(item.why_not_longer) || "–" }), S.element("td", {}, S.copyable(item.line))));
      const head = S.element("tr", {}, ...["Where", "Slots", "For at most", "Longer", "Line to paste"].map((text) => S.element("th", { scope: "col", text })));
      const table = S.element("div", { class: "scroll" }, S.element("table", {}, S.element("thead", {}, head), S.element("tbody", {}, ...rows)));
      const none = found.without_row.filter((item) => item.why !== found.nothing).map((item) => S.element("p", { class: "soft s", text: `No row for ${S.shown(item.hosts.slice(0, 3).join(", "))}${item.hosts.length > 3 ? ` and ${item.hosts.length - 3} more` : ""}: ${S.shown(item.why)}` }));
      const said = `For user ${S.shown(found.user)} in queue ${S.shown(found.queue)}, as chosen under “When would this start?”.${rows.length && found.is_partial ? " The search was stopped early: more may fit." : ""}`;
      S.fill(S.by("fits"), rows.length ? table : found.is_partial ? S.element("p", { text: "The search was stopped early: what could start is not known." }) : S.element("p", { text: `Nothing${found.nothing ? `: ${S.shown(found.nothing)}` : ""}.${found.earliest === null ? "" : ` A job of ${found.smallest} ${found.smallest === 1 ? "slot" : "slots"} would start ${S.time(found, "earliest", answer.state.time)}.`}` }), ...none, S.element("p", { class: "foot soft", text: `${said} In a terminal: slotwise slots` }));
    } catch (error) {
      S.fill(S.by("fits"), S.element("p", { class: "soft", text: S.shown(error.message) }));
    }
  }

  // What has changed since this browser marked the board as seen.
  const KEPT = "slotwise seen";
  function startsNow() { return Object.fromEntries(answer.jobs.map((job) => [job.job, job.as_configured_time ? Date.parse(job.as_configured_time) / 1000 : job.as_configured ?? null])); }
  function remember() {
    try { localStorage.setItem(KEPT, JSON.stringify({ source: answer.state.source, at: answer.state.time, starts: startsNow() })); } catch { /* a browser without a store */ }
  }
  function drawNews() {
    let kept = null;
    try { kept = JSON.parse(localStorage.getItem(KEPT)); } catch { /* none */ }
    if (!kept || kept.source !== answer.state.source) { if (!answer.state.planning) remember(); return; }
    const now = startsNow(), before = kept.starts || {};
    const names = (list) => `${list.slice(0, 6).map(S.shown).join(", ")}${list.length > 6 ? ` and ${list.length - 6} more` : ""}`;
    const gone = Object.keys(before).filter((job) => !(job in now)), fresh = Object.keys(now).filter((job) => !(job in before));
    const moved = Object.keys(now).filter((job) => job in before && now[job] !== null && before[job] !== null && Math.abs(now[job] - before[job]) >= answer.cluster.min_gain);
    const parts = [];
    if (gone.length) parts.push(`${names(gone)} no longer ${gone.length === 1 ? "waits" : "wait"}`);
    if (fresh.length) parts.push(`${names(fresh)} ${fresh.length === 1 ? "is" : "are"} new`);
    if (moved.length) parts.push(`the start of ${names(moved)} has moved`);
    S.by("since").hidden = !parts.length || answer.state.planning;
    S.by("since-title").textContent = `Since you last looked, ${/^\d{4}-/.test(kept.at) ? kept.at.slice(11, 16) : kept.at}:`;
    S.by("news").textContent = parts.join(" · ");
  }
  S.by("seen").addEventListener("click", () => { remember(); drawNews(); });

  S.follow(async () => {
    const before = answer;
    answer = await S.get("jobs");
    S.setHead(answer.state);
    S.by("source").textContent = `, ${S.shown(answer.state.source)}`;
    options(S.by("user"), "All users", answer.jobs.map((job) => job.user));
    options(S.by("queue"), "All queues", answer.jobs.map((job) => job.queue));
    drawAssumed();
    draw(); drawChips(); drawStatus(); drawFoot(); drawCluster(); drawNews(); drawFits(false); announce(before);
  });
  for (const id of ["find", "user", "queue", "changed", "held"]) S.by(id).addEventListener("input", () => { if (answer) draw(); });

  // The box for a job that is not submitted yet.
  function figures(found) {
    const outlook = found.outlook || {}, now = S.head()?.time;
    const list = S.element("dl", { class: "ans" });
    const add = (title, record, key) => list.append(S.element("div", {}, S.element("dt", { text: title }), S.element("dd", { text: S.time(record, key, now) || "–" })));
    add("As configured", outlook, "as_configured");
    add("Could start", outlook, "possible");
    if (found.line.likely !== undefined) add("Likely", found.line, "likely");
    return list;
  }

  function drawAnswer(found) {
    const answer = found.answer, box = S.by("answer"), parts = [figures(answer)];
    const lines = S.element("ul", { class: "plain" });
    for (const line of found.lines) lines.append(S.element("li", { text: S.shown(line) }));
    if (answer.line.waits_for) lines.append(S.element("li", { text: S.shown(answer.line.waits_for) }));
    parts.push(lines);
    const sooner = answer.alternatives.slice(0, 3).filter((item) => item.start !== null);
    if (sooner.length) {
      parts.push(S.element("h3", { text: "Earlier with another request" }));
      for (const item of sooner) {
        const words = Object.entries(item.changed).map(([key, value]) => `${({ slots: "-n", limit: "-W", ptile: "span[ptile]", cu: "cu", queue: "-q" })[key] || key} ${value || "none"}`);
        parts.push(S.element("p", { text: `${S.time(item, "start", S.head()?.time)}: ${S.shown(words.join(", "))}` }));
      }
    }
    S.fill(box, ...parts);
  }

  S.by("ask").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = S.by("line").value.trim(), button = S.by("ask").querySelector("button");
    if (!text) return;
    button.disabled = true;
    S.fill(S.by("answer"), S.element("p", { class: "soft", text: "Planning …" }));
    try {
      const body = { ...(text.includes("\n") ? { script: text, line: "" } : { line: text }), ...who(), explore: true };
      drawAnswer(await S.post("ask", body));
    } catch (error) {
      S.fill(S.by("answer"), S.element("p", { class: "bad", role: "alert", text: S.shown(error.message) }));
    }
    button.disabled = false;
  });
  S.by("line").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey || !event.shiftKey && !S.by("line").value.includes("\n"))) { event.preventDefault(); S.by("ask").requestSubmit(); } });
})(Slotwise);
