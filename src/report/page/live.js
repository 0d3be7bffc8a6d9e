/* The live pages: the overview of all runs, or one run. */
const pathOf = (...steps) => "/" + steps.map(encodeURIComponent).join("/");
/* A server without a token (at a Unix socket) takes addresses without one. */
const withToken = (path, token = head.token) => (token ? `${path}${path.includes("?") ? "&" : "?"}token=${token}` : path);
const ended = (counts) => counts.succeeded + counts.failed + counts.interrupted;
const meterOf = (done, all) => make("progress", { max: Math.max(all, 1), value: done, "aria-label": say("live_of", { done, all }) });
const verdictCounts = (counts) => ["clean", "unverified", "suspect", "contaminated", "failed", "interrupted"].filter((name) => counts[name]).map((name) => make("span", { class: "badge " + name }, `${counts[name]} ${say(name)}`));
const stateLabel = (state, paused) => make("span", { class: `badge state-${state}` }, paused && state === "under_way" ? say("live_paused") : say(state === "reading" ? "live_reading" : state === "unreadable" ? "live_unreadable" : "live_state_" + state));

function showTop(title, ...more) {
  document.title = `${title} – ${head.program}`;
  place("top", make("p", { class: "way" }, head.run ? make("a", { href: withToken("/") }, say("live_all")) : head.program, make("span", { id: "link", class: "link-state", role: "status" }, say("live_link_" + link.state))),
    make("h1", {}, title), ...more);
  setLink(link.state);
}

/* ---- all runs ---- */

const overview = { runs: new Map(), cards: new Map(), find: "", leftOut: 0 };

function runCard(run) {
  const counts = run.counts, energy = run.energy, facts = [];
  if (isNumber(run.session_started_ms)) facts.push(moment(run.session_started_ms));
  if (isNumber(run.power_w)) facts.push(`${say("live_power")} ${withUnit(run.power_w, "W", 3)}`);
  if (energy) facts.push(energy.measured ? `${withUnit(energy.gpu_j, "J")}${energy.measured < energy.ended ? ` (${say("live_of", { done: energy.measured, all: energy.ended })})` : ""}` : energy.ended ? `${say("energy")}: ${say("live_not_measured")}` : null);
  return make("a", { class: `run-card ${run.state}`, href: withToken(pathOf("run", run.run)), "data-run": run.run },
    make("span", { class: "run-head" }, make("b", {}, run.name || run.run), stateLabel(run.state, run.paused)),
    run.name ? make("span", { class: "hint" }, run.run) : null,
    run.error ? make("span", { class: "hint" }, run.error) : null,
    counts ? make("span", { class: "run-progress" }, meterOf(ended(counts), counts.experiments), make("span", {}, say("live_of", { done: ended(counts), all: counts.experiments }))) : null,
    counts ? make("span", { class: "run-verdicts" }, ...verdictCounts(counts)) : null,
    make("span", { class: "facts" }, ...facts.filter(Boolean).map((text) => make("span", {}, text))));
}

function showRuns() {
  const order = (run) => (["under_way", "elsewhere"].includes(run.state) ? 0 : 1);
  const list = [...overview.runs.values()].filter((run) => !overview.find || `${run.run} ${run.name ?? ""}`.toLowerCase().includes(overview.find))
    .sort((a, b) => order(a) - order(b) || (b.session_started_ms ?? 0) - (a.session_started_ms ?? 0) || (a.run < b.run ? 1 : -1));
  const active = document.activeElement?.dataset?.run, box = document.getElementById("runs");
  box.replaceChildren(...list.map((run) => overview.cards.get(run.run)));
  if (active) overview.cards.get(active)?.focus({ preventScroll: true });
  setText(document.getElementById("none"), overview.runs.size ? "" : say("live_no_runs"));
  setText(document.getElementById("left-out"), overview.leftOut ? say("live_left_out", { n: overview.leftOut }) : "");
}

function takeRuns(data) {
  if (data.full) { overview.runs.clear(); overview.cards.clear(); }
  for (const name of data.gone) { overview.runs.delete(name); overview.cards.delete(name); }
  for (const run of data.runs) { overview.runs.set(run.run, run); overview.cards.set(run.run, runCard(run)); }
  overview.leftOut = data.left_out;
  showRuns();
}

function startOverview() {
  showTop(say("live_runs"));
  place("summary", make("div", { class: "controls" }, make("input", { type: "search", id: "filter", "aria-label": say("live_filter_runs"), placeholder: say("live_filter_runs"), oninput: (event) => { overview.find = event.target.value.toLowerCase(); showRuns(); } })),
    make("p", { id: "none", class: "hint" }), make("div", { id: "runs", class: "run-cards" }), make("p", { id: "left-out", class: "hint" }));
  listen("/events", "/api/runs", takeRuns);
}

/* ---- one run ---- */

