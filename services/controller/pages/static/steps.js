// Shows one step at a time, by buttons and keys; without this script all stand one below the other.
const [back, notes, next] = ["back", "notes", "next"].map((id) => document.getElementById(id));
const place = document.getElementById("place");
const steps = () => [...document.querySelectorAll(".step")];
let at = Math.max(0, Number(location.hash.replace("#step-", "")) - 1 || 0);
let open = false;

function show() {
  const all = steps();
  at = Math.min(Math.max(at, 0), all.length - 1);
  all.forEach((step, number) => {
    step.hidden = number !== at;
    step.querySelector(".notes").open = open;
  });
  back.disabled = at === 0;
  next.disabled = at === all.length - 1;
  notes.setAttribute("aria-pressed", String(open));
}

function go(to) {
  at = to;
  show();
  place.textContent = steps()[at].innerText;
  history.replaceState(null, "", `#step-${at + 1}`);
}

function fold() {
  open = !open;
  show();
}

back.addEventListener("click", () => go(at - 1));
next.addEventListener("click", () => go(at + 1));
notes.addEventListener("click", fold);
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const to = { ArrowRight: at + 1, PageDown: at + 1, ArrowLeft: at - 1, PageUp: at - 1, Home: 0, End: steps().length - 1 }[event.key];
  if (to !== undefined) go(to);
  else if (event.key === "n" || event.key === "N") fold();
  else return;
  event.preventDefault();
});
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".step:not([hidden]) .notes")) open = event.target.open;
}, true);
document.addEventListener("htmx:afterSwap", show);
document.querySelector(".controls").hidden = false;
show();
