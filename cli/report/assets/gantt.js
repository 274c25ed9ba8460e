/* The picture: hosts under their groups, bars of jobs, loads of groups. Rows are elements of the page. */
"use strict";
(function (S) {
  const data = S.data;
  const E = S.element;
  const holder = document.getElementById("gantt");
  if (!holder) return;
  const RESERVED = 1;
  const AXIS = 20;
  const FEW_ROWS = 16;
  const SOME_ROWS = 200;
  const SOME_BARS = 400;

  let last = data.end;
  for (const bar of [...data.running, ...data.views.flatMap((view) => view.bars)]) last = Math.max(last, bar[5], bar[6] || 0);
  const span = Math.max(60, data.end - data.begin);
  const whole = [data.begin - 0.08 * span, data.end + 0.02 * span];
  let earliest = whole[0];
  for (const bar of data.running) earliest = Math.min(earliest, bar[5]);
  // What has no known end reaches behind everything else.
  const bounds = [earliest, Math.max(last + 0.05 * Math.max(3600, last - data.begin), whole[1])];

  const state = { view: data.views[data.views.length - 1], opened: new Set(data.opened), rows: [], cursor: 0, range: [...whole] };
  S.gantt = { state };
  const other = () => data.views.length > 1 ? data.views.find((view) => view !== state.view) : null;

  // --- rows -------------------------------------------------------------------------------------

  const children = data.groups.map(() => []);
  data.groups.forEach((group, place) => { if (group[2] !== null) children[group[2]].push(place); });
  const sizes = data.groups.map((group) => group[3].reduce((sum, host) => sum + data.hosts[host][1], 0));

  /** Hosts on which several jobs are at once in a view: they get more height. */
  const shared = new Set();
  for (const view of data.views) for (const bar of view.bars) if (bar[3] > 0) shared.add(bar[2]);
  for (const bar of data.running) if (bar[3] > 0) shared.add(bar[2]);
  const lanes = data.hosts.map((host) => Math.max(1, host[1]));
  for (const bar of [...data.running, ...data.views.flatMap((view) => view.bars)]) lanes[bar[2]] = Math.max(lanes[bar[2]], bar[3] + bar[4]);

  function rowsNow() {
    const rows = [];
    const host = (index, depth) => { if (data.hosts[index][1] > 0) rows.push({ host: index, depth, height: shared.has(index) ? 34 : 22 }); };
    const add = (place, depth) => {
      if (!sizes[place]) return;
      rows.push({ group: place, depth, height: 22 });
      if (!state.opened.has(place)) return;
      for (const child of children[place]) add(child, depth + 1);
      for (const index of data.groups[place][4]) host(index, depth + 1);
    };
    if (data.groups.length) data.groups.forEach((group, place) => { if (group[2] === null) add(place, 0); });
    else data.hosts.forEach((_, index) => host(index, 0));
    const needed = rows.reduce((sum, row) => sum + row.height, 0);
    const room = rows.length === 1 ? 290 : Math.min(290, needed * 2.4);
    if (needed < room) for (const row of rows) row.height = Math.round(row.height * room / needed);
    let top = 0;
    for (const row of rows) { row.top = top; top += row.height; }
    return rows;
  }
  const nameOf = (row) => row.host === undefined ? data.groups[row.group][0] : data.hosts[row.host][0];

  // --- one row ----------------------------------------------------------------------------------

  const at = (time) => 100 * (time - state.range[0]) / (state.range[1] - state.range[0]);
  const inRange = (bar) => bar[5] < state.range[1] && (bar[6] === null || bar[6] > state.range[0]);

  function styleOf(bar) {
    const job = data.jobs[bar[0]];
    if (bar[1] === RESERVED) return job.id === S.chosen ? "reserved own" : "reserved";
    if (job.id === S.chosen) return "chosen";
    if (S.isRunning(bar[0])) return "running";
    const beside = other();
    if (beside && state.view === data.views[data.views.length - 1]) {
      const before = S.startsOf(beside).get(bar[0]);
      if (before === undefined || bar[5] < before) return "sooner";
    }
    return "planned";
  }

  function titleOf(bar) {
    const job = data.jobs[bar[0]];
    const what = bar[1] === RESERVED ? "holds" : S.isRunning(bar[0]) ? "runs on" : "planned on";
    const end = bar[6] === null ? "end unknown" : S.clock(bar[6]);
    return `${job.id} ${what} ${bar[4]} of its ${S.count(job.slots, "slot")}, ${data.hosts[bar[2]][0]}\n${S.clock(bar[5])} – ${end} · ${job.user} · ${job.queue}`;
  }

  function place(made, bar, row) {
    const left = Math.max(0, at(bar[5]));
    const right = bar[6] === null ? 100 : Math.min(100, at(bar[6]));
    const lane = (row.height - 3) / lanes[bar[2]];
    made.style.left = `${left}%`;
    made.style.width = `max(${right - left}%, 2px)`;
    made.style.top = `${1 + bar[3] * lane}px`;
    made.style.height = `${Math.max(bar[4] * lane - (lane * bar[4] > 5 ? 1 : 0), 1)}px`;
    return [right - left, bar[4] * lane];
  }

  function barElement(bar, row, width) {
    const style = styleOf(bar);
    const made = E("i", { class: `b ${style}`, title: titleOf(bar), style: "font-style:normal" });
    const [share, height] = place(made, bar, row);
    const name = data.jobs[bar[0]].id;
    // What began before now has its name behind the line of now.
    const past = bar[5] < data.now ? Math.max(0, at(data.now) - Math.max(0, at(bar[5]))) : 0;
    if (height >= 12 && (share - past) / 100 * width > 7.5 * name.length + 6) {
      made.append(E("span", { text: name }));
      made.style.paddingLeft = `${past}%`;
    }
    return made;
  }

  const shape = (tag, options) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(options)) made.setAttribute(key, value);
    return made;
  };

  /** Very many bars as one path a colour, without names. */
  function manyBars(bars, row) {
    const paths = {};
    const lane = 100 / lanes[row.host];
    for (const bar of bars) {
      const left = Math.max(0, at(bar[5])), right = bar[6] === null ? 100 : Math.min(100, at(bar[6]));
      const [style] = styleOf(bar).split(" ");
      paths[style] = (paths[style] || "") + `M${(10 * left).toFixed(1)} ${(bar[3] * lane).toFixed(2)}H${(10 * right).toFixed(1)}V${((bar[3] + bar[4]) * lane).toFixed(2)}H${(10 * left).toFixed(1)}Z`;
    }
    const drawing = shape("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true", class: "load" });
    for (const style of ["running", "planned", "sooner", "reserved", "chosen"]) if (paths[style]) drawing.append(shape("path", { class: style, d: paths[style] }));
    return drawing;
  }

  function loadOf(group) {
    const load = state.view.loads[group];
    const drawing = shape("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true", class: "load" });
    let below = load.times.map(() => 0);
    for (const kind of ["running", "planned", "reserved"]) {
      const above = below.map((level, n) => level + load[kind][n]);
      if (load[kind].some((level) => level > 0)) {
        const x = (n) => n < load.times.length ? 10 * Math.min(100, Math.max(0, at(load.times[n]))) : 1000;
        const y = (level) => 100 - 92 * Math.min(1, level / sizes[group]);
        let d = `M${x(0).toFixed(1)} ${y(below[0]).toFixed(1)}`;
        above.forEach((level, n) => { d += `L${x(n).toFixed(1)} ${y(level).toFixed(1)}H${x(n + 1).toFixed(1)}`; });
        for (let n = below.length - 1; n >= 0; n -= 1) d += `L${x(n + 1).toFixed(1)} ${y(below[n]).toFixed(1)}H${x(n).toFixed(1)}`;
        drawing.append(shape("path", { class: kind, d: `${d}Z` }));
      }
      below = above;
    }
    return drawing;
  }

  function rowElement(row, number, width) {
    const track = E("div", { class: "trk" });
    const made = E("div", { class: row.host === undefined ? `row group${state.opened.has(row.group) ? " open" : ""}` : "row", "data-row": number },
      E("div", { class: "lab", title: nameOf(row) }, E("span", { text: nameOf(row) })), track);
    made.style.height = `${row.height}px`;
    made.style.setProperty("--depth", row.depth);
    if (number === state.cursor && document.activeElement === holder) made.classList.add("at");
    if (row.host === undefined) {
      track.append(loadOf(row.group));
      return [made, 0];
    }
    const bars = (S.barsOf(state.view).get(row.host) || []).filter(inRange);
    if (bars.length > SOME_BARS) track.append(manyBars(bars, row));
    else track.append(...bars.map((bar) => barElement(bar, row, width)));
    const beside = other();
    if (beside && S.chosen !== null) {
      for (const bar of S.barsOf(beside).get(row.host) || []) {
        if (data.jobs[bar[0]].id !== S.chosen || S.isRunning(bar[0]) || !inRange(bar)) continue;
        const ghost = E("i", { class: "b ghost" });
        place(ghost, bar, row);
        track.append(ghost);
      }
    }
    return [made, bars.length];
  }

  // --- drawing ----------------------------------------------------------------------------------

  function axis(width) {
    const found = S.ticks(...state.range, Math.max(2, Math.floor(width / 58)));
    const inside = found.filter((tick) => at(tick.time) >= 0 && at(tick.time) <= 100);
    const clear = (tick) => tick.now || inside.every((item) => !item.now || Math.abs(at(item.time) - at(tick.time)) / 100 * width > 40);
    const labels = inside.filter((tick) => clear(tick) && (tick.now || at(tick.time) / 100 * width < width - 16)).map((tick) => {
      const made = E("span", { class: tick.now ? "at-now" : "", text: tick.text });
      made.style.left = `${Math.max(at(tick.time), 100 * 14 / width)}%`;
      return made;
    });
    const line = (tick) => {
      const made = E("i", { class: tick.now ? "at-now" : "" });
      made.style.left = `${at(tick.time)}%`;
      return made;
    };
    return { labels, under: inside.filter((tick) => !tick.now).map(line), over: inside.filter((tick) => tick.now).map(line) };
  }

  const parts = { axis: E("div", { class: "axis", "aria-hidden": "true" }), under: E("div", { class: "lines" }), rows: E("div", { class: "rows" }), over: E("div", { class: "lines over" }) };
  holder.append(parts.axis, parts.under, parts.rows, parts.over);

  function draw() {
    state.rows = rowsNow();
    state.cursor = Math.min(state.cursor, state.rows.length - 1);
    drawRows();
  }

  function drawRows() {
    const rows = state.rows;
    const width = Math.max(60, parts.axis.clientWidth);
    const found = axis(width);
    parts.axis.replaceChildren(...found.labels);
    parts.under.replaceChildren(...found.under);
    parts.over.replaceChildren(...found.over);
    const height = rows.length ? rows[rows.length - 1].top + rows[rows.length - 1].height : 0;
    for (const part of [parts.under, parts.over]) part.style.height = `${height}px`;
    const view = [holder.scrollTop - 400, holder.scrollTop + holder.clientHeight + 400];
    const few = rows.length <= SOME_ROWS;
    const shown = rows.map((row, number) => [row, number]).filter(([row]) => few || row.top + row.height >= view[0] && row.top <= view[1]);
    let count = 0;
    const made = shown.map(([row, number]) => {
      const [element, bars] = rowElement(row, number, width);
      count += bars;
      return element;
    });
    parts.rows.replaceChildren(...made);
    const first = shown.length ? shown[0][0].top : 0;
    const end = shown.length ? shown[shown.length - 1][0].top + shown[shown.length - 1][0].height : 0;
    parts.rows.style.paddingTop = `${first}px`;
    parts.rows.style.paddingBottom = `${height - end}px`;
    holder.dataset.rows = rows.length;
    holder.dataset.bars = count;
    state.window = few ? null : view;
  }

  let waiting = false;
  holder.addEventListener("scroll", () => {
    if (!state.window || waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawRows(); });
  });
  new ResizeObserver(() => drawRows()).observe(holder);

  S.gantt.draw = draw;
  S.gantt.show = function (view) { state.view = view; draw(); };

  // --- folding, zoom ----------------------------------------------------------------------------

  const depthOf = (place) => { let depth = 0; for (let up = data.groups[place][2]; up !== null; up = data.groups[up][2]) depth += 1; return depth; };
  const levels = data.groups.length ? 1 + Math.max(...data.groups.map((_, place) => depthOf(place))) : 0;

  /** Groups down to a level are open, all others shut; 0 shuts all. */
  S.gantt.fold = function (level) {
    state.opened = new Set(data.groups.map((_, place) => place).filter((place) => depthOf(place) < level));
    draw();
  };
  S.gantt.unfold = function () {
    const deepest = state.opened.size ? Math.max(...[...state.opened].map(depthOf)) + 1 : 0;
    S.gantt.fold(Math.min(deepest + 1, levels));
  };
  S.gantt.toggle = function (place) {
    if (!state.opened.delete(place)) state.opened.add(place);
    draw();
  };

  /** Opens the groups that a job has hosts in, as long as not too many rows come of it, and shows the first. */
  S.gantt.reveal = function (job) {
    const number = S.jobNumber.get(job);
    const hosts = new Set();
    for (const view of data.views) for (const bar of view.bars) if (bar[0] === number) hosts.add(bar[2]);
    for (const bar of data.running) if (bar[0] === number) hosts.add(bar[2]);
    if (!hosts.size) return;
    if (data.groups.length && !state.touched) {
      const open = new Set();
      data.groups.forEach((group, place) => { if (group[3].some((host) => hosts.has(host))) open.add(place); });
      const whole = data.hosts.length + data.groups.length;
      if (whole <= FEW_ROWS) data.groups.forEach((_, place) => open.add(place));
      const count = [...open].reduce((sum, place) => sum + data.groups[place][4].length + 1, 0);
      state.opened = count <= 120 ? open : new Set([...open].filter((place) => depthOf(place) === 0 && levels > 1));
      draw();
    }
    const row = state.rows.find((item) => hosts.has(item.host));
    if (!row) return;
    if (row.top < holder.scrollTop || row.top + row.height > holder.scrollTop + holder.clientHeight - AXIS) {
      holder.scrollTop = Math.max(0, row.top - 2 * 22);
    }
  };

  S.gantt.zoom = function (factor, shift, middle) {
    const width = state.range[1] - state.range[0];
    const wide = Math.min(Math.max(width * factor, 30), bounds[1] - bounds[0]);
    const centre = middle === undefined ? (state.range[0] + state.range[1]) / 2 + (shift || 0) * width : middle;
    const share = middle === undefined ? 0.5 : (middle - state.range[0]) / width;
    const begin = Math.min(Math.max(centre - wide * share, bounds[0]), bounds[1] - wide);
    state.range = [begin, begin + wide];
    drawRows();
  };
  S.gantt.whole = function () { state.range = [...whole]; drawRows(); };

  const timeAt = (event) => {
    const area = parts.axis.getBoundingClientRect();
    return state.range[0] + (event.clientX - area.left) / area.width * (state.range[1] - state.range[0]);
  };
  holder.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    S.gantt.zoom(event.deltaY > 0 ? 1.25 : 0.8, 0, timeAt(event));
  }, { passive: false });

  let drag = null;
  holder.addEventListener("pointerdown", (event) => { if (event.button === 0 && event.target.closest(".trk")) drag = { x: event.clientX, range: [...state.range], moved: false }; });
  addEventListener("pointermove", (event) => {
    if (!drag || state.range[1] - state.range[0] >= bounds[1] - bounds[0]) return;
    const moved = event.clientX - drag.x;
    if (Math.abs(moved) < 5 && !drag.moved) return;
    drag.moved = true;
    const width = drag.range[1] - drag.range[0];
    const begin = Math.min(Math.max(drag.range[0] - moved / parts.axis.clientWidth * width, bounds[0]), bounds[1] - width);
    state.range = [begin, begin + width];
    drawRows();
  });
  addEventListener("pointerup", () => { if (drag && drag.moved) setTimeout(() => { drag = null; }); else drag = null; });

  /** The bar below the pointer: the one drawn last there. */
  function barAt(row, event, track) {
    const area = track.getBoundingClientRect();
    const time = timeAt(event);
    const lane = Math.floor((event.clientY - area.top - 1) / ((row.height - 3) / lanes[row.host]));
    const found = (S.barsOf(state.view).get(row.host) || []).filter((bar) => bar[5] <= time && (bar[6] === null || time < bar[6]) && bar[3] <= lane && lane < bar[3] + bar[4]);
    return found.length ? found[found.length - 1] : null;
  }
  holder.addEventListener("click", (event) => {
    if (drag && drag.moved) return;
    const element = event.target.closest(".row");
    if (!element) return;
    const row = state.rows[Number(element.dataset.row)];
    state.touched = state.touched || row.host === undefined;
    if (row.host === undefined) { S.gantt.toggle(row.group); return; }
    const track = event.target.closest(".trk");
    const bar = track && barAt(row, event, track);
    if (bar) S.choose(data.jobs[bar[0]].id);
  });

  // --- keys -------------------------------------------------------------------------------------

  function alongRow(step) {
    const row = state.rows[state.cursor];
    if (!row || row.host === undefined) return;
    const jobs = [...new Set((S.barsOf(state.view).get(row.host) || []).slice().sort((a, b) => a[5] - b[5] || a[3] - b[3]).map((bar) => data.jobs[bar[0]].id))];
    if (!jobs.length) return;
    const from = jobs.indexOf(S.chosen);
    S.choose(jobs[from < 0 ? (step > 0 ? 0 : jobs.length - 1) : Math.min(Math.max(from + step, 0), jobs.length - 1)]);
  }

  function moveTo(number) {
    state.cursor = Math.min(Math.max(number, 0), state.rows.length - 1);
    const row = state.rows[state.cursor];
    if (!row) return;
    if (row.top < holder.scrollTop) holder.scrollTop = row.top;
    else if (row.top + row.height > holder.scrollTop + holder.clientHeight - AXIS) holder.scrollTop = row.top + row.height - holder.clientHeight + AXIS;
    drawRows();
    if (row.host !== undefined) {
      const jobs = new Map();
      for (const bar of S.barsOf(state.view).get(row.host) || []) if (!jobs.has(bar[0])) jobs.set(bar[0], bar);
      const named = [...jobs].slice(0, 6).map(([job, bar]) => `${data.jobs[job].id} from ${S.clock(bar[5])}`).join(", ");
      S.say(`${nameOf(row)}, ${S.count(data.hosts[row.host][1], "slot")}, ${S.count(jobs.size, "job")}${named ? `: ${named}` : ""}`);
    } else {
      S.say(`${data.groups[row.group][1]} ${nameOf(row)}, ${S.count(data.groups[row.group][3].length, "host")}, ${state.opened.has(row.group) ? "unfolded" : "folded"}`);
    }
  }

  const keys = {
    ArrowDown: () => moveTo(state.cursor + 1), ArrowUp: () => moveTo(state.cursor - 1),
    PageDown: () => moveTo(state.cursor + 10), PageUp: () => moveTo(state.cursor - 10),
    ArrowRight: () => alongRow(1), ArrowLeft: () => alongRow(-1),
    Enter: () => {
      const row = state.rows[state.cursor];
      if (!row || row.host !== undefined) return;
      state.touched = true;
      S.gantt.toggle(row.group);
      moveTo(state.cursor);
    },
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
  // Elements stay: a click between whose two halves they were replaced would be none.
  const mark = () => {
    for (const row of parts.rows.children) row.classList.toggle("at", Number(row.dataset.row) === state.cursor && document.activeElement === holder);
  };
  holder.addEventListener("focus", mark);
  holder.addEventListener("blur", mark);
  S.onChoice((job) => { draw(); if (job !== null) S.gantt.reveal(job); });
  draw();
})(Slotwise);