function showRunState() {
  const data = live.data, stale = isFollowed() && isNumber(data.live_ms) ? (nowMs() - data.live_ms) / 1000 : 0;
  const command = `${head.program} run --resume ${head.run}`;
  const lines = [data.state === "died" ? say("live_says_died", { command }) : null, data.state === "elsewhere" ? say("live_says_elsewhere") : null,
    data.state === "ended" && data.outcome ? say("live_says_ended", { outcome: data.outcome }) : null, data.paused && isFollowed() ? say("live_says_paused") : null, stale > 15 ? say("live_says_stale", { time: duration(Math.round(stale)) }) : null].filter(Boolean);
  setNodes(document.getElementById("state"), ...lines.map((text) => make("p", { class: `state ${data.state}` }, text)));
}

/* From the results so far: an estimate, where there is anything to estimate it from. */
function leftOf(counts) {
  const times = [...live.rows.values()].filter((row) => row.state === "done" && row.outcome === "succeeded" && row.duration_s > 0).map((row) => row.duration_s);
  const open = counts.planned + counts.running;
  return live.data.state === "under_way" && !live.data.paused && times.length > 1 && open ? say("live_left", { time: duration((sum(times) / times.length) * open / Math.max(live.data.slots.length, 1)) }) : "";
}

function showSummary() {
  const counts = live.data.counts, rows = [...live.rows.values()].filter((row) => row.state === "done"), measured = rows.filter((row) => isNumber(row.gpu_j));
  const watts = isFollowed() ? live.data.slots.map((slot) => slot.power_w).filter(isNumber) : [], tile = (name, figure, text) => make("div", { class: "tile " + name }, make("b", {}, figure), make("span", {}, text));
  setNodes(document.getElementById("summary-tiles"),
    make("div", { class: "tile wide" }, make("b", {}, say("live_of", { done: ended(counts), all: counts.experiments })), meterOf(ended(counts), counts.experiments), make("span", {}, [say("live_done"), leftOf(counts)].filter(Boolean).join(" · "))),
    ...["clean", "unverified", "suspect", "contaminated"].filter((name) => counts[name] || name === "clean").map((name) => tile(name, counts[name], say(name))),
    ...["failed", "interrupted"].filter((name) => counts[name]).map((name) => tile("", counts[name], say(name))),
    tile("", measured.length ? withUnit(sum(measured.map((row) => row.gpu_j)), "J") : DASH, measured.length === rows.length ? say("live_energy") : measured.length ? say("live_energy_of", { n: measured.length, all: rows.length }) : `${say("live_energy")}: ${say("live_not_measured")}`),
    ...(isFollowed() ? [tile("", watts.length ? withUnit(sum(watts), "W", 4) : DASH, say("live_power_now"))] : []));
  setNodes(document.getElementById("facts"), stateLabel(live.data.state, live.data.paused), " ", ...[live.data.name ? head.run : null, isNumber(live.data.session_started_ms) ? `${say("live_session")} ${moment(live.data.session_started_ms)}` : null, zoneName(0, 0)].filter(Boolean).map((text) => make("span", {}, text)),
    ...(live.data.state === "ended" ? [make("a", { href: withToken(pathOf("run", head.run, "report.html"), head.report_token) }, say("live_report"))] : []));
}

const EVENTS_SHOWN = 40;
function showEvents() {
  const told = (event) => { const data = event.data ?? {}; return [data.outcome, data.kind, data.text, data.error].find((text) => typeof text === "string") ?? ""; };
  const line = (event) => make("li", {}, make("time", {}, moment(event.realtime_ns / 1e6).slice(11)), " ", make("b", {}, String(event.type).replaceAll("_", " ")), " ",
    event.experiment ? make("span", {}, live.rows.get(event.experiment)?.id ?? `#${event.experiment}`) : null, " ", make("span", { class: "hint" }, told(event)));
  place("events", make("h2", {}, say("live_events")), live.events.length ? make("ol", { class: "events" }, ...live.events.slice(-EVENTS_SHOWN).reverse().map(line)) : make("p", { class: "hint" }, say("live_events_none")));
}

/* ---- one experiment ---- */

const detail = { number: 0, state: "", asked: 0, logAsked: 0, row: null };
const dataOf = (row) => ({ mode: "", tare: {}, spans: isNumber(row.started_ms) ? [{ attempt: row.attempts, from_ms: row.started_ms, to_ms: isNumber(row.ended_ms) && row.ended_ms >= row.started_ms ? row.ended_ms : null, outcome: row.outcome }] : [] });

async function fetchJson(path) {
  const answer = await fetch(withToken(path));
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return answer.json();
}

