/* The slim table: choosing a job, sorting by a column, finding one. */
"use strict";
(function (S) {
  const table = document.getElementById("picks");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];

  table.addEventListener("change", (event) => { if (event.target.name === "job") S.choose(event.target.value); });
  S.onChoice((job) => {
    for (const row of rows) {
      const input = row.querySelector("input");
      const is = row.dataset.job === job;
      if (input.checked !== is) input.checked = is;
      if (is && document.activeElement !== input) keepInView(row);
    }
  });

  function keepInView(row) {
    const box = table.parentElement;
    const top = row.offsetTop - 28;
    if (top < box.scrollTop || row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top);
  }

  const heads = [...table.tHead.rows[0].cells];
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const order = cell.dataset.order;
    return order === undefined || order === "" || Number.isNaN(Number(order)) ? order === undefined ? cell.textContent : order : Number(order);
  };
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const each of heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    const sorted = rows.slice().sort((a, b) => way * compare(valueOf(a, column), valueOf(b, column)));
    table.tBodies[0].append(...sorted);
  }));

  const find = document.getElementById("find");
  if (find) find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    for (const row of rows) row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
  });
})(Slotwise);
