"use strict";
// The page is complete without this: it only sorts tables by a click on a heading and filters the long one.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.order ?? row.cells[column].textContent.trim();
      const order = new Intl.Collator("en", { numeric: true }).compare;
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        return x !== "" && y !== "" && !isNaN(x) && !isNaN(y) ? x - y : order(x, y);
      };
      const rows = [...body.rows].sort(compare);
      body.append(...(falling ? rows.reverse() : rows));
    });
  });
}
for (const input of document.querySelectorAll("input[data-filter]")) {
  const frame = input.closest(".filter");
  const rows = [...document.getElementById(input.dataset.filter).tBodies[0].rows];
  frame.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const shown = rows.filter((row) => !row.hidden).length;
    frame.querySelector("output").textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
}
