/* The data of the report as the pictures need it: times in words, bars by host, ticks of an axis. */
"use strict";
(function (S) {
  const data = S.data;
  // Seconds since 1970 of second 0 as its own clock shows it; times then go through UTC unchanged.
  const wall = data.origin === null ? null : Date.parse(data.origin.slice(0, 19) + "Z") / 1000;
  const two = (number) => String(number).padStart(2, "0");
  const at = (time) => new Date(1000 * (wall + time));
  const dayOf = (moment) => `${two(moment.getUTCMonth() + 1)}-${two(moment.getUTCDate())}`;

  /** `2d 3h`, `1h 5m`, `12s`: the two largest units that are not zero. */
  S.duration = function (seconds) {
    if (seconds < 0) return "-" + S.duration(-seconds);
    const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
    let rest = Math.round(seconds);
    const parts = units.map(([size, unit]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return [count, unit];
    });
    let first = parts.findIndex(([count]) => count > 0);
    if (first < 0) first = 3;
    return parts.slice(first, first + 2).filter(([count], n) => count || n === 0 && first === 3)
      .map(([count, unit]) => count + unit).join(" ");
  };

  /** A time as `now`, `3h`, or by the clock where the instance has one; the day of the page is left out. */
  S.clock = function (time, missing) {
    if (time === null || time === undefined) return missing || "?";
    if (time === data.now) return "now";
    if (wall === null) return S.duration(time - data.now);
    const moment = at(time);
    const seconds = moment.getUTCSeconds();
    const clock = `${two(moment.getUTCHours())}:${two(moment.getUTCMinutes())}${seconds ? `:${two(seconds)}` : ""}`;
    return moment.toISOString().slice(0, 10) === data.day ? clock : `${dayOf(moment)} ${clock}`;
  };

  const STEPS = [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  /** Round times in [begin, end], at most about `most`, each with its label and whether it is now. */
  S.ticks = function (begin, end, most) {
    const span = Math.max(1, end - begin);
    const days = Math.ceil(span / (86400 * most)) * 86400;
    const step = STEPS.find((size) => span <= most * size) || days;
    const zero = wall === null ? data.now : -(((wall % 86400) + 86400) % 86400);
    const found = [];
    for (let time = zero + Math.ceil((begin - zero) / step) * step; time <= end; time += step) {
      if (Math.abs(time - data.now) < step * 0.45) continue;
      const moment = wall === null ? null : at(time);
      const clock = moment === null ? S.duration(time - data.now)
        : step >= 86400 || moment.getUTCHours() + moment.getUTCMinutes() === 0 ? dayOf(moment)
          : `${two(moment.getUTCHours())}:${two(moment.getUTCMinutes())}`;
      found.push({ time, text: clock, now: false });
    }
    if (begin <= data.now && data.now <= end) found.push({ time: data.now, text: "now", now: true });
    return found;
  };

  S.count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  S.say = (text) => { document.getElementById("said").textContent = text; };
  S.jobNumber = new Map(data.jobs.map((job, number) => [job.id, number]));
  S.isRunning = (number) => data.jobs[number].state === "running";

  /** An allocation in words. */
  S.where = (allocation) => Object.entries(allocation || {}).map(([host, slots]) => `${slots}*${host}`).join(" ");

  const byHost = new Map();
  /** Bars of a view by host, the running jobs first; made once a view. */
  S.barsOf = function (view) {
    if (!byHost.has(view)) {
      const found = new Map();
      for (const bar of [...data.running, ...view.bars]) {
        if (!found.has(bar[2])) found.set(bar[2], []);
        found.get(bar[2]).push(bar);
      }
      byHost.set(view, found);
    }
    return byHost.get(view);
  };

  const startOf = new Map();
  /** Start of each job in a view. */
  S.startsOf = function (view) {
    if (!startOf.has(view)) startOf.set(view, new Map(view.bars.filter((bar) => bar[1] !== 1).map((bar) => [bar[0], bar[5]])));
    return startOf.get(view);
  };
})(Slotwise);
