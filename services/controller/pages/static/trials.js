// Says what a trial is that somebody points at, with the mouse or with the arrow keys.
const grid = document.querySelector(".trials .grid");
const said = document.querySelector(".trials [role=status]");
const cells = [...grid.querySelectorAll("[data-cell]")];
let at = -1;

function point(cell) {
  cells[at]?.classList.remove("pointed");
  at = cells.indexOf(cell);
  cell.classList.add("pointed");
  said.textContent = `${cell.parentElement.dataset.where}: ${cell.dataset.title}`;
}

grid.addEventListener("pointerover", (event) => {
  const cell = event.target.closest("[data-cell]");
  if (cell) point(cell);
});
grid.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const to = event.key === "Home" ? 0 : event.key === "End" ? cells.length - 1 : step && Math.min(Math.max(at + step, 0), cells.length - 1);
  if (to === undefined || !cells.length) return;
  event.preventDefault();
  point(cells[to]);
});
