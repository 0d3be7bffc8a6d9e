/* The GPU slots of a run under way: a card each, and what they draw and train as curves. What was not read is a dash. */
const DASH = "–", POINTS_KEPT = 1800, METRICS_DRAWN = 3;
const orDash = (text) => text || DASH;
const live = { data: null, rows: new Map(), metricNames: [], events: [], points: new Map(), cards: new Map(), charts: null, chosen: null, picked: false };

const isFollowed = () => ["under_way", "elsewhere"].includes(live.data?.state);
const VERDICT_CLASS = { "no evidence": "unjudged", "evidence recorded": "recorded", "not judged": "unjudged" };
function verdictBadge(row) {
  const text = row?.verdict_text;
  if (!text || text === "none") return document.createTextNode(DASH);
  const key = "live_" + text.replace(" ", "_");
  return make("span", { class: "badge " + (VERDICT_CLASS[text] ?? text), title: row.evidence ?? null }, words[key] || TEXTS.en[key] ? say(key) : say(text));
}
/* What a runner that died, or stopped, left in the middle is not under way. */
const stateOf = (row) => (row.state === "done" ? row.outcome ?? "unknown" : row.state === "planned" ? "planned" : isFollowed() ? "under_way" : "unfinished");
const stateBadge = (row) => make("span", { class: `badge ${stateOf(row) === "unfinished" ? "interrupted" : stateOf(row)}` }, stateOf(row) === "planned" ? say("live_state_planned") : say(stateOf(row)));

/* Changes an element only where it says something else: a reader's place and focus stay. */
function setText(element, text) { if (element.textContent !== text) element.textContent = text; }
function setNodes(element, ...nodes) {
  const next = make("div", {}, ...nodes);
  if (next.innerHTML !== element.innerHTML) element.replaceChildren(...next.childNodes);
}

function newCard(slot) {
  const field = (name) => { const value = make("dd", {}, DASH); card[name] = value; return [make("dt", {}, say("live_" + name)), value]; };
  const card = { phase: make("span", { class: "badge" }), name: make("button", { type: "button", class: "link", onclick: () => chooseExperiment(card.slot.experiment, true) }),
    more: make("span", { class: "hint" }), bars: make("div", { class: "bars" }), number: slot.slot };
  card.element = make("article", { class: "slot", "aria-label": say("live_slot", { n: slot.slot }) },
    make("header", {}, make("h3", {}, [say("live_slot", { n: slot.slot }), ...(slot.gpus ?? [])].join(" · ")), card.phase),
    make("p", { class: "what" }, card.name, " ", card.more), card.bars,
    make("dl", {}, ...["power", "utilisation", "memory", "temperature", "metrics", "verdict"].flatMap(field)));
  return card;
}

/* One bar of the training's own, as it prints it. */
function barOf(bar) {
  const known = isNumber(bar.done) && isNumber(bar.total) && bar.total > 0;
  return make("p", {}, make("span", {}, [bar.name, known ? `${plain(bar.done, 6)} / ${plain(bar.total, 6)}` : orDash(plain(bar.done, 6))].filter(Boolean).join(" ")),
    known ? make("progress", { max: bar.total, value: Math.min(bar.done, bar.total), "aria-label": bar.name || say("live_phase_running") }) : null);
}

const GIB = 1024 ** 3;
function memoryOf(slot) {
  const text = (bytes) => (isNumber(bytes) ? plain(bytes / GIB, 3) : DASH);
  return isNumber(slot.memory_bytes) || isNumber(slot.memory_total_bytes) ? `${text(slot.memory_bytes)} / ${text(slot.memory_total_bytes)} GiB` : DASH;
}

function updateCard(card, slot) {
  const row = live.rows.get(slot.experiment), since = isNumber(slot.since_ms) ? duration(Math.max(0, Math.round((nowMs() - slot.since_ms) / 1000))) : "";
  card.slot = slot;
  card.phase.className = `badge ${slot.phase === "running" ? "under_way" : "planned"}`;
  setText(card.phase, say("live_phase_" + slot.phase));
  setText(card.name, slot.id ?? "");
  setText(card.more, [slot.attempt > 1 ? say("live_attempt", { n: slot.attempt }) : null, since ? say("live_since", { time: since }) : null,
    slot.phase === "pause" && isNumber(slot.pause_s) && slot.pause_s > 0 ? say("live_pause_most", { time: duration(Math.round(slot.pause_s)) }) : null].filter(Boolean).join(" · "));
  setNodes(card.bars, ...(slot.bars ?? []).slice(0, 2).map(barOf));
  setText(card.power, orDash(withUnit(slot.power_w, "W", 3)));
  setText(card.utilisation, orDash(withUnit(slot.utilisation_percent, "%", 3)));
  setText(card.memory, memoryOf(slot));
  setText(card.temperature, orDash(withUnit(slot.temperature_c, "°C", 3)));
  setText(card.metrics, orDash(Object.entries(slot.metrics ?? {}).slice(0, 4).map(([name, value]) => `${name} ${orDash(plain(value, 5))}`).join(", ")));
  setNodes(card.verdict, slot.experiment && slot.phase !== "pause" ? verdictBadge(row) : DASH);
}

