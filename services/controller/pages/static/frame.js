// What all pages share: messages about requests that failed, and the way to the pages of a login.
export const root = document.body.dataset.root ?? "";
const notice = document.getElementById("notice");

export function tell(text) {
  notice.textContent = text;
  if (text) notice.scrollIntoView({ block: "nearest" });
}

// A hint that names a request is for programs.
const REQUEST = /\b(GET|POST|PUT|PATCH|DELETE) \//;

function words({ detail, title, hint }) {
  return [detail ?? title, REQUEST.test(hint) ? "" : hint].filter(Boolean).join(": ");
}

export async function problemOf(response) {
  try {
    return words(await response.json());
  } catch {
    return `The range answered ${response.status}.`;
  }
}

document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  try {
    tell(words(JSON.parse(xhr.responseText)));
  } catch {
    tell(`The range answered ${xhr.status}.`);
  }
});
document.addEventListener("htmx:sendError", () => tell("The range does not answer. This page goes on once it does."));
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) tell("");
});

// The pages of a login lie below an address that this origin alone knows: neither a server at another port of this
// host nor its pages can read this storage. The plain address of a page leads to the same page of the login.
const KEPT = "login";
if (root) {
  localStorage.setItem(KEPT, root);
} else if (location.hash === "#over") {
  localStorage.removeItem(KEPT);
  history.replaceState(null, "", location.pathname + location.search);
  tell("You are not logged in any more.");
} else if (localStorage.getItem(KEPT)) {
  const { pathname, search, hash } = location;
  const wanted = pathname === "/login" ? (new URLSearchParams(search).get("after") ?? "/") : pathname + search;
  location.replace(localStorage.getItem(KEPT) + wanted + hash);
}
