/* Starts by method, free slots and memory, use of the cluster, shares: the pictures beside the Gantt. */
"use strict";
(function (S) {
  const data = S.data;
  const colours = () => ({ greedy: S.css("--bad"), "time-based": S.css("--reserved"), optimal: S.css("--good"), milp: S.css("--good") });
  const grid = (more) => Object.assign({ left: 64, right: 24, top: 54, bottom: 62 }, more);
  const legend = (more) => Object.assign({ top: 0, left: 0, textStyle: { color: S.css("--ink") }, icon: "roundRect", itemWidth: 18, itemHeight: 4 }, more);
  const zoom = () => [
    { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
    { type: "slider", filterMode: "none", height: 18, bottom: 10, showDataShadow: false, brushSelect: false, labelFormatter: (value) => S.tick(value), textStyle: { color: S.css("--soft") }, borderColor: S.css("--line"), fillerColor: S.css("--cursor") },
  ];
  const line = (name, points, colour, more) => Object.assign({
    name, type: "line", step: "end", symbol: "none", data: points, lineStyle: { color: colour, width: 2 }, itemStyle: { color: colour }, animation: false,
  }, more);
  const points = (times, values, scale) => times.map((time, n) => [S.axisTime(time), values[n] * (scale || 1)]);
  const axisTip = (unit) => S.tooltip({ trigger: "axis", formatter: (items) => S.element("div", { class: "tip" },
    S.element("b", { text: S.clock(S.dataTime(items[0].axisValue)) }),
    ...items.map((item) => S.element("div", { text: `${item.seriesName}: ${Number(item.value[1]).toLocaleString("en", { maximumFractionDigits: 3 })}${unit}` }))) });

  function picture(id, option) {
    const element = document.getElementById(id);
    if (!element) return null;
    const chart = S.chartIn(element);
    S.drawn(() => chart.setOption(Object.assign({ animation: false, aria: { enabled: true } }, option()), { notMerge: true }));
    return chart;
  }

  // --- starts by method: a line a job, a mark a method ----------------------------------------------

  const waiting = data.comparison ? data.comparison.jobs.filter((row) =>
    [row.greedy_estimate, row.greedy_simulated, row.time_based_estimate, row.optimal_estimate].some((time) => time !== null && time !== data.now)) : [];
  const startsAt = document.getElementById("starts");
  if (startsAt) startsAt.style.height = `${Math.min(880, 96 + 38 * Math.max(2, waiting.length))}px`;
  const marks = [
    ["greedy estimate", "greedy_estimate", "greedy", "diamond", -14, true], ["greedy simulated", "greedy_simulated", "greedy", "diamond", -9],
    ["time-based estimate", "time_based_estimate", "time-based", "rect", -2, true], ["time-based simulated", "time_based_simulated", "time-based", "rect", 3],
    ["optimal estimate", "optimal_estimate", "optimal", "circle", 9, true], ["optimal simulated", "optimal_simulated", "optimal", "circle", 14],
  ].filter(([, key]) => !data.comparison || key.endsWith("_estimate") || data.comparison.simulated.includes(key.replace("_simulated", "").replace("_", "-")));
  const starts = picture("starts", () => {
    const names = waiting.map((row) => row.job);
    const many = names.length > 22;
    const size = { diamond: 11, rect: 8, circle: 9 };
    return {
      grid: grid({ left: 110, right: many ? 34 : 24, top: 30 }), legend: legend({ type: "scroll", icon: undefined, itemWidth: 14, itemHeight: 10 }),
      tooltip: S.tooltip({ trigger: "item", formatter: (item) => {
        const row = waiting[item.value[1]];
        return S.element("div", { class: "tip" }, S.element("b", { text: row.job }),
          ...marks.map(([name, key]) => S.element("div", { text: `${name}: ${S.startOf(row.job, key, row[key])}` })),
          row.sooner_by ? S.element("div", { class: "good", text: `${S.duration(row.sooner_by)} sooner than as configured` }) : null);
      } }),
      xAxis: S.timeAxis({ min: Math.min(S.axisTime(data.now), ...waiting.flatMap((row) => marks.map(([, key]) => row[key] === null ? Infinity : S.axisTime(row[key])))) }),
      yAxis: { type: "category", inverse: true, data: names.map((_, n) => n), axisTick: { show: false }, axisLine: { show: false }, splitLine: { show: true, interval: 0, lineStyle: { color: S.css("--faint") } }, triggerEvent: true,
        axisLabel: { color: S.css("--ink"), width: 96, overflow: "truncate", interval: 0, hideOverlap: true, formatter: (n) => names[n] } },
      dataZoom: [...zoom(), ...(many ? [
        { type: "slider", yAxisIndex: 0, startValue: 0, endValue: 21, right: 6, width: 12, zoomLock: true, showDetail: false, showDataShadow: false, brushSelect: false, handleSize: 0, borderColor: S.css("--line"), fillerColor: S.css("--cursor") },
        { type: "inside", yAxisIndex: 0, startValue: 0, endValue: 21, zoomLock: true, zoomOnMouseWheel: false, moveOnMouseWheel: true },
      ] : [])],
      series: [
        { type: "custom", silent: true, z: 1, encode: { x: [0, 2], y: 1 }, renderItem: (params, api) => {
          const [from, to] = [api.coord([api.value(0), api.value(1)]), api.coord([api.value(2), api.value(1)])];
          return { type: "line", shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, style: { stroke: api.value(3) > 0 ? S.css("--good") : api.value(3) < 0 ? S.css("--bad") : S.css("--line"), lineWidth: 4, opacity: 0.45 } };
        }, data: waiting.flatMap((row, n) => row.optimal_estimate !== null && row.greedy_simulated !== null ? [[S.axisTime(row.optimal_estimate), n, S.axisTime(row.greedy_simulated), row.sooner_by]] : []) },
        ...marks.map(([name, key, method, symbol, offset, hollow]) => ({
          name, type: "scatter", symbol, symbolSize: size[symbol], symbolOffset: [0, offset], z: 3, animation: false,
          itemStyle: hollow ? { color: S.css("--card"), borderColor: colours()[method], borderWidth: 2 } : { color: colours()[method] },
          data: waiting.flatMap((row, n) => row[key] === null ? [] : [[S.axisTime(row[key]), n]]),
          markLine: key === "optimal_estimate" ? S.nowLine() : undefined,
        })),
      ],
    };
  });
  if (starts) starts.on("click", (event) => {
    const place = event.componentType === "yAxis" ? Number(event.value) : event.value && event.value[1];
    if (waiting[place]) S.choose(waiting[place].job);
  });

  // --- free slots and memory --------------------------------------------------------------------------

  const free = data.views.filter((view) => view.free);
  const [first, last] = S.firstRange();
  const upTo = { min: Math.max(first, S.axisTime(data.now)), max: last };
  const freeOption = (key, title, scale) => () => ({
    grid: grid(), legend: legend(), tooltip: axisTip(key === "memory" ? " GB" : ""),
    xAxis: S.timeAxis(upTo), yAxis: S.valueAxis({ name: title, minInterval: scale ? 0 : 1 }), dataZoom: zoom(),
    series: free.filter((view) => view.free[key]).map((view, n, all) => line(view.name, points(view.free.times, view.free[key], scale), colours()[view.name], {
      lineStyle: { color: colours()[view.name], width: 2, type: ["dashed", "dotted", "solid"][n + 3 - all.length] },
      areaStyle: n === all.length - 1 ? { color: colours()[view.name], opacity: 0.12 } : undefined,
    })),
  });
  picture("free-slots", freeOption("slots", "free slots"));
  picture("free-memory", freeOption("memory", "free memory, GB", 1 / 1024));

  // --- a simulation: use and shares -------------------------------------------------------------------

  if (data.use) picture("use", () => {
    const capacity = data.hosts.reduce((sum, host) => sum + host[1], 0);
    return {
      grid: grid({ right: 64 }), legend: legend(), tooltip: axisTip(""), xAxis: S.timeAxis({}), dataZoom: zoom(),
      yAxis: [S.valueAxis({ name: "slots", minInterval: 1, max: (found) => Math.max(found.max, capacity), axisLabel: { color: S.css("--soft"), showMaxLabel: false } }), S.valueAxis({ name: "waiting jobs", minInterval: 1, splitLine: { show: false }, nameTextStyle: { color: S.css("--soft"), align: "right" } })],
      series: [
        line("slots in use", points(data.use.times, data.use.slots), S.css("--planned"), { areaStyle: { opacity: 0.25 },
          markLine: { silent: true, symbol: "none", data: [{ yAxis: capacity }], lineStyle: { color: S.css("--soft") }, label: { formatter: `${capacity} slots`, position: "insideMiddleTop", color: S.css("--soft") } } }),
        line("slots that waiting jobs ask for", points(data.use.times, data.use.asked), S.css("--reserved"), { lineStyle: { color: S.css("--reserved"), width: 1.5, type: "dashed" } }),
        line("waiting jobs", points(data.use.times, data.use.waiting), S.css("--bad"), { yAxisIndex: 1 }),
      ],
    };
  });
  const lines = ["#3b76e1", "#e0742c", "#1f9d7a", "#b0479b", "#c9a227", "#5a55c9", "#d1495b", "#2a9db0", "#7a9e3b", "#9a6b4f", "#6b7fa3", "#a35f8f"];
  let wanted = "shares";
  const shares = data.accounts.length ? () => ({
    grid: grid(), legend: legend({ type: "scroll" }), tooltip: axisTip(""), xAxis: S.timeAxis({}), dataZoom: zoom(),
    yAxis: S.valueAxis({ name: wanted === "shares" ? "share of the slots in use" : "dynamic priority" }),
    series: data.accounts.map((curve, n) => line(curve.account, points(curve.times, curve[wanted]), lines[n % lines.length], wanted === "shares" ? {
      markLine: { silent: true, symbol: "none", data: [{ yAxis: curve.target }], lineStyle: { color: lines[n % lines.length], type: "dotted", opacity: 0.8 }, label: { show: false } },
    } : {})),
  }) : null;
  const shareChart = shares ? picture("shares", shares) : null;
  for (const input of document.querySelectorAll("input[name=shown-of-shares]")) {
    input.addEventListener("change", () => {
      wanted = input.value;
      shareChart.setOption(Object.assign({ animation: false, aria: { enabled: true } }, shares()), { notMerge: true });
    });
  }
})(Slotwise);
