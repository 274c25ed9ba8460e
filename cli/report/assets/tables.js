/* Tables that sort and filter, and the tables behind the pictures. */
"use strict";
(function (S) {
  const data = S.data;
  const E = S.element;
  const words = { search: "Filter all columns:", lengthMenu: "_MENU_ rows", info: "_START_ to _END_ of _TOTAL_", infoEmpty: "nothing to show", infoFiltered: "(of _MAX_)", zeroRecords: "nothing matches", emptyTable: "nothing to show" };
  const common = { language: words, pageLength: 25, lengthMenu: [10, 25, 100, { label: "all", value: -1 }], autoWidth: false, order: [] };

  /** Sorting and filtering for a table that stands in the page; a filter above every column. */
  for (const table of document.querySelectorAll("table.sortable")) {
    const made = new DataTable(table, Object.assign({}, common, { orderCellsTop: true, titleRow: 0 }));
    const filters = E("tr", { class: "filters" });
    made.columns().every(function () {
      const title = this.header().textContent.trim();
      const input = E("input", { type: "search", "aria-label": `Filter ${title}`, placeholder: "filter" });
      input.addEventListener("input", () => this.search(input.value).draw());
      filters.append(E("td", {}, input));
    });
    table.tHead.append(filters);
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button.name");
      if (button) S.choose(button.dataset.job);
    });
    S.onChoice((job) => {
      for (const row of table.tBodies[0].rows) row.classList.toggle("chosen", job !== null && row.dataset.job === job);
    });
    made.on("draw", () => { for (const row of table.tBodies[0].rows) row.classList.toggle("chosen", S.chosen !== null && row.dataset.job === S.chosen); });
  }

  // On paper: every row, light colours, and then as before.
  let before = null;
  const each = (act) => document.querySelectorAll("table.sortable").forEach((table) => act(new DataTable.Api(table), table));
  addEventListener("beforeprint", () => {
    if (before) return;
    before = { theme: document.documentElement.dataset.theme, lengths: new Map() };
    each((api, table) => { before.lengths.set(table, api.page.len()); api.page.len(-1).draw(); });
    if (before.theme === "dark") S.setTheme("light");
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    each((api, table) => api.page.len(before.lengths.get(table)).draw());
    if (before.theme === "dark") S.setTheme("dark");
    before = null;
  });

  const clock = (time, type, missing) => type === "display" || type === "filter" ? S.clock(time, missing) : time === null ? Infinity : time;
  const text = DataTable.render.text();
  const times = (missing) => ({ display: (time) => S.clock(time, missing), sort: (time) => clock(time, "sort"), filter: (time) => S.clock(time, missing) });
  const column = (title, more) => Object.assign({ title, render: text }, more);
  const timed = (title, missing) => column(title, { render: (value, type) => times(missing)[type === "sort" || type === "type" ? "sort" : "display"](value), className: "time" });

  /** A table that is made when it is first opened, again when `again` says so. */
  function behind(id, columns, rows) {
    const details = document.getElementById(id);
    if (!details) return () => {};
    let table = null;
    const fill = () => {
      if (!details.open) return;
      if (table) table.clear().rows.add(rows()).draw();
      else table = new DataTable(details.querySelector("table"), Object.assign({}, common, { columns, data: rows(), deferRender: true }));
    };
    details.addEventListener("toggle", fill);
    return fill;
  }

  /** One row a job and kind of the view on show: what the bars of the Gantt say. */
  function jobsOfGantt() {
    const found = new Map();
    const view = S.gantt.state.view;
    for (const bar of [...data.running, ...view.bars]) {
      const job = data.jobs[bar[0]];
      const kind = bar[1] === 1 ? "reserved" : job.state === "running" ? "running" : "planned";
      const key = `${bar[0]} ${bar[1]} ${bar[5]}`;
      if (!found.has(key)) found.set(key, [job.id, kind, bar[5], bar[6], 0, new Map()]);
      const row = found.get(key);
      const host = data.hosts[bar[2]][0];
      row[4] += bar[4];
      row[5].set(host, (row[5].get(host) || 0) + bar[4]);
    }
    return [...found.values()].map(([job, kind, start, end, slots, hosts]) => [job, kind, start, end, slots, hosts.size, S.where(Object.fromEntries(hosts))]);
  }
  S.refillGantt = behind("behind-gantt", [
    column("Job"), column("Kind"), timed("Start"), timed("End", "unknown"), column("Slots", { className: "number" }), column("Hosts", { className: "number" }), column("Where"),
  ], jobsOfGantt);

  function freeRows() {
    return data.views.filter((view) => view.free).flatMap((view) => view.free.times.map((time, n) =>
      [view.name, time, view.free.slots[n], view.free.memory ? Math.round(view.free.memory[n] / 102.4) / 10 : null]));
  }
  behind("behind-free", [column("Method"), timed("From"), column("Free slots", { className: "number" }), column("Free memory, GB", { className: "number" })], freeRows);
  behind("behind-use", [timed("From"), column("Slots in use", { className: "number" }), column("Waiting jobs", { className: "number" }), column("Slots they ask for", { className: "number" })],
    () => data.use.times.map((time, n) => [time, data.use.slots[n], data.use.waiting[n], data.use.asked[n]]));
  behind("behind-shares", [column("Account"), timed("At"), column("Share", { className: "number" }), column("Target", { className: "number" }), column("Priority", { className: "number" })],
    () => data.accounts.flatMap((curve) => curve.times.map((time, n) => [curve.account, time, curve.shares[n], curve.target, curve.priorities[n]])));
})(Slotwise);