/* What the training told in its log, where that is a curve. */
function showMetricCurves(section, curves) {
  const drawnCurves = Object.entries(curves ?? {}).filter(([, points]) => points.filter((point) => isNumber(point[1])).length > 1);
  if (!drawnCurves.length || typeof uPlot === "undefined") return;
  const box = make("div", { class: "charts metric-curves" });
  (section.querySelector(".charts") ?? section.querySelector(".columns")).before(box);
  for (const [name, points] of drawnCurves) {
    const entry = chart(box, 190, () => ({ data: [points.map((point) => point[0]), points.map((point) => point[1])], options: {
      scales: { x: { time: false } }, axes: [axis({ size: 32 }), axis({})],
      series: [{ label: say("seconds"), value: (plot, value) => (isNumber(value) ? plain(value) : DASH) },
        { label: name, stroke: () => colour("accent"), width: 1.5, value: (plot, value) => (isNumber(value) ? plain(value, 5) : DASH), points: { show: points.length < 60, size: 5 } }] } }));
    entry.box.prepend(make("h3", {}, name));
  }
}

async function showExperiment(number) {
  const row = live.rows.get(number), section = document.getElementById("detail");
  Object.assign(detail, { number, state: stateOf(row), asked: Date.now(), logAsked: Date.now() });
  try {
    const data = await fetchJson(pathOf("run", head.run, "experiment", number));
    if (detail.number !== number) return;
    const open = [...section.querySelectorAll("details")].map((one) => one.open), at = section.querySelector(".log")?.scrollTop;
    /* What experiment.json says is an attempt's that has ended; of one under way nothing is judged yet. */
    showDetail(rowOf({ ...data, ...dataOf(row), ...(row.state !== "done" ? {} : { tare: data.tare, mode: data.mode ?? "" }) }));
    showMetricCurves(section, data.metric_points);
    [...section.querySelectorAll("details")].forEach((one, i) => { one.open = open[i] ?? one.open; });
    if (detail.row === number && at !== undefined && section.querySelector(".log")) section.querySelector(".log").scrollTop = at;
    detail.row = number;
    setNodes(section.querySelector("h2"), `${row.id} `, stateBadge(row), " ", verdictBadge(row));
  } catch (error) {
    if (detail.number === number) section.replaceChildren(make("h2", {}, row.id), make("p", { class: "hint" }, say("live_detail_failed", { why: error.message })));
  }
}

/* Of one under way the log is asked for every two seconds, the rest every 15. */
async function keepExperiment() {
  const row = live.rows.get(detail.number);
  if (!row || document.hidden) return;
  if (stateOf(row) !== detail.state || (stateOf(row) === "under_way" && Date.now() - detail.asked > 15000)) return showExperiment(detail.number);
  if (stateOf(row) !== "under_way" || Date.now() - detail.logAsked < 2000) return;
  detail.logAsked = Date.now();
  try {
    const { log_end: text, number } = await fetchJson(pathOf("run", head.run, "log", detail.number)), box = document.querySelector("#detail .log");
    if (number !== detail.number || text === null) return;
    if (!box) return showExperiment(number);
    const pinned = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
    setText(box, text);
    if (pinned) box.scrollTop = box.scrollHeight;
  } catch { /* the next one may come */ }
}

function chooseExperiment(number, picked = false) {
  if (!live.rows.has(number)) return;
  live.chosen = number;
  live.picked = true;
  history.replaceState(null, "", "#" + number);
  markGrid();
  showExperiment(number);
  if (picked) document.getElementById("detail").scrollIntoView({ block: "start" });
}

/* Until somebody chooses: what the first slot runs, else the worst result, else the last one. */
function chooseFirst() {
  if (live.picked) return;
  const wanted = Number(location.hash.slice(1)), rows = [...live.rows.values()], running = isFollowed() ? live.data.slots.find((slot) => slot.experiment)?.experiment : 0;
  const worst = ["contaminated", "suspect", "unverified"].map((name) => rows.find((row) => row.verdict === name)).find(Boolean) ?? rows.findLast((row) => row.state === "done");
  const number = live.rows.has(wanted) ? wanted : running || (live.chosen ?? worst?.number);
  if (!number || number === live.chosen) return;
  live.chosen = number;
  live.picked = number === wanted;
  markGrid();
  showExperiment(number);
}

function takeRun(data) {
  if (data.full) { live.rows.clear(); live.events = []; grid.body = null; live.metricNames = []; }
  live.data = data;
  for (const row of data.experiments) live.rows.set(row.number, row);
  live.events.push(...data.events);
  live.events.splice(0, live.events.length - 200);
  document.title = `${ended(data.counts)}/${data.counts.experiments} ${data.name || head.run} – ${head.program}`;
  takePoints(data.full);
  showRunState();
  showSummary();
  showSlots();
  showPower();
  updateGrid(data.experiments);
  if (data.full || data.events.length) showEvents();
  chooseFirst();
  keepExperiment();
}

function startRun() {
  showTop(head.run, make("p", { class: "facts", id: "facts" }));
  place("summary", make("div", { class: "tiles", id: "summary-tiles" }));
  listen(pathOf("run", head.run, "events"), pathOf("api", "run", head.run), takeRun);
}

const tunnel = head.token ? say("live_tunnel", { port: location.port }) : "";
place("foot", make("p", {}, `${say("live_foot")} ${tunnel} ${head.program} ${head.version}`));
if (head.run) startRun();
else startOverview();
