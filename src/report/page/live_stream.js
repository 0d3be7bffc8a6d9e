/* The one stream of events of a page. It is closed while nobody looks, and opened again with what was seen last; a server that is gone is
 * tried again, at longer and longer intervals. */
const link = { path: null, probe: null, take: null, source: null, id: null, wait: 1000, timer: 0, heard: 0, state: "connecting", skew: 0 };
const SILENT_MS = 40000, WAIT_MOST_MS = 30000;

/* The server's clock, which the runs' times are of as well as of this one they can be. */
const nowMs = () => Date.now() + link.skew;

function setLink(state) {
  link.state = state;
  const place = document.getElementById("link");
  if (!place) return;
  place.textContent = say("live_link_" + state);
  place.className = "link-state " + state;
}

function closeLink() {
  clearTimeout(link.timer);
  link.source?.close();
  link.source = null;
}

function openLink() {
  closeLink();
  if (document.hidden) return setLink("hidden");
  const source = new EventSource(withToken(link.path + (link.id ? `?since=${encodeURIComponent(link.id)}` : "")));
  link.source = source;
  link.heard = Date.now();
  const hear = (event) => {
    link.heard = Date.now();
    link.wait = 1000;
    if (link.state !== "live") setLink("live");
    if (event.type === "beat") return;
    const data = JSON.parse(event.data);
    link.id = event.lastEventId || null;
    link.skew = data.now_ms - Date.now();
    link.take(data);
  };
  for (const name of ["run", "runs", "beat"]) source.addEventListener(name, hear);
  source.onerror = () => { if (link.source === source) loseLink(); };
}

/* An EventSource does not tell why it failed: somebody who may not look any more is told so. */
async function loseLink() {
  closeLink();
  setLink(document.hidden ? "hidden" : "lost");
  const wait = link.wait * (0.7 + 0.6 * Math.random());
  link.wait = Math.min(2 * link.wait, WAIT_MOST_MS);
  link.timer = setTimeout(openLink, wait);
  try {
    const answer = await fetch(withToken(link.probe), { method: "HEAD" });
    if (answer.status === 401) setLink("denied");
    if (answer.status === 404) setLink("gone");
  } catch { /* it is not there */ }
}

function listen(path, probe, take) {
  Object.assign(link, { path, probe, take });
  document.addEventListener("visibilitychange", () => {
    link.wait = 1000;
    if (document.hidden) { closeLink(); setLink("hidden"); } else openLink();
  });
  addEventListener("pagehide", closeLink);
  addEventListener("pageshow", (event) => { if (event.persisted) openLink(); });
  addEventListener("online", () => { if (!document.hidden && link.state !== "live") openLink(); });
  setInterval(() => { if (link.source && Date.now() - link.heard > SILENT_MS) loseLink(); }, 5000);
  openLink();
}
