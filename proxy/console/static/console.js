// The script of every console page. Links and forms also work without it.
//   <time datetime>, data-time       shown in the browser's locale and time zone
//   data-key="j"                    this key clicks the element, or focuses a field; `?` lists the keys of the page
//   data-key-name="TEXT"            its name in that list, if it differs from the label
//   data-opens="ID"                 opens that dialog
//   data-fragment="URL"             loads this address into the element: at once, or when its <details> is opened;
//                                   repeats every data-refresh seconds, while the fragment has data-refresh;
//                                   data-loaded: the page came with its content
//   <a data-follow>                 in a fragment: opens this link, because the awaited event has happened
//   data-count="URL"                shows the number from this address ({"count": 3}), also in the page title
//   <form data-auto>                is sent when a field changes

export const csrf = () => document.querySelector("meta[name=csrf]")?.content ?? "";

export function showTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    time.title = time.textContent;
    time.dataset.local = "";
    const isDate = !time.dateTime.includes("T");  // a calendar date is the same day in every time zone
    time.textContent = isDate
      ? at.toLocaleDateString([], { dateStyle: "medium", timeZone: "UTC" })
      : at.toLocaleString([], { dateStyle: "short", timeStyle: "medium" });
  }
  for (const label of root.querySelectorAll("[data-time]:not([data-local])")) {
    const at = new Date(label.dataset.time);
    const form = label.dataset.form === "day" ? { day: "numeric", month: "short" } : { timeStyle: "short" };
    label.dataset.local = "";
    label.textContent = at.toLocaleString([], form) + label.textContent.slice(label.dataset.utc.length);
  }
}

// Fragments are pages of this server. Their templates escape every value.
//   options       for `fetch`, if the request has a body
//   onSignedOut   for pages that would lose data by reloading
export async function loadFragment(element, url = element.dataset.fragment, options = {}, onSignedOut = () => location.reload()) {
  const again = "loaded" in element.dataset;
  if (!again) element.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(url, { ...options, headers: { ...options.headers, Accept: "text/html" } });
    if (response.redirected || response.status === 401) { onSignedOut(element); return; }
    if (again && response.status >= 500) throw new Error(response.statusText);  // keep the old content instead of an error page
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    replaceContent(element, (page.querySelector("main") ?? page.body).childNodes);
  } catch {
    if (!again) element.textContent = "This part of the page cannot be loaded, because the proxy does not answer. Reload the page in a few seconds.";
  }
  element.removeAttribute("aria-busy");
  element.dataset.loaded = "";
  enhance(element);
  element.querySelector("a[data-follow]")?.click();
  refreshLater(element, url);
}

// Elements with an id keep their state: an open <details>, a focused field or link.
function replaceContent(element, nodes) {
  const open = [...element.querySelectorAll("details[id][open]")].map((one) => one.id);
  const focused = element.contains(document.activeElement) ? document.activeElement.id : "";
  element.replaceChildren(...nodes);
  for (const id of open) element.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  if (focused) element.querySelector(`#${CSS.escape(focused)}`)?.focus({ preventScroll: true });
}

function refreshLater(element, url = element.dataset.fragment) {
  const seconds = Number(element.querySelector("[data-refresh]")?.dataset.refresh);
  if (!seconds) return;
  setTimeout(() => {
    if (!element.isConnected) return;
    if (document.hidden) refreshLater(element, url);
    else loadFragment(element, url);
  }, 1000 * seconds);
}

export async function showCount(element) {
  const response = await fetch(element.dataset.count, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!response?.ok) return;
  const { count } = await response.json();
  element.hidden = !count;
  element.textContent = count;
  element.setAttribute("aria-label", `${count} open ${count === 1 ? "alarm" : "alarms"}`);
  document.title = (count ? `(${count}) ` : "") + document.title.replace(/^\(\d+\) /, "");
}

export function enhance(root) {
  showTimes(root);
  for (const element of root.querySelectorAll("[data-fragment]:not([data-loaded])")) {
    const around = element.closest("details");
    if (!around || around.open) loadFragment(element);
    else around.addEventListener("toggle", () => loadFragment(element), { once: true });
  }
}

const typing = (target) => target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (typing(event.target)) { if (event.key === "Escape") event.target.blur(); return; }
  const open = document.querySelector("dialog[open]");
  const named = [...(open ?? document).querySelectorAll("[data-key]")].filter((one) => one.offsetParent !== null);
  const meant = named.find((one) => one.dataset.key.split(" ").includes(event.key));
  if (!meant || meant.disabled) return;
  event.preventDefault();
  if (meant.matches("input, textarea, select")) meant.focus();
  else meant.click();
});

const wordsOf = (element) => [...element.childNodes].filter((one) => one.nodeName !== "KBD").map((one) => one.textContent).join("");

function listKeys() {
  const list = document.querySelector("#keys dl.keys");
  list.replaceChildren();
  for (const one of document.querySelectorAll("[data-key]")) {
    if (one.closest("dialog") || one.offsetParent === null) continue;
    const name = document.createElement("dt");
    for (const key of one.dataset.key.split(" ")) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      name.append(cap, " ");
    }
    const what = document.createElement("dd");
    what.textContent = one.dataset.keyName ?? one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? wordsOf(one);
    list.append(name, what);
  }
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (!opener) return;
  const dialog = document.getElementById(opener.dataset.opens);
  if (dialog.id === "keys") listKeys();
  dialog.showModal();
});

document.addEventListener("change", (event) => event.target.closest("form[data-auto]")?.requestSubmit());

enhance(document);
for (const element of document.querySelectorAll("[data-fragment][data-loaded]")) refreshLater(element);
const showCounts = () => { for (const element of document.querySelectorAll("[data-count]")) showCount(element); };
showCounts();
setInterval(() => document.hidden || showCounts(), 30_000);
