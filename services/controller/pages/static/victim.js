// Drawing with a pointer, and leading the reader to what a release told.
const paper = document.getElementById("paper");

if (paper) {
  const form = paper.closest("form");
  const release = form.querySelector("button:not([type])");
  const pen = paper.getContext("2d");
  let last = null;

  function clear() {
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, paper.width, paper.height);
    form.elements.drawing.value = "";
    release.disabled = true;
  }

  function place(event) {
    const box = paper.getBoundingClientRect();
    return [((event.clientX - box.left) * paper.width) / box.width, ((event.clientY - box.top) * paper.height) / box.height];
  }

  function draw(event) {
    if (last === null) return;
    for (const each of event.getCoalescedEvents?.() ?? [event]) {
      const next = place(each);
      pen.beginPath();
      pen.moveTo(...last);
      pen.lineTo(...next);
      pen.stroke();
      last = next;
    }
  }

  function end() {
    if (last === null) return;
    last = null;
    form.elements.drawing.value = paper.toDataURL("image/png").split(",")[1];
    release.disabled = false;
  }

  pen.lineWidth = 22;
  pen.lineCap = pen.lineJoin = "round";
  pen.strokeStyle = "#000";
  clear();
  form.hidden = false;
  paper.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    paper.setPointerCapture(event.pointerId);
    last = place(event);
    draw(event);
  });
  paper.addEventListener("pointermove", draw);
  for (const name of ["pointerup", "pointercancel"]) paper.addEventListener(name, end);
  document.getElementById("clear").addEventListener("click", clear);
}

for (const button of document.querySelectorAll(".sample")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll(".sample")) other.setAttribute("aria-pressed", String(other === button));
  });
}

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "told") return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const title = document.getElementById("told-title");
  title.focus({ preventScroll: true });
  title.closest("section").scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
});
