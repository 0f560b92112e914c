// j and k go through the rows of the list; Enter opens one, as links do.
const rows = [...document.querySelectorAll("a[data-row]")];
for (const moves of document.querySelectorAll(".moves")) moves.hidden = false;

function move(by) {
  const shown = rows.filter((row) => row.offsetParent !== null);
  const at = shown.indexOf(document.activeElement);
  const next = shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by];
  next?.focus();
}

document.addEventListener("click", (event) => {
  const mover = event.target.closest("[data-move]");
  if (mover) move(Number(mover.dataset.move));
});

// A choice made by pointer is sent at once; by keyboard one passes over others on the way to it, and sends with Enter or Show.
let byPointer = false;
document.addEventListener("pointerdown", () => { byPointer = true; }, true);
document.addEventListener("keydown", () => { byPointer = false; }, true);
document.addEventListener("change", (event) => {
  if (byPointer && event.target.matches("select")) event.target.closest("form[data-sends]")?.requestSubmit();
});

for (const copier of document.querySelectorAll("[data-copies]")) {
  copier.hidden = !navigator.clipboard;
  copier.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(copier.dataset.copies).value);
    document.getElementById("copied").textContent = "Copied.";
  });
}
