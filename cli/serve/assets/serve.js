/* What the pages of the service share: requests, times, the state's age, the stream of events. */
"use strict";
(function (S) {
  S.up = document.body.dataset.up || "";
  const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

  /** Text with invisible characters made visible: no name of a job may hide or turn others. */
  S.shown = (value) => String(value ?? "").replace(INVISIBLE, (char) => "\\u" + char.codePointAt(0).toString(16).padStart(4, "0"));
  S.by = (id) => document.getElementById(id);
  S.fill = function (box, ...children) { box.replaceChildren(...children.filter((child) => child !== null && child !== undefined)); };

  /** A duration as two units: 2d 3h, 1h 5m. */
  S.duration = function (seconds) {
    const sign = seconds < 0 ? "-" : "";
    let left = Math.abs(Math.round(seconds));
    const parts = [];
    for (const [length, unit] of [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]]) {
      const count = Math.floor(left / length);
      left -= count * length;
      if (count && parts.length < 2) parts.push(`${count}${unit}`);
      else if (parts.length) break;
    }
    return sign + (parts.join("\u00a0") || "0s");
  };

  function day(stamp) {
    const [y, m, d] = stamp.slice(0, 10).split("-").map(Number);
    return DAYS[new Date(Date.UTC(y, m - 1, d)).getUTCDay()];
  }

  /** Weekday ("" for the day of `now`) and time of an ISO stamp, in the zone of the cluster. */
  S.when = function (stamp, now) {
    const far = Math.abs(Date.parse(stamp) - Date.parse(now || stamp)) > 6 * 86400e3;
    const date = now && stamp.slice(0, 10) === now.slice(0, 10) ? "" : far ? stamp.slice(0, 10) : day(stamp);
    return [date, stamp.slice(11, 16)];
  };

  /** The time `name` of a record as text for the state's time `now`; "" if there is none. */
  S.time = function (record, name, now) {
    const stamp = record[`${name}_time`];
    if (stamp) return S.when(stamp, now).filter(Boolean).join(" ");
    if (record[`${name}_text`]) return record[`${name}_text`];
    return record[name] === null || record[name] === undefined ? "" : `second ${record[name]}`;
  };

  S.post = (path, body) => S.get(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  S.get = async function (path, more) {
    const answer = await fetch(S.up + path, { headers: { accept: "application/json" }, credentials: "same-origin", ...more });
    if (answer.status === 401) { location.href = `${S.up}login`; throw new Error("sign in"); }
    const record = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(record.error || answer.statusText), { record, status: answer.status });
    return record;
  };

  // The head of the state: its age in the corner, and the amber line once it is stale.
  let head = null;
  S.head = () => head;
  S.setHead = function (found) { head = found; tick(); };
  function tick() {
    if (!head) return;
    const poll = S.by("poll"), moment = S.by("moment");
    const age = head.read_at === null ? null : Date.now() / 1000 - head.read_at;
    if (poll) {
      poll.className = head.stale ? "warn" : "";
      poll.textContent = age === null ? "no state yet" : `${head.stale ? "stale, " : ""}polled ${S.duration(Math.max(0, age))} ago${head.planning ? ", planning" : ""}`;
    }
    if (moment) moment.textContent = /^\d{4}-/.test(head.time) ? `${day(head.time)} ${head.time.slice(11, 16)}` : head.time;
    document.body.classList.toggle("stale", head.stale);
  }
  setInterval(tick, 1000);

  S.status = function (level, title, ...parts) {
    const box = S.by("status");
    const made = [S.element("i", { class: "sign", "aria-hidden": "true" }), S.element("b", { text: title })];
    for (const part of parts) made.push(S.element("span", { class: "dot", text: "·" }), S.element("span", { text: S.shown(part) }));
    const key = level + box.textContent;
    box.className = `status ${level}`;
    box.hidden = false;
    const text = [title, ...parts].join("·");
    if (box.dataset.text !== key + text) { S.fill(box, ...made); box.dataset.text = key + text; }
  };

  /** The amber line of a stale state; false if the state is fresh. */
  S.staleStatus = function () {
    if (!head.stale) return false;
    const age = head.read_at === null ? "" : S.duration(Math.max(0, Date.now() / 1000 - head.read_at));
    S.status("warn", age ? `These times are ${age} old` : "No state has been read yet", ...(head.problem ? [head.problem.split("\n")[0]] : []));
    return true;
  };

  /** Call a function now and after every new state, at most one call at a time. */
  S.follow = function (load) {
    let busy = false, again = false;
    async function run() {
      if (busy) { again = true; return; }
      busy = true;
      try { await load(); } catch (error) { if (head) { head.stale = true; head.problem = error.message; S.staleStatus(); } }
      busy = false;
      if (again) { again = false; setTimeout(run, 300); }
    }
    // A browser opens six connections to a server: a page that is not seen gives its stream up.
    let stream = null;
    function close() { if (stream) stream.close(); stream = null; }
    function open() {
      if (stream || document.visibilityState === "hidden") return;
      stream = new EventSource(`${S.up}events`);
      stream.addEventListener("state", run);
      run();
    }
    document.addEventListener("visibilitychange", () => (document.visibilityState === "hidden" ? close() : open()));
    addEventListener("pagehide", close);
    addEventListener("pageshow", open);
    setInterval(() => { if (stream && stream.readyState === EventSource.CLOSED) { close(); open(); } }, 10000);
    open();
  };
  S.say = function (text) { const box = S.by("said"); if (box && text) box.textContent = text; };
  const NS = "http://www.w3.org/2000/svg";
  S.svg = function (tag, attributes, ...children) {
    const item = document.createElementNS(NS, tag);
    for (const [key, value] of Object.entries(attributes)) item.setAttribute(key, value);
    item.append(...children);
    return item;
  };

  /** What a second of the cluster lacks to one of its local clock; null without dates. */
  function toClock(now, stamp) {
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(stamp) || ["", "+", 0, 0];
    const east = Number(`${sign}1`) * (3600 * hours + 60 * minutes);
    return /^\d{4}-/.test(stamp) ? Date.parse(stamp) / 1000 + east - now : null;
  }

  /** A second of the cluster as a clock time, or as the time from now where it has no dates. */
  S.clock = function (time, now, stamp) {
    const shift = toClock(now, stamp);
    if (shift === null) return time === now ? "now" : `${time > now ? "+" : ""}${S.duration(time - now)}`;
    const [told, here] = [time, now].map((each) => new Date(1000 * (each + shift)).toISOString());
    return S.when(told, here).filter(Boolean).join(" ");
  };

  /** Round times from low to high, at most so many. */
  S.ticks = function (low, high, most, now, stamp) {
    const steps = [60, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
    const step = steps.find((each) => (high - low) / each < most) ?? (high - low) / most;
    const shift = toClock(now, stamp) ?? -now;
    const found = [];
    for (let time = Math.ceil((low + shift) / step) * step - shift; time <= high; time += step) found.push(time);
    return found;
  };

  S.copyable = function (line) {
    const code = S.element("code", { class: "line", tabindex: "0", text: S.shown(line) });
    const button = S.element("button", { type: "button", text: "Copy" });
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(line); button.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); }
    });
    return S.element("div", { class: "lc" }, code, button);
  };
})(Slotwise);
