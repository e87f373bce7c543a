// The editor of scenarios: line numbers, tinting, mistakes at their lines, and completion. What can be written and
// what is wrong is asked of the range; without this script the form does the same with its buttons.
import { root } from "./frame.js";

const text = document.getElementById("text");
const form = text.form;
const sheet = form.querySelector(".sheet");
const gutter = form.querySelector(".gutter");
const tint = form.querySelector(".tint");
const checked = document.getElementById("checked");
const list = document.getElementById("proposals");
const spoken = document.getElementById("spoken");

const later = (wait, work) => {
  let timer;
  const soon = (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
  soon.cancel = () => clearTimeout(timer);
  return soon;
};
// Lines and columns count characters, as the range does; the browser counts UTF-16 units.
const characters = (string) => [...string].length;
const units = (string, column) => [...string].slice(0, column - 1).join("").length;
const lineStart = (line) => text.value.split("\n").slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
function place(at = text.selectionStart) {
  const before = text.value.slice(0, at).split("\n");
  return { line: before.length, column: characters(before.at(-1)) + 1 };
}

// Text is changed as if it were typed, so that it can be undone.
function replace(from, to, insert) {
  text.setSelectionRange(from, to);
  if (!document.execCommand(insert ? "insertText" : "delete", false, insert)) text.setRangeText(insert, from, to, "end");
}
function goTo(line, column = 1) {
  const lines = text.value.split("\n");
  const at = lineStart(line) + units(lines[line - 1] ?? "", column);
  text.focus();
  text.setSelectionRange(at, at);
  text.scrollTop = Math.max(0, (line - 6) * height());
}

// --- how it looks
const style = getComputedStyle(text);
const height = () => parseFloat(style.lineHeight);
const measure = document.createElement("canvas").getContext("2d");
const width = () => { measure.font = `${style.fontSize} ${style.fontFamily}`; return measure.measureText("x".repeat(64)).width / 64; };
const TOKENS = /(#.*$)|((?:^|[{[,]|\s)\s*(?:- )?)([\w.<-]+)(?=\s*:(?:\s|$))|([&*][\w-]+)|(?<![\w.-])(-?\d[\d.e+-]*)(?![\w])/g;
function escaped(string) {
  return string.replace(/[&<>]/g, (each) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[each]);
}
function tinted(line) {
  let made = "", last = 0;
  for (const found of line.matchAll(TOKENS)) {
    const [whole, comment, before, key, anchor, number] = found;
    if (comment && found.index > 0 && !/\s/.test(line[found.index - 1])) continue;
    made += escaped(line.slice(last, found.index));
    made += comment ? `<i class="c">${escaped(comment)}</i>`
      : key ? `${escaped(before)}<i class="k">${escaped(key)}</i>`
      : anchor ? `<i class="a">${escaped(anchor)}</i>` : `<i class="n">${escaped(number)}</i>`;
    last = found.index + whole.length;
    if (comment) break;
  }
  return made + escaped(line.slice(last));
}
const wrong = () => new Map([...checked.querySelectorAll("[data-line]")].map((each) => [Number(each.dataset.line), each]));
function draw() {
  const lines = text.value.split("\n"), mistakes = wrong();
  tint.innerHTML = lines.map((line, at) => (mistakes.has(at + 1) ? `<span class="wrong">${tinted(line)}</span>` : tinted(line))).join("\n") + "\n";
  gutter.replaceChildren(...lines.map((_, at) => {
    const number = document.createElement("span");
    number.textContent = at + 1;
    const mistake = mistakes.get(at + 1);
    if (mistake) { number.className = "wrong"; number.title = mistake.textContent.replace(/\s+/g, " ").trim(); }
    return number;
  }));
  scrolled();
}
function scrolled() {
  // A caret that comes back to the margin leaves the text scrolled by the padding.
  if (text.scrollLeft && text.scrollLeft <= parseFloat(style.paddingLeft)) text.scrollLeft = 0;
  tint.scrollTop = gutter.scrollTop = text.scrollTop;
  tint.scrollLeft = text.scrollLeft;
}

// --- checking
let asking;
async function check() {
  asking?.abort();
  asking = new AbortController();
  try {
    const answer = await fetch(`${root}/scenarios/check`, {
      method: "POST", body: new FormData(form), signal: asking.signal, headers: { "HX-Request": "true" },
    });
    if (!answer.ok) return;
    checked.innerHTML = await answer.text();
    spoken.textContent = checked.querySelector("[data-said]")?.dataset.said ?? "";
    draw();
  } catch (error) {
    if (error.name !== "AbortError") spoken.textContent = "The range does not answer.";
  }
}
const checkSoon = later(450, check);

// --- completion
let offered = null, chosen = -1, wanted;
function close() {
  wanted?.abort();
  offered = null;
  list.hidden = true;
  text.removeAttribute("aria-activedescendant");
}
async function propose(asked = false) {
  proposeAt.cancel(); // a list that comes later would lose what is chosen in this one
  wanted?.abort();
  wanted = new AbortController();
  const at = text.selectionStart;
  if (at !== text.selectionEnd) return close();
  try {
    const answer = await fetch(`${root}/v1/scenario/complete`, {
      method: "POST", signal: wanted.signal, headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text: text.value, ...place(at) }),
    });
    if (!answer.ok || text.selectionStart !== at) return close();
    const found = await answer.json();
    const line = text.value.split("\n")[found.line - 1];
    const word = line.slice(units(line, found.start), units(line, found.end));
    const only = found.proposals.length === 1 && found.proposals[0].insert.trim() === word;
    if (!found.proposals.length || (only && !asked)) {
      close();
      if (asked) spoken.textContent = "Nothing is known that could stand here.";
      return;
    }
    offer(found, line);
  } catch (error) {
    if (error.name !== "AbortError") close();
  }
}
const proposeAt = later(160, (at) => { if (text.selectionStart === at) propose(); });
const proposeSoon = () => proposeAt(text.selectionStart);
function offer(found, line) {
  offered = found;
  list.replaceChildren(...found.proposals.map((each, number) => {
    const item = document.createElement("li"), name = document.createElement("b"), note = document.createElement("small");
    name.textContent = each.label;
    note.textContent = each.note || each.kind;
    item.id = `proposal-${number}`;
    item.setAttribute("role", "option");
    item.append(name, note);
    return item;
  }));
  list.hidden = false;
  const pad = parseFloat(style.paddingLeft), above = parseFloat(style.paddingTop);
  const left = pad + (found.start - 1) * width() - text.scrollLeft;
  list.style.left = `${Math.max(6, Math.min(left, text.clientWidth - list.offsetWidth - 6))}px`;
  const top = above + found.line * height() - text.scrollTop;
  const over = top - height() - list.offsetHeight;
  list.style.top = `${top + list.offsetHeight > text.clientHeight && over > 0 ? over : Math.min(top, Math.max(0, text.clientHeight - list.offsetHeight))}px`;
  choose(0);
  spoken.textContent = `${found.proposals.length} proposals`;
}
function choose(number) {
  chosen = (number + list.children.length) % list.children.length;
  for (const [at, item] of [...list.children].entries()) item.setAttribute("aria-selected", String(at === chosen));
  text.setAttribute("aria-activedescendant", `proposal-${chosen}`);
  list.children[chosen].scrollIntoView({ block: "nearest" });
}
function accept(number = chosen) {
  const { line, start, end, proposals } = offered, row = text.value.split("\n")[line - 1], first = lineStart(line);
  const { insert, kind } = proposals[number];
  close();
  replace(first + units(row, start), first + units(row, end), insert);
  text.focus();
  if (kind === "key") proposeSoon();
}

