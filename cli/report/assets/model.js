/* The data of the report and the words for it. Everything hangs on one name, Slotwise. */
"use strict";
const Slotwise = { data: JSON.parse(document.getElementById("data").textContent) };

(function (S) {
  const data = S.data;
  // Seconds since 1970 of second 0 as its own clock shows it; times then go through UTC unchanged.
  const wall = data.origin === null ? null : Date.parse(data.origin.slice(0, 19) + "Z") / 1000;

  /** A time of the data (seconds from the origin) as the chart's axis has it (milliseconds). */
  S.axisTime = (time) => 1000 * (wall === null ? time - data.now : wall + time);
  S.dataTime = (value) => value / 1000 + (wall === null ? data.now : -wall);

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

  const two = (number) => String(number).padStart(2, "0");

  /** A time as `now`, `+3h`, or by the clock where the instance has one. */
  S.clock = function (time, missing) {
    if (time === null || time === undefined) return missing || "?";
    if (time === data.now) return "now";
    if (wall === null) return (time > data.now ? "+" : "") + S.duration(time - data.now);
    const at = new Date(S.axisTime(time));
    return `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())} ` +
      `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  };

  /** The same for one of the starts of a job, named as in the data. */
  S.startOf = function (job, name, time) {
    const words = data.missing[name] || {};
    return S.clock(time, Object.hasOwn(words, job) ? words[job] : undefined);
  };

  /** A label of the time axis. */
  S.tick = function (value) {
    const time = S.dataTime(value);
    if (Math.abs(time - data.now) < 0.5) return "now";
    if (wall === null) return S.duration(time - data.now);
    const at = new Date(value);
    const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
    return clock === "00:00" ? `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}` : clock;
  };

  S.count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  S.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  S.jobNumber = new Map(data.jobs.map((job, number) => [job.id, number]));
  S.viewNamed = (name) => data.views.find((view) => view.name === name);

  /** An element with text and children; text is never taken for markup. */
  S.element = function (tag, options, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(options || {})) {
      if (key === "class") made.className = value;
      else if (key === "text") made.textContent = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  };

  S.say = (text) => { document.getElementById("said").textContent = text; };

  const palette = ["#3b76e1", "#e0742c", "#1f9d7a", "#b0479b", "#c9a227", "#5a55c9", "#d1495b", "#2a9db0", "#7a9e3b", "#9a6b4f"];
  const order = new Map();
  for (const job of data.jobs) if (job.state !== "running") order.set(job.id, order.size);

  /** The colour of a job: pending ones by turns, running ones in quiet greys. */
  S.jobColour = function (number) {
    const job = data.jobs[number];
    if (job.state === "running") return S.css(["--running", "--running-2", "--running-3"][number % 3]);
    return palette[order.get(job.id) % palette.length];
  };

  const parts = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
  /** A colour (#rrggbb) mixed with the card's, as if it were so opaque, but solid. */
  S.mixed = function (colour, opacity) {
    const [over, under] = [parts(colour), parts(S.css("--card"))];
    return "#" + over.map((value, n) => Math.round(opacity * value + (1 - opacity) * under[n]).toString(16).padStart(2, "0")).join("");
  };
  /** Black or white, whichever is read better on a colour: at least 4.5:1 on any (WCAG 2, AA). */
  S.readable = function (colour) {
    const [red, green, blue] = parts(colour).map((value) => value / 255).map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
  };

  /** First and last time that a chart shows at the beginning, with a little room around. */
  S.firstRange = function () {
    const span = Math.max(60, data.end - data.begin);
    return [S.axisTime(data.begin - 0.06 * span), S.axisTime(data.end + 0.04 * span)];
  };

  /** What the charts share: colours of the theme, a time axis, a quiet grid. */
  S.timeAxis = (more) => Object.assign({
    type: "time",
    axisLabel: { color: S.css("--soft"), formatter: S.tick, hideOverlap: true },
    axisLine: { lineStyle: { color: S.css("--line") } },
    splitLine: { show: true, lineStyle: { color: S.css("--faint") } },
  }, more);
  S.valueAxis = (more) => Object.assign({
    type: "value", min: 0,
    nameTextStyle: { color: S.css("--soft"), align: "left" },
    axisLabel: { color: S.css("--soft") },
    splitLine: { lineStyle: { color: S.css("--faint") } },
  }, more);
  S.tooltip = (more) => Object.assign({
    backgroundColor: S.css("--card"), borderColor: S.css("--line"), textStyle: { color: S.css("--ink") },
    confine: true, extraCssText: "box-shadow:0 6px 24px #0003;border-radius:8px",
  }, more);
  S.nowLine = () => ({
    silent: true, symbol: "none", animation: false,
    data: [{ xAxis: S.axisTime(data.now) }],
    lineStyle: { color: S.css("--bad"), type: "solid", width: 1.5 },
    label: { show: false },
  });

  // --- theme: the reader's last choice, else the system's ---------------------------------------

  const system = matchMedia("(prefers-color-scheme: dark)");
  function remembered() { try { return localStorage.getItem("slotwise-theme"); } catch { return null; } }
  S.setTheme = function (name) {
    document.documentElement.dataset.theme = name;
    document.documentElement.classList.toggle("dark", name === "dark");
    const button = document.getElementById("theme");
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${name === "dark" ? "light" : "dark"} theme`);
    S.redrawAll();
  };
  S.keepTheme = function (name) {
    S.setTheme(name);
    try { localStorage.setItem("slotwise-theme", name); } catch { /* a page from a file may not */ }
  };
  system.addEventListener("change", () => { if (!remembered()) S.setTheme(system.matches ? "dark" : "light"); });
  S.firstTheme = remembered() || (system.matches ? "dark" : "light");

  // --- choosing a job: every part of the page hears of it ---------------------------------------

  const listeners = [];
  S.chosen = null;
  S.onChoice = (listener) => listeners.push(listener);
  S.choose = function (job) {
    S.chosen = job;
    for (const listener of listeners) listener(job);
  };

  const redraws = [];
  /** Calls draw whenever the theme changes, and now unless somebody else will. */
  S.drawn = function (draw, later) {
    redraws.push(draw);
    if (!later) draw();
  };
  S.redrawAll = () => redraws.forEach((draw) => draw());

  /** A chart in an element that follows the element's size. */
  S.chartIn = function (element) {
    const chart = echarts.init(element, null, { renderer: "canvas", useDirtyRect: false });
    new ResizeObserver(() => chart.resize()).observe(element);
    return chart;
  };
  S.setTheme(S.firstTheme);
})(Slotwise);
