"use strict";
// A line says what has happened since the page was made. A page that nobody uses is loaded again.
{ // names of its own, beside those of charts.js
const IDLE = 60_000, AGAIN = 60_000; // milliseconds
const NOUNS = { dumps: "new dump", refused: "refused file", nights: "judged night", upkeep: "upkeep task", decisions: "decision" };
const line = document.querySelector(".news"), shown = line.dataset.shows.split(" "), counts = {};
let since = line.dataset.since, stream = null, used = performance.now();

function showCounts() {
  const texts = shown.filter((name) => counts[name]).map((name) => `${counts[name].toLocaleString("en")} ${NOUNS[name]}${counts[name] === 1 ? "" : "s"}`);
  if (!texts.length) return;
  const button = document.createElement("button");
  button.textContent = "Show";
  button.addEventListener("click", () => location.reload());
  line.replaceChildren(`${texts.join(", ")} `, button);
}
function listen() {
  stream = new EventSource(`/v1/changes?since=${since}`);
  stream.addEventListener("message", (event) => {
    since = event.lastEventId;
    for (const [name, count] of Object.entries(JSON.parse(event.data))) counts[name] = (counts[name] || 0) + count;
    showCounts();
  });
  stream.addEventListener("error", () => { if (stream && stream.readyState === EventSource.CLOSED) setTimeout(follow, AGAIN); });
}
// A tab that nobody sees has no stream: browsers allow six connections to a service.
function follow() {
  if (document.hidden && stream) { stream.close(); stream = null; }
  if (!document.hidden && (!stream || stream.readyState === EventSource.CLOSED)) listen();
}
function isUsed() {
  const isRead = document.activeElement !== document.body || !getSelection().isCollapsed;
  return document.hidden || isRead || performance.now() - used < IDLE;
}
for (const kind of ["pointerdown", "pointermove", "keydown", "scroll"]) addEventListener(kind, () => { used = performance.now(); }, { passive: true, capture: true });
setInterval(() => { if (line.firstChild && stream && stream.readyState === EventSource.OPEN && !isUsed()) location.reload(); }, 1000);
document.addEventListener("visibilitychange", follow);
follow();
}