// --- keys
let leaves = false;
function keyed(event) {
  if (offered) {
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 }[event.key];
    if (move) { event.preventDefault(); return choose(Math.abs(move) === 1 ? chosen + move : Math.max(0, Math.min(list.children.length - 1, chosen + move))); }
    if (event.key === "Enter" || event.key === "Tab") { event.preventDefault(); return accept(); }
    if (event.key === "Escape") { event.preventDefault(); return close(); }
  }
  if (event.key === " " && event.ctrlKey) { event.preventDefault(); return propose(true); }
  if (event.key === "Escape") { leaves = true; spoken.textContent = "Tab leaves the text."; return; }
  if (event.key === "Tab" && !leaves) { event.preventDefault(); return indent(event.shiftKey); }
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); return newLine(); }
  if (event.key !== "Shift") leaves = false;
}
function indent(back) {
  const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
  if (!back && text.selectionStart === text.selectionEnd) return replace(text.selectionStart, text.selectionEnd, "  ");
  const block = text.value.slice(from, text.selectionEnd);
  const moved = block.split("\n").map((line) => (back ? line.replace(/^ {1,2}/, "") : line && `  ${line}`)).join("\n");
  if (moved !== block) {
    const to = text.selectionEnd;
    replace(from, to, moved);
    if (block.includes("\n")) text.setSelectionRange(from, from + moved.length);
  }
}
function newLine() {
  const line = text.value.slice(text.value.lastIndexOf("\n", text.selectionStart - 1) + 1, text.selectionStart);
  const deeper = /:\s*$/.test(line) ? "  " : "";
  replace(text.selectionStart, text.selectionEnd, `\n${line.match(/^ */)[0]}${deeper}`);
}

text.setAttribute("aria-autocomplete", "list");
text.setAttribute("aria-controls", "proposals");
text.setAttribute("aria-haspopup", "listbox");
sheet.classList.add("tinted");
for (const each of form.querySelectorAll(".scripted")) each.hidden = false;
text.addEventListener("keydown", keyed);
text.addEventListener("scroll", () => { scrolled(); if (offered) close(); });
text.addEventListener("blur", () => setTimeout(() => { if (!list.matches(":hover")) close(); }, 100));
text.addEventListener("click", close);
text.addEventListener("input", (event) => {
  draw();
  checkSoon();
  if (event.inputType?.startsWith("insert") && /[\w{[,:*\- ]$/.test(text.value.slice(0, text.selectionStart)) && !/^\s*$/.test(text.value.slice(lineStart(place().line), text.selectionStart))) proposeSoon();
  else close();
});
list.addEventListener("mousedown", (event) => event.preventDefault());
list.addEventListener("click", (event) => {
  const item = event.target.closest("li");
  if (item) accept([...list.children].indexOf(item));
});
gutter.addEventListener("click", (event) => {
  const number = Number(event.target.textContent);
  if (number) goTo(number, Number(wrong().get(number)?.dataset.column ?? 1));
});
checked.addEventListener("click", (event) => {
  const mistake = event.target.closest("a") && event.target.closest("[data-line]");
  if (!mistake) return;
  event.preventDefault();
  goTo(Number(mistake.dataset.line), Number(mistake.dataset.column));
});
document.getElementById("check").addEventListener("click", (event) => { event.preventDefault(); check(); });
new ResizeObserver(scrolled).observe(text);
draw();
if (Number(form.dataset.at)) goTo(Number(form.dataset.at));