function showSlots() {
  const slots = isFollowed() ? live.data.slots : [], section = document.getElementById("slots");
  section.hidden = !slots.length;
  if (!slots.length || live.cards.size !== slots.length) {
    live.cards = new Map(slots.map((slot) => [slot.slot, newCard(slot)]));
    section.replaceChildren(make("h2", {}, say("live_slots")), make("div", { class: "slots" }, ...[...live.cards.values()].map((card) => card.element)));
  }
  for (const slot of slots) updateCard(live.cards.get(slot.slot), slot);
}

/* New points behind those that are there, and a gap where nothing was read for a while; a slot's metrics begin anew with each attempt. */
const GAP_S = 10;
function append(series, points, gap) {
  let last = series.length ? series[series.length - 1][0] : -Infinity;
  for (const [second, value] of points ?? []) {
    if (second <= last) continue;
    if (second - last > gap && series.length) series.push([last + 1e-3, null]);
    series.push([second, value]);
    last = second;
  }
  if (series.length > POINTS_KEPT) series.splice(0, series.length - POINTS_KEPT);
}
function takePoints(full) {
  if (full) live.points.clear();
  for (const slot of live.data.slots) {
    const key = `${slot.experiment}/${slot.attempt}`, known = live.points.get(slot.slot) ?? { power: [], metrics: {}, key };
    if (known.key !== key) Object.assign(known, { key, metrics: {} });
    append(known.power, slot.points?.power_w, GAP_S);
    for (const [name, points] of Object.entries(slot.points?.metrics ?? {})) append(known.metrics[name] ??= [], points, Infinity);
    live.points.set(slot.slot, known);
  }
}

/* One panel: a curve for each slot that has such points. */
function panelData(of) {
  const tables = drawnSlots().map((slot) => { const points = of(live.points.get(slot.slot)) ?? []; return [points.map((p) => p[0]), points.map((p) => p[1])]; });
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}
const drawnSlots = () => live.data.slots.slice(0, LANES_DRAWN);
function addPanel(box, title, unit, of) {
  const slots = drawnSlots(), labels = slots.map((slot) => (slot.gpus?.length ? slot.gpus.join(", ") : say("live_slot", { n: slot.slot })));
  const text = (value) => (isNumber(value) ? (unit ? withUnit(value, unit) : plain(value, 5)) : DASH);
  const entry = chart(box, 200, () => ({ data: panelData(of), options: {
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000 + offsetAt(seconds * 1000) * 1000), "Etc/UTC"),
    scales: { x: { time: true }, y: { range: (plot, low, high) => (unit ? [0, (high || 1) * 1.08] : uPlot.rangeNum(low ?? 0, high ?? 1, 0.1, true)) } },
    series: [{ label: say("time"), value: (plot, value) => (value ? moment(value * 1000).slice(11) : DASH) },
      ...labels.map((label, i) => ({ label, stroke: () => colour(LANE_COLOURS[i % LANE_COLOURS.length]), dash: DASHES[Math.floor(i / LANE_COLOURS.length)], width: 1.5, value: (plot, value) => text(value), spanGaps: false, points: { show: true, size: 4, filter: alone } }))],
    axes: [axis({ values: clockOf, incrs: SECONDS, space: 80, size: 32 }), axis({})],
  } }));
  entry.of = of;
  entry.box.prepend(make("h3", {}, unit ? `${title} (${unit})` : title));
  return entry;
}

function showPower() {
  const section = document.getElementById("power"), slots = isFollowed() ? live.data.slots : [];
  const names = [...new Set([...live.points.values()].flatMap((points) => Object.keys(points.metrics)))].slice(0, METRICS_DRAWN);
  const measured = [...live.points.values()].some((points) => points.power.length);
  section.hidden = !slots.length;
  if (!slots.length || typeof uPlot === "undefined") return;
  const key = JSON.stringify([slots.length, measured, names]);
  if (live.charts?.key === key) return void live.charts.entries.forEach((entry) => entry.plot?.setData(panelData(entry.of)));
  const box = make("div", { class: "charts" });
  section.replaceChildren(make("h2", {}, say("live_charts")), ...(slots.length > LANES_DRAWN ? [make("p", { class: "hint" }, say("live_few_slots", { n: LANES_DRAWN, all: slots.length }))] : []),
    ...(measured || names.length ? [] : [make("p", { class: "hint" }, say("live_no_readings"))]), box);
  live.charts = { key, entries: [...(measured ? [addPanel(box, say("live_power"), "W", (points) => points?.power)] : []), ...names.map((name) => addPanel(box, name, "", (points) => points?.metrics[name]))] };
}
