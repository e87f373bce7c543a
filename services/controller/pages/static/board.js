// Draws the charts of a leak board as they come into view, sorts galleries, and exchanges what has changed
// while the run goes on.
import { problemOf, root, tell } from "./frame.js";

const board = () => document.getElementById("board");
const SOON = 300; // pixels below the window in which charts are drawn already
const REST = 1500; // milliseconds between two updates, at least

let runtime;
function vega() {
  runtime ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = board().dataset.runtime;
    script.onload = () => resolve(window.vegaEmbed);
    script.onerror = () => reject(new Error("the chart library did not come"));
    document.head.append(script);
  });
  return runtime;
}

function themed(specification) {
  const theme = JSON.parse(board().dataset.theme);
  const text = JSON.stringify(specification).replace(/"(#0000[0-9a-f]{2})"/g, (all, hue) => JSON.stringify(theme[hue] ?? hue));
  return JSON.parse(text);
}

const OPTIONS = {
  mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false,
  tooltip: { theme: "board", disableDefaultStyle: true },
};

async function draw(box) {
  const address = box.dataset.chart;
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(await problemOf(answer));
    const picture = await answer.json();
    const made = document.createElement("div");
    if (picture.kind === "svg") {
      made.innerHTML = picture.svg;
    } else {
      const embed = await vega();
      await embed(made, { ...themed(picture.specification), description: picture.label }, OPTIONS);
      const svg = made.querySelector("svg");
      for (const name of ["width", "height"]) svg.removeAttribute(name);
      svg.style.cssText = "";
    }
    box.finish?.();
    box.replaceChildren(...made.childNodes);
    box.dataset.drawn = "";
  } catch (error) {
    const told = document.createElement("p");
    told.className = "failed";
    told.textContent = `This chart cannot be drawn: ${error.message}. Its table and its CSV file are below.`;
    box.replaceChildren(told);
  }
}

// One after the other, so that the page answers between two of them.
const waiting = [];
let drawing = false;
async function next() {
  if (drawing) return;
  drawing = true;
  while (waiting.length) {
    const box = waiting.shift();
    if (box.isConnected) await draw(box);
    await new Promise((resolve) => setTimeout(resolve));
  }
  drawing = false;
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    waiting.push(target);
  }
  next();
}, { rootMargin: `${SOON}px` });

function watch(within) {
  for (const box of within.querySelectorAll(".drawing:not([data-drawn])")) seen.observe(box);
  for (const bar of within.querySelectorAll(".sorting[hidden]")) bar.hidden = false;
}

// Galleries: the users of a strip in the order of a figure, and with it those of all strips of the same users.
function sort(figure) {
  const choice = figure.querySelector("[data-sort]");
  const [strip, name] = choice.value.split(" ");
  const strips = [...figure.querySelectorAll("[data-strip]")];
  const by = strips.find((each) => each.dataset.strip === strip);
  const backwards = figure.querySelector("[data-reverse]").checked;
  for (const each of strips) {
    const users = [...each.children];
    let order = (user) => Number(user.dataset.user);
    if (by && each.dataset.users === by.dataset.users) {
      const higher = choice.selectedOptions[0].dataset.higher === "1";
      const found = new Map([...by.children].map((user) => [user.dataset.user, Number(user.getAttribute(`data-by-${name}`))]));
      order = (user) => found.get(user.dataset.user) * (higher ? -1 : 1) * (backwards ? -1 : 1);
    }
    each.append(...users.sort((a, b) => order(a) - order(b)));
    for (const user of users) {
      const told = user.querySelector("small");
      if (told) told.textContent = Number(user.getAttribute(`data-by-${name || told.dataset.first}`)).toPrecision(3);
    }
  }
  figure.querySelector("[data-measure]").textContent = by ? choice.selectedOptions[0].dataset.title : figure.querySelector("[data-measure]").dataset.measure;
}
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-sort], [data-reverse]")) sort(event.target.closest("figure"));
});

// What changed comes as the same parts again. Charts that stayed as they were are kept with all that is open in
// them; of others the old drawing stands until the new one is there.
function exchange(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("board");
  const old = board(), top = window.scrollY, focused = document.activeElement?.id;
  for (const figure of fresh.querySelectorAll("figure[id]")) {
    const before = document.getElementById(figure.id);
    if (!before || !old.contains(before)) continue;
    if (before.dataset.digest === figure.dataset.digest && same(before, figure)) {
      figure.replaceWith(before);
      continue;
    }
    const [from, to] = [before, figure].map((each) => each.querySelector(".drawing"));
    if (from?.hasAttribute("data-drawn") && to) {
      to.dataset.again = "";
      to.replaceChildren(...from.childNodes);
    }
  }
  for (const details of fresh.querySelectorAll("details[id]")) {
    details.open = document.getElementById(details.id)?.open ?? details.open;
  }
  old.replaceWith(fresh);
  window.htmx?.process(fresh);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  window.scrollTo({ top, behavior: "instant" });
  watch(fresh);
}
const same = (a, b) => a.querySelector(".drawing")?.dataset.chart === b.querySelector(".drawing")?.dataset.chart;

const query = () => window.location.search;
let asked = 0, due = null, stream = null;
async function update(whole = false) {
  due = null;
  asked = performance.now();
  const { run, seen: stamp } = board().dataset;
  const parameters = new URLSearchParams(query());
  if (!whole) parameters.set("seen", stamp);
  try {
    const answer = await fetch(`${root}/runs/${run}/board/parts?${parameters}`);
    if (answer.status === 204) return;
    if (!answer.ok) return tell(await problemOf(answer));
    exchange(await answer.text());
    tell("");
    const told = [...board().querySelectorAll(".facts span")].map((each) => each.textContent.trim());
    document.getElementById("board-news").textContent = `Up to date: ${told.join(", ")}.`;
  } catch {
    tell("The range does not answer. This page goes on once it does.");
    later();
  } finally {
    asked = performance.now();
  }
}
function later() {
  due ??= setTimeout(update, Math.max(100, REST - (performance.now() - asked)));
}
function follow() {
  const { run, events, state } = board().dataset;
  if (!["queued", "running"].includes(state)) return;
  stream = new EventSource(`${root}/v1/runs/${run}/events?after=${events}`);
  for (const kind of ["run.running", "job.done", "job.failed", "trial.done", "trial.refused", "trial.failed"]) {
    stream.addEventListener(kind, later);
  }
  stream.addEventListener("run.finished", () => {
    stream.close();
    settle();
  });
}
// The contents of a run that goes on may be some seconds old: ask until they tell its end.
async function settle() {
  await update();
  if (["queued", "running"].includes(board().dataset.state)) setTimeout(settle, REST);
}

const form = document.getElementById("narrowing");
form?.addEventListener("change", () => {
  const parameters = new URLSearchParams(new FormData(form)).toString();
  history.replaceState(null, "", parameters ? `?${parameters}` : window.location.pathname);
  update(true);
});
form?.querySelector("button").closest("p").remove();

// Browsers differ in whether a link opens what is folded around its target.
const reveal = () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
window.addEventListener("hashchange", reveal);
reveal();

watch(board());
follow();
if (board().querySelector(".drawing")) (window.requestIdleCallback ?? setTimeout)(() => vega().catch(() => {}));
document.documentElement.dataset.board = "ready";
