/* The Gantt chart: hosts under their groups, bars of jobs, loads of folded groups. */
"use strict";
(function (S) {
  const data = S.data;
  const holder = document.getElementById("gantt");
  if (!holder) return;
  const chart = S.chartIn(holder);
  const state = {
    view: data.views[data.views.length - 1], base: null, opened: new Set(data.opened), rows: [], cursor: 0, mouse: null,
  };
  S.gantt = { chart, state };
  const [RESERVED, GHOST] = [1, 2];

  // --- rows -------------------------------------------------------------------------------------

  function rowsNow() {
    const rows = [];
    const add = (place, depth) => {
      const [, , , hosts, own] = data.groups[place];
      rows.push({ group: place, depth, hosts });
      if (!state.opened.has(place)) return;
      data.groups.forEach((group, child) => { if (group[2] === place) add(child, depth + 1); });
      own.forEach((host) => rows.push({ host, depth: depth + 1 }));
    };
    if (!data.groups.length) return data.hosts.map((_, host) => ({ host, depth: 0 }));
    data.groups.forEach((group, place) => { if (group[2] === null) add(place, 0); });
    return rows;
  }

  const nameOf = (row) => row.host === undefined ? data.groups[row.group][0] : data.hosts[row.host][0];

  function label(row) {
    const indent = "  ".repeat(row.depth);
    const name = nameOf(row).length > 20 ? nameOf(row).slice(0, 19) + "…" : nameOf(row);
    if (row.host !== undefined) return (data.groups.length ? indent + "  " : "") + name;
    return `${indent}${state.opened.has(row.group) ? "▾" : "▸"} ${name}`;
  }

  // --- bars -------------------------------------------------------------------------------------

  const byHost = new Map();
  /** Bars of a view by host, the running jobs first; made once a view. */
  function barsOf(view) {
    if (!byHost.has(view)) {
      const found = new Map();
      for (const bar of [...data.running, ...view.bars]) {
        if (!found.has(bar[2])) found.set(bar[2], []);
        found.get(bar[2]).push(bar);
      }
      byHost.set(view, found);
    }
    return byHost.get(view);
  }

  const startOf = new Map();
  /** Start of each job in a view. */
  function startsOf(view) {
    if (!startOf.has(view)) {
      startOf.set(view, new Map(view.bars.filter((bar) => bar[1] !== RESERVED).map((bar) => [bar[0], bar[5]])));
    }
    return startOf.get(view);
  }
  S.startsOf = startsOf;

  // What has no known end reaches behind everything else.
  let behind = data.end;
  for (const bar of [...data.running, ...data.views.flatMap((view) => view.bars)]) behind = Math.max(behind, bar[6] || 0, bar[5]);
  behind += 0.05 * Math.max(3600, behind - data.begin);
  const far = () => S.axisTime(behind);

  let earliest = data.begin;
  for (const bar of data.running) earliest = Math.min(earliest, bar[5]);

  function items() {
    const bars = [];
    const loads = [];
    const last = far();
    state.rows.forEach((row, place) => {
      if (row.host === undefined) {
        loads.push([place, S.axisTime(data.begin), last, row.group]);
        return;
      }
      const slots = data.hosts[row.host][1];
      const own = barsOf(state.view).get(row.host) || [];
      const lanes = Math.max(slots, 1, ...own.map((bar) => bar[3] + bar[4]));
      const put = (bar, kind) => bars.push([
        place, S.axisTime(bar[5]), bar[6] === null ? last : S.axisTime(bar[6]), bar[3], bar[4], lanes, bar[0], kind,
      ]);
      own.forEach((bar) => put(bar, bar[1]));
      if (state.base) (barsOf(state.base).get(row.host) || []).forEach((bar) => {
        if (bar[1] !== RESERVED && data.jobs[bar[0]].state !== "running") put(bar, GHOST);
      });
    });
    return { bars, loads };
  }

  function colourOf(number) {
    if (!state.base || data.jobs[number].state === "running") return S.jobColour(number);
    const [before, after] = [startsOf(state.base).get(number), startsOf(state.view).get(number)];
    if (before === after) return S.css("--planned");
    return after !== undefined && (before === undefined || after < before) ? S.css("--good") : S.css("--bad");
  }

  /** Colours of the name on a bar: over a hatch it has a ground of its own. */
  S.gantt.labelOf = (kind, fill) => kind === RESERVED
    ? { fill: S.css("--ink"), backgroundColor: S.css("--card"), padding: [1, 3] } : { fill: S.readable(fill) };

  /** Fill and label of every job's bar, chosen or beside a chosen one: what a test measures. */
  S.gantt.labelColours = () => data.jobs.flatMap((_, number) => [S.jobColour(number), S.mixed(S.jobColour(number), 0.4)])
    .map((fill) => [fill, S.gantt.labelOf(0, fill).fill]);

  let hatch = null;
  function hatched() {
    if (hatch) return hatch;
    const image = document.createElement("canvas");
    image.width = image.height = 8;
    const pen = image.getContext("2d");
    pen.strokeStyle = S.css("--reserved");
    pen.lineWidth = 2;
    for (const shift of [-8, 0, 8]) {
      pen.beginPath();
      pen.moveTo(shift, 8);
      pen.lineTo(shift + 8, 0);
      pen.stroke();
    }
    hatch = { image, repeat: "repeat" };
    return hatch;
  }

  function shapeOfBar(params, api) {
    const [row, start, finish, first, count, lanes, number, kind] = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => api.value(n));
    const begin = api.coord([start, row]);
    const end = api.coord([finish, row]);
    const band = api.size([0, 1])[1];
    const room = band > 8 ? band * 0.86 : band;
    const lane = room / lanes;
    const top = begin[1] - room / 2 + first * lane;
    const gap = lane * count > 5 ? 1 : 0;
    const whole = { x: begin[0], y: top + gap / 2, width: Math.max(end[0] - begin[0] - gap, 1), height: Math.max(lane * count - gap, 0.8) };
    const area = params.coordSys;
    const shape = echarts.graphic.clipRectByRect(whole, { x: area.x, y: area.y, width: area.width, height: area.height });
    if (!shape) return null;
    const job = data.jobs[number];
    const dim = S.chosen !== null && S.chosen !== job.id;
    const colour = colourOf(number);
    const style = kind === GHOST ? { fill: "transparent", stroke: S.css("--soft"), lineDash: [4, 3], lineWidth: 1 }
      : kind === RESERVED ? { fill: hatched(), stroke: S.css("--reserved"), lineWidth: 1 }
        : { fill: dim ? S.mixed(colour, 0.4) : colour };
    if (S.chosen === job.id) Object.assign(style, { stroke: S.css("--ink"), lineWidth: 2 });
    if (kind === GHOST || kind === RESERVED) style.opacity = dim ? 0.4 : 1;
    shape.r = Math.min(3, shape.height / 3);
    const wide = shape.width > 7 * job.id.length + 10 && shape.height >= 12 && kind !== GHOST;
    return {
      type: "rect", shape, style,
      textContent: wide ? { style: Object.assign({ text: job.id, fontSize: 12 }, S.gantt.labelOf(kind, style.fill)) } : undefined,
      textConfig: wide ? { position: "inside" } : undefined,
    };
  }

  // --- loads of folded groups ---------------------------------------------------------------------

  /** The step line of some kinds summed, as points [time, slots]. */
  function steps(load, kinds) {
    return load.times.map((time, n) => [S.axisTime(time), kinds.reduce((sum, kind) => sum + load[kind][n], 0)]);
  }

  function outline(points, place, size, band, area) {
    const at = (value) => place([value, 0])[0];
    const left = area.x, right = area.x + area.width;
    const line = [];
    points.forEach(([time, level], n) => {
      const from = Math.max(at(time), left);
      const to = n + 1 < points.length ? Math.min(at(points[n + 1][0]), right) : right;
      if (to <= left || from >= right) return;
      const y = band.bottom - (band.height * Math.min(level, size)) / size;
      line.push([from, y], [to, y]);
    });
    return line;
  }

  function shapeOfLoad(params, api) {
    const row = api.value(0), group = api.value(3);
    const hosts = data.groups[group][3];
    const size = Math.max(1, hosts.reduce((sum, host) => sum + data.hosts[host][1], 0));
    const step = api.size([0, 1])[1];
    const middle = api.coord([api.value(1), row])[1];
    const band = { height: step * 0.84, bottom: middle + step * 0.42 };
    const area = params.coordSys;
    const load = state.view.loads[group];
    const place = (value) => api.coord(value);
    const polygon = (kinds, below, fill) => {
      const upper = outline(steps(load, kinds), place, size, band, area);
      if (!upper.length) return null;
      const lower = below.length ? outline(steps(load, below), place, size, band, area).reverse()
        : [[upper[upper.length - 1][0], band.bottom], [upper[0][0], band.bottom]];
      return { type: "polygon", shape: { points: [...upper, ...lower] }, style: { fill }, silent: true };
    };
    const children = [
      { type: "rect", shape: { x: area.x, y: band.bottom - band.height, width: area.width, height: band.height }, style: { fill: S.css("--faint") } },
      polygon(["running"], [], S.css("--running")),
      polygon(["running", "planned"], ["running"], S.css("--planned")),
      polygon(["running", "planned", "reserved"], ["running", "planned"], hatched()),
    ];
    if (state.base) {
      const points = outline(steps(state.base.loads[group], ["running", "planned"]), place, size, band, area);
      children.push({ type: "polyline", shape: { points }, style: { stroke: S.css("--bad"), fill: null, lineWidth: 1.5, lineDash: [4, 2] }, silent: true });
    }
    return { type: "group", children: children.filter((child) => child) };
  }

  // --- words --------------------------------------------------------------------------------------

  function tipOfBar(value) {
    const [row, start, finish, , count, , number, kind] = value;
    const job = data.jobs[number];
    const what = kind === RESERVED ? "holds now" : kind === GHOST ? `in ${state.base.name}` : job.state === "running" ? "runs" : "planned";
    const end = finish >= far() ? "end unknown" : S.clock(S.dataTime(finish));
    const row2 = S.comparisonOf(job.id);
    return S.element("div", { class: "tip" },
      S.element("b", { text: job.id }), ` ${what} on ${nameOf(state.rows[row])}`,
      S.element("div", { text: `${S.clock(S.dataTime(start))} – ${end} · ${count} of its ${S.count(job.slots, "slot")}` }),
      S.element("div", { class: "soft", text: `${job.user} · ${job.queue}` }),
      row2 && row2.waits_for ? S.element("div", { text: row2.waits_for }) : null,
      S.element("div", { class: "soft", text: "click: why not earlier, what would help" }));
  }

  function levelAt(load, time) {
    let place = -1;
    while (place + 1 < load.times.length && load.times[place + 1] <= time) place += 1;
    return ["running", "planned", "reserved"].map((kind) => place < 0 ? 0 : load[kind][place]);
  }

  function tipOfLoad(group) {
    const [name, type, , hosts] = data.groups[group];
    const size = hosts.reduce((sum, host) => sum + data.hosts[host][1], 0);
    const time = state.mouse === null ? data.now : Math.round(S.dataTime(state.mouse));
    const [running, planned, reserved] = levelAt(state.view.loads[group], time);
    return S.element("div", { class: "tip" },
      S.element("b", { text: name }), ` ${type}, ${S.count(hosts.length, "host")}, ${S.count(size, "slot")}`,
      S.element("div", { text: `at ${S.clock(time)}: ${running} running, ${planned} planned, ${reserved} held, ${Math.max(0, Math.round((size - running - planned - reserved) * 100) / 100)} free` }),
      S.element("div", { class: "soft", text: "click to unfold" }));
  }

  // --- drawing ------------------------------------------------------------------------------------

  function heightFor(count) {
    const most = Math.max(...state.rows.map((row) => row.host === undefined ? 8 : data.hosts[row.host][1]));
    const each = Math.min(Math.max(20, Math.min(64, most * 9)), Math.max(20, 620 / count));
    if (count === 1) return 420;
    return Math.min(780, Math.max(170, count * each + 90));
  }

  function draw() {
    hatch = null;
    state.rows = rowsNow();
    state.cursor = Math.min(state.cursor, state.rows.length - 1);
    const height = heightFor(state.rows.length);
    holder.style.height = `${height}px`;
    chart.resize();
    const fits = Math.floor((height - 90) / 15);
    const many = state.rows.length > fits;
    const before = chart.getOption();
    const range = before && before.dataZoom && before.dataZoom.length ? before.dataZoom[0] : null;
    const [first, last] = range ? [range.startValue, range.endValue] : S.firstRange();
    const top = before && many && before.dataZoom.find((zoom) => zoom.id === "rows");
    const begin = top ? Math.min(top.startValue, state.rows.length - fits) : 0;
    const narrow = holder.clientWidth < 640;
    const found = items();
    const rowsZoom = { yAxisIndex: 0, filterMode: "filter", startValue: begin, endValue: begin + fits - 1, zoomLock: true };
    chart.setOption({
      animation: false,
      aria: { enabled: true, label: { description: `Gantt chart of ${S.count(data.hosts.length, "host")}; the table below it has the same.` } },
      grid: { left: narrow ? 96 : 176, right: many ? 34 : 14, top: 10, bottom: 64 },
      tooltip: S.tooltip({ trigger: "item", formatter: (it) => it.seriesId === "loads" ? tipOfLoad(it.value[3]) : it.seriesId === "bars" ? tipOfBar(it.value) : "" }),
      xAxis: S.timeAxis({ min: Math.min(S.firstRange()[0], S.axisTime(earliest)), max: far() }),
      yAxis: {
        type: "category", inverse: true, data: state.rows.map((_, place) => place), triggerEvent: true,
        axisTick: { show: false }, axisLine: { lineStyle: { color: S.css("--line") } }, splitLine: { show: state.rows.length <= 60, interval: 0, lineStyle: { color: S.css("--line"), opacity: 0.6 } },
        axisLabel: { align: "left", margin: narrow ? 92 : 170, color: S.css("--ink"), fontSize: 12, width: narrow ? 88 : 164, overflow: "truncate", interval: 0, hideOverlap: true, formatter: (place) => state.rows[place] ? label(state.rows[place]) : "" },
      },
      dataZoom: [
        { id: "time", type: "inside", xAxisIndex: 0, filterMode: "weakFilter", startValue: first, endValue: last, zoomOnMouseWheel: "ctrl", moveOnMouseMove: true },
        { id: "slider", type: "slider", xAxisIndex: 0, filterMode: "weakFilter", startValue: first, endValue: last, bottom: 10, height: 20, showDataShadow: false, labelFormatter: (value) => S.tick(value), textStyle: { color: S.css("--soft") }, borderColor: S.css("--line"), fillerColor: S.css("--cursor"), brushSelect: false },
        ...(many ? [
          { id: "rows", type: "slider", ...rowsZoom, right: 6, width: 14, showDetail: false, showDataShadow: false, borderColor: S.css("--line"), fillerColor: S.css("--cursor"), brushSelect: false, handleSize: 0 },
          { id: "wheel", type: "inside", ...rowsZoom, zoomOnMouseWheel: false, moveOnMouseWheel: true, moveOnMouseMove: false },
        ] : []),
      ],
      series: [
        { id: "cursor", type: "custom", silent: true, z: 0, data: document.activeElement === holder ? [[state.cursor, first, last]] : [], encode: { x: [1, 2], y: 0 }, renderItem: shapeOfCursor },
        { id: "loads", type: "custom", clip: true, data: found.loads, encode: { x: [1, 2], y: 0 }, renderItem: shapeOfLoad },
        { id: "bars", type: "custom", clip: true, data: found.bars, encode: { x: [1, 2], y: 0 }, renderItem: shapeOfBar, markLine: S.nowLine() },
      ],
    }, { replaceMerge: ["dataZoom", "series"] });
    holder.dataset.rows = state.rows.length;
    holder.dataset.bars = found.bars.length;
  }

  function shapeOfCursor(params, api) {
    const step = api.size([0, 1])[1];
    const y = api.coord([api.value(1), api.value(0)])[1] - step / 2;
    return { type: "rect", shape: { x: params.coordSys.x, y, width: params.coordSys.width, height: step }, style: { fill: S.css("--cursor"), stroke: S.css("--accent"), lineWidth: 1 } };
  }

  // --- what people do -----------------------------------------------------------------------------

  function toggle(group) {
    if (state.opened.has(group)) state.opened.delete(group);
    else state.opened.add(group);
    draw();
    S.say(`${data.groups[group][0]} ${state.opened.has(group) ? "unfolded" : "folded"}`);
  }

  S.gantt.toggle = toggle;
  S.gantt.fold = function (level) {
    const depth = (group) => data.groups[group][2] === null ? 0 : 1 + depth(data.groups[group][2]);
    state.opened = new Set(data.groups.map((_, group) => group).filter((group) => depth(group) < level));
    draw();
  };
  S.gantt.levels = data.groups.length ? 1 + Math.max(...data.groups.map((group) => { let n = 0; for (let at = group[2]; at !== null; at = data.groups[at][2]) n += 1; return n; })) : 0;

  /** Show a view; base: another one to show the difference from, or null. */
  S.gantt.show = function (view, base) {
    state.view = view;
    state.base = base;
    draw();
  };
  S.gantt.zoom = function (factor, shift) {
    const zoom = chart.getOption().dataZoom[0];
    const width = zoom.endValue - zoom.startValue;
    const middle = (zoom.startValue + zoom.endValue) / 2 + (shift || 0) * width;
    chart.dispatchAction({ type: "dataZoom", dataZoomId: "time", startValue: middle - (width * factor) / 2, endValue: middle + (width * factor) / 2 });
  };
  S.gantt.whole = function () {
    const [first, last] = S.firstRange();
    chart.dispatchAction({ type: "dataZoom", dataZoomId: "time", startValue: first, endValue: last });
  };

  chart.on("click", (event) => {
    if (event.componentType === "yAxis") {
      const row = state.rows[Number(event.value)];
      if (row && row.host === undefined) toggle(row.group);
    } else if (event.seriesId === "loads") toggle(event.value[3]);
    else if (event.seriesId === "bars") S.choose(data.jobs[event.value[6]].id);
  });
  chart.getZr().on("mousemove", (event) => {
    const at = chart.convertFromPixel({ xAxisIndex: 0 }, event.offsetX);
    state.mouse = Number.isFinite(at) ? at : null;
  });

  function alongRow(step) {
    const row = state.rows[state.cursor];
    if (row.host === undefined) return;
    const jobs = [...new Set((barsOf(state.view).get(row.host) || []).slice().sort((a, b) => a[5] - b[5] || a[3] - b[3]).map((bar) => data.jobs[bar[0]].id))];
    if (!jobs.length) return;
    const at = jobs.indexOf(S.chosen);
    const next = at < 0 ? (step > 0 ? 0 : jobs.length - 1) : Math.min(Math.max(at + step, 0), jobs.length - 1);
    S.choose(jobs[next]);
  }

  function moveTo(place) {
    state.cursor = Math.min(Math.max(place, 0), state.rows.length - 1);
    const zoom = chart.getOption().dataZoom.find((item) => item.id === "rows");
    if (zoom && (state.cursor < zoom.startValue || state.cursor > zoom.endValue)) {
      const size = zoom.endValue - zoom.startValue;
      const start = state.cursor < zoom.startValue ? state.cursor : state.cursor - size;
      chart.dispatchAction({ type: "dataZoom", dataZoomId: "rows", startValue: start, endValue: start + size });
    }
    draw();
    const row = state.rows[state.cursor];
    if (row.host !== undefined) {
      const count = new Set((barsOf(state.view).get(row.host) || []).map((bar) => bar[0])).size;
      S.say(`${nameOf(row)}, ${S.count(data.hosts[row.host][1], "slot")}, ${S.count(count, "job")}`);
    } else {
      const folded = state.opened.has(row.group) ? "unfolded" : "folded";
      S.say(`${data.groups[row.group][1]} ${nameOf(row)}, ${S.count(row.hosts.length, "host")}, ${folded}`);
    }
  }

  const keys = {
    ArrowDown: () => moveTo(state.cursor + 1), ArrowUp: () => moveTo(state.cursor - 1),
    PageDown: () => moveTo(state.cursor + 10), PageUp: () => moveTo(state.cursor - 10),
    ArrowRight: () => alongRow(1), ArrowLeft: () => alongRow(-1),
    Enter: () => { const row = state.rows[state.cursor]; if (row.host === undefined) toggle(row.group); },
    "+": () => S.gantt.zoom(0.5), "-": () => S.gantt.zoom(2), ",": () => S.gantt.zoom(1, -0.3), ".": () => S.gantt.zoom(1, 0.3),
    Home: () => S.gantt.whole(), Escape: () => S.choose(null),
  };
  keys[" "] = keys.Enter;
  keys["="] = keys["+"];
  holder.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  holder.addEventListener("focus", () => draw());
  holder.addEventListener("blur", () => draw());
  S.onChoice(() => draw());
  S.drawn(draw, true);
})(Slotwise);
