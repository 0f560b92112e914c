// j and k move through the rows of the list; Enter opens the focused one.
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

// A choice by pointer is sent at once. The keyboard passes other choices on the way, so it sends with Enter or Apply.
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
    document.getElementById("copied").textContent = "Copied to the clipboard.";
  });
}

// The address has times in UTC. With scripts, the fields show and accept times in the browser's time zone.
const localTime = (at) => new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
for (const field of document.querySelectorAll("input[type=datetime-local]")) {
  const shown = new Date(`${field.defaultValue}Z`);
  field.value = Number.isNaN(shown.valueOf()) ? "" : localTime(shown);
  for (const mark of document.querySelectorAll(".utc")) mark.remove();
  field.form.addEventListener("formdata", ({ formData }) => {
    if (field.value) formData.set(field.name, new Date(field.value).toISOString().slice(0, 16));
  });
}
