/* What is known of one job: its starts, why not earlier, what would help. */
"use strict";
(function (S) {
  const data = S.data;
  const rows = new Map((data.comparison ? data.comparison.jobs : []).map((row) => [row.job, row]));
  const records = new Map(data.records.map((record) => [record.job, record]));
  const planned = new Map((data.plan ? data.plan.reservations : []).map((item) => [item.job, item]));
  const unplaced = new Map((data.plan ? data.plan.unplaced : []).map((item) => [item.job, item]));

  /** The line of the comparison, of the plan or of the simulation about a job. */
  S.comparisonOf = (job) => rows.get(job) || planned.get(job) || records.get(job);

  const panel = document.getElementById("job");
  if (!panel) return;
  const E = S.element;

  function facts(pairs) {
    const list = E("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value !== null && value !== undefined && value !== "") list.append(E("dt", { text: name }), E("dd", { text: String(value) }));
    }
    return list;
  }

  S.where = function (allocation) {
    const pairs = Object.entries(allocation || {});
    const shown = (pairs.length > 6 ? pairs.slice(0, 2) : pairs).map(([host, slots]) => `${slots}*${host}`).join(" ");
    return pairs.length > 6 ? `${shown} … (${pairs.length} hosts)` : shown;
  };

  function proof(item) {
    if (item.proved) return ", proved the earliest";
    const jobs = item.proved_if || [];
    return jobs.length ? `, proved the earliest if ${jobs.join(", ")} ${jobs.length > 1 ? "start" : "starts"} where planned` : "";
  }

  function starts(job) {
    const row = rows.get(job);
    if (row) {
      return [
        ...["greedy", "time_based", "optimal"].flatMap((method) => [
          [`${method.replace("_", "-")} estimate`, S.startOf(job, `${method}_estimate`, row[`${method}_estimate`]) + (method === "optimal" ? proof(row) : "")],
          [`${method.replace("_", "-")} simulated`, S.data.comparison.simulated.includes(method.replace("_", "-")) ? S.startOf(job, `${method}_simulated`, row[`${method}_simulated`]) : ""],
        ]),
        ["sooner by", row.sooner_by === null ? "" : S.duration(row.sooner_by)], ["hosts", S.where(row.possible_on)],
        ["waits for", row.waits_for], ["note", row.fallback],
        ["needs", row.needs_backfill ? `BACKFILL in queue ${row.needs_backfill}` : ""],
      ];
    }
    const item = planned.get(job);
    if (item) {
      return [
        ["start", item.start === null ? `no sooner than ${S.clock(item.estimate, "unknown")}` : S.clock(item.start) + proof(item)],
        ["end", item.finish === null ? "" : S.clock(item.finish)], ["hosts", S.where(item.allocation)], ["waits for", item.waits_for],
      ];
    }
    if (unplaced.has(job)) return [["start", S.startOf(job, "start", null)], ["why", unplaced.get(job).reason]];
    const record = records.get(job);
    if (record) {
      return [
        ["submitted", S.clock(record.submit)], ["start", S.startOf(job, "start", record.start)], ["end", S.clock(record.end, "unknown")],
        ["waited", record.wait === null ? "" : S.duration(record.wait)], ["status", record.status], ["why it waited", record.reason],
      ];
    }
    return [];
  }

  function advice(job) {
    if (!Object.hasOwn(data.advice, job)) return [];
    const found = data.advice[job];
    const parts = [];
    if (found.obstacles.length) {
      parts.push(E("h3", { text: "Why not earlier" }), E("ol", { class: "advice" }, ...found.obstacles.map((item) => E("li", {},
        E("b", { text: `${S.clock(item.from)}${item.until === null ? "" : ` – ${S.clock(item.until)}`}: ` }), item.reason))));
    }
    parts.push(E("h3", { text: "What would help" }));
    if (found.suggestions.length) {
      parts.push(E("ol", { class: "advice", id: "helps" }, ...found.suggestions.map((item) => E("li", {},
        E("b", { class: "good", text: item.gain === null ? `starts ${S.clock(item.start)} ` : `${S.duration(item.gain)} sooner ` }),
        `(${S.clock(item.start)}) ${item.change}`, E("div", { class: "soft", text: S.where(item.allocation) })))));
    } else parts.push(E("p", { text: `Nothing that was tried starts it sooner (${S.count(found.tried, "change")}).` }));
    parts.push(E("p", { class: "hint", text: `By ${found.method} planning (start ${S.clock(found.start, found.missing)}); each change was planned before it is shown.` }));
    return parts;
  }

  /** What a screen reader says of a running job: where, and until when. */
  function running(job) {
    const bars = data.running.filter((bar) => data.jobs[bar[0]].id === job);
    const hosts = new Map();
    for (const bar of bars) hosts.set(data.hosts[bar[2]][0], (hosts.get(data.hosts[bar[2]][0]) || 0) + bar[4]);
    const slots = [...hosts.values()].reduce((sum, count) => sum + count, 0);
    const end = bars.length ? bars[0][6] : null;
    return `running, ${S.count(slots, "slot")} on ${S.count(hosts.size, "host")}, ${end === null ? "end unknown" : `ends ${S.clock(end)}`}`;
  }

  function show(job) {
    if (job === null) {
      panel.replaceChildren(E("h3", { text: "A job" }), E("p", { class: "soft", text: "Choose one in a picture or in a table to see why it does not start earlier and what would help." }));
      return;
    }
    const known = data.jobs[S.jobNumber.get(job)];
    const parts = [E("h3", { text: job })];
    if (known) {
      parts.push(facts([
        ["slots", known.slots], ["user", known.user], ["queue", known.queue], ["state", known.state],
        ["runs for", known.duration === null ? "unknown" : `at most ${S.duration(known.duration)}`],
      ]));
    }
    const found = starts(job);
    if (found.length) parts.push(E("h3", { text: "Start" }), facts(found));
    const more = advice(job);
    parts.push(...more);
    const waits = rows.has(job) ? rows.get(job).optimal !== data.now : planned.has(job) ? planned.get(job).start !== data.now : unplaced.has(job);
    if (!more.length && known && known.state === "pending" && waits && data.kind !== "simulation") {
      parts.push(E("p", { class: "hint" }, "Why not earlier, what would help: ", E("code", { text: `slotwise explain ${data.name} ${job}` })));
    }
    panel.replaceChildren(...parts);
    S.say(`${job}: ${known && known.state === "running" ? running(job) : found.slice(0, 4).map(([name, value]) => `${name} ${value}`).join(", ")}`);
  }

  S.onChoice(show);
  show(null);
})(Slotwise);
