// What all pages share: messages about requests that failed, and times in the reader's own zone.
const notice = document.getElementById("notice");

export function tell(text) {
  notice.textContent = text;
  if (text) notice.scrollIntoView({ block: "nearest" });
}

export async function problemOf(response) {
  try {
    const problem = await response.json();
    return [problem.detail ?? problem.title, problem.hint].filter(Boolean).join(": ");
  } catch {
    return `The range answered ${response.status}.`;
  }
}

document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  try {
    const problem = JSON.parse(xhr.responseText);
    tell([problem.detail ?? problem.title, problem.hint].filter(Boolean).join(": "));
  } catch {
    tell(`The range answered ${xhr.status}.`);
  }
});
document.addEventListener("htmx:sendError", () => tell("The range does not answer. This page goes on once it does."));
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) tell("");
});

export const token = () => JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRF-Token"];
