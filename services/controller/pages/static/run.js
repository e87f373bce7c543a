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

// What the run found so far, and what can be done with it. While it goes on, only the sentences are exchanged,
// since somebody may have opened what is beside them; at the end, how it ended stands above the picture.
const PAUSE = 4000;
let reads = 0, waiting;
async function found(...parts) {
  waiting = undefined;
  const number = ++reads;
  const answer = await fetch(`${location.pathname}/found`).catch(() => null);  // the controller may begin anew
  if (!answer?.ok) return;
  const written = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== reads) return;
  for (const part of parts) document.querySelector(part).replaceWith(written.querySelector(part));
}

function later() {
  waiting ??= setTimeout(found, PAUSE, "#found .findings");
}

index();
found("#found .findings");
const source = new EventSource(`${live.dataset.live}?after=${live.dataset.after}`);
source.addEventListener("change", (event) => {
  const change = JSON.parse(event.data);
  take(change);
  if (change.text?.["run.trials"]) later();
});
source.addEventListener("end", async () => {
  source.close();
  clearTimeout(waiting);
  await found("#actions", "#found");
  document.querySelector(".overall").remove();
  live.before(document.querySelector("#found"));
});
