"use strict";
// The page is complete without this: it opens what a link leads to, sorts tables by a click on a heading,
// filters the long one, and unpacks the data of charts.
const reveal = () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
window.addEventListener("hashchange", reveal);
reveal();
for (const link of document.querySelectorAll("a[data-packed]")) {
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    const bytes = Uint8Array.from(atob(link.href.split(",")[1]), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const saved = document.createElement("a");
    saved.href = URL.createObjectURL(new Blob([await new Response(plain).blob()], { type: "text/csv" }));
    saved.download = link.download.replace(/\.gz$/, "");
    saved.click();
    setTimeout(() => URL.revokeObjectURL(saved.href), 1000);
  });
}
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
