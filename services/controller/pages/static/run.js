// Keeps the picture of a run as it is now. The server tells which values have changed, by the names of their
// places, and goes on where a broken connection left off.
const live = document.querySelector("[data-live]");
const places = { text: new Map(), state: new Map(), share: new Map() };
const cells = new Map([...live.querySelectorAll("[data-cell]")].map((cell) => [`cell.${cell.dataset.cell}`, cell]));

function index() {
  const attributes = { text: "data-text", state: "data-state-of", share: "data-share" };
  for (const [kind, attribute] of Object.entries(attributes)) {
    places[kind].clear();
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      const place = element.getAttribute(attribute);
      places[kind].set(place, [...(places[kind].get(place) ?? []), element]);
    }
  }
}

function each(kind, values, change) {
  for (const [place, value] of Object.entries(values ?? {})) {
    const cell = kind === "text" ? undefined : cells.get(place);
    for (const element of cell ? [cell] : (places[kind].get(place) ?? [])) change(element, value);
  }
}

function take({ text, state, share, title, html }) {
  for (const [name, content] of Object.entries(html ?? {})) {
    const part = live.querySelector(`[data-html="${name}"]`);
    if (part) part.innerHTML = content;
  }
  if (html) index();
  each("text", text, (element, value) => { if (element.textContent !== value) element.textContent = value; });
  each("state", state, (element, value) => element.setAttribute("data-state", value));
  each("share", share, (element, value) => element.style.setProperty("--share", value));
  for (const [place, value] of Object.entries(title ?? {})) cells.get(place)?.setAttribute("data-title", value);
  if (state?.run) {
    for (const chip of document.querySelectorAll("[data-chip]")) chip.className = `chip ${state.run}`;
  }
}

// What can be done with the run, and what it found, is another thing once it is over.
async function found() {
  const page = await (await fetch(location.href)).text();
  const written = new DOMParser().parseFromString(page, "text/html").getElementById("found");
  document.getElementById("found").replaceChildren(...written.childNodes);
}

index();
const source = new EventSource(`${live.dataset.live}?after=${live.dataset.after}`);
source.addEventListener("change", (event) => take(JSON.parse(event.data)));
source.addEventListener("end", () => {
  source.close();
  found();
});
