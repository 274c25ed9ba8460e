/* Tables that sort and filter, and the table behind the picture. */
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
    const mark = () => { for (const row of table.tBodies[0].rows) row.classList.toggle("chosen", S.chosen !== null && row.dataset.job === S.chosen); };
    S.onChoice(mark);
    made.on("draw", mark);
  }

  // On paper: every row, and then as before.
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

  const text = DataTable.render.text();
  const column = (title, more) => Object.assign({ title, render: text }, more);
  const timed = (title, missing) => column(title, { render: (time, type) => type === "sort" || type === "type" ? time === null ? Infinity : time : S.clock(time, missing), className: "time" });

  /** One row a job and kind of the view on show: what the bars of the picture say. */
  function jobsOfGantt() {
    const found = new Map();
    for (const bar of [...data.running, ...S.gantt.state.view.bars]) {
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

  /** The table is made when it is first opened, and filled again for another view. */
  const details = document.getElementById("behind-gantt");
  let table = null;
  S.refillGantt = function () {
    if (!details || !details.open) return;
    if (table) { table.clear().rows.add(jobsOfGantt()).draw(); return; }
    const columns = [column("Job"), column("Kind"), timed("Start"), timed("End", "unknown"), column("Slots", { className: "number" }), column("Hosts", { className: "number" }), column("Where")];
    table = new DataTable(details.querySelector("table"), Object.assign({}, common, { columns, data: jobsOfGantt(), deferRender: true }));
  };
  if (details) details.addEventListener("toggle", S.refillGantt);
})(Slotwise);
