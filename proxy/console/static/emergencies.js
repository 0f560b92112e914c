// The inbox by keyboard. The buttons of the current item have the keys. Labels are sent without leaving the page.
import { csrf, loadFragment, showCount } from "./console.js";

const items = () => [...document.querySelectorAll(".inbox > li")];
const said = document.getElementById("said");
let current = null;
let undoing = false;

function choose(item, { focus = true } = {}) {
  if (!item) return;
  for (const one of document.querySelectorAll("[data-act]")) delete one.dataset.key;
  current?.querySelector(".alarm")?.removeAttribute("aria-current");
  current = item;
  const alarm = item.querySelector(".alarm");
  if (!alarm) return;
  alarm.setAttribute("aria-current", "true");
  for (const one of item.querySelectorAll("[data-act]")) one.dataset.key = one.dataset.act;
  if (!focus) return;
  alarm.focus({ preventScroll: true });
  alarm.scrollIntoView({ block: "nearest" });
}

function move(by) {
  const all = items();
  const at = all.indexOf(current);
  choose(all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)]);
}

async function send(form, button) {
  const item = form.closest("li");
  const body = new URLSearchParams(new FormData(form, button));
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf() };
  const response = await fetch(form.action, { method: "POST", body, headers }).catch(() => null);
  if (response?.status === 401) { location.reload(); return; }
  if (!response?.ok) {
    const answer = await response?.json().catch(() => null);
    said.textContent = answer?.error?.message ?? "The review was not saved, because the proxy does not answer. Try again.";
    return;
  }
  const name = item.querySelector(".alarm").getAttribute("aria-label");
  said.textContent = `${name}: ${button.dataset.said ?? "reopened"}.`;
  await loadFragment(item, item.dataset.item);
  choose(item);
  undoing = true;
  await showCount(document.querySelector("nav [data-count]"));
  setTimeout(() => { undoing = false; });
}

document.getElementById("next")?.addEventListener("click", () => move(1));
document.getElementById("previous")?.addEventListener("click", () => move(-1));
document.addEventListener("submit", (event) => {
  if (!event.target.closest(".inbox")) return;
  event.preventDefault();
  send(event.target, event.submitter);
});
document.addEventListener("focusin", (event) => {
  const item = event.target.closest(".inbox > li");
  if (item && item !== current) choose(item, { focus: false });
});
choose(items()[0], { focus: false });

// The number of open alarms is polled. If it grows, there is an alarm that this page does not show.
const badge = document.querySelector("nav [data-count]");
let open = null;
new MutationObserver(() => {
  const now = Number(badge.textContent);
  if (open !== null && now > open && !undoing) document.getElementById("fresh").hidden = false;
  open = now;
}).observe(badge, { childList: true });
