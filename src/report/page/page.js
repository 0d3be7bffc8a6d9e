/* The page from top to bottom. */
const count = (list, key, value) => list.filter((row) => row[key] === value).length;
/* As verdict_is_clean_success says it. */
const COUNTED = ["clean", "consistent", "unverified", "suspect", "contaminated"];
const isCleanSuccess = (row) => row.outcome === "succeeded" && row.verdict === "clean";
const tile = (name, number, text, hint) => make("div", { class: "tile " + name, title: hint }, make("b", {}, number), make("span", {}, text));

function showTop() {
  const first = head.sessions?.[0], last = head.sessions?.[head.sessions.length - 1];
  const gpus = [...new Set(rows.flatMap((row) => (row.data.tare?.energy?.devices || []).map((device) => device.device)))].sort((a, b) => compare(a, b));
  const all = usage.lanes.length > 1 ? new Set(usage.lanes.flatMap((lane) => lane.uuids.map((uuid) => lane.node + uuid))).size : gpus.length;
  const machine = head.machine || {};
  const names = (machine.gpus || []).map((gpu) => gpu.name || gpu.model).filter(Boolean);
  const title = head.name || head.folder || say("report");
  document.title = `${title} – ${head.program}`;
  place("top", make("h1", {}, title), make("p", { class: "facts" }, ...[
    head.folder === title ? null : head.folder, first ? `${moment(first.started_ms)} – ${moment(last.ended_ms) || "…"}` : null, nodes.length > 1 ? say("n_nodes", { n: nodes.length }) : machine.host?.name || machine.host || first?.host,
    zoneName(first?.started_ms, last?.ended_ms ?? Date.now()), zonesDiffer ? say("zones_differ") : null, [all > 4 ? say("n_gpus", { n: all }) : names.length ? null : gpus.join(", "), [...new Set(names)].join(", ")].filter(Boolean).join(", "), head.seed != null ? say("seed", { n: head.seed }) : null,
    head.layout ? say("layout_study") : null,
    head.sessions?.length > 1 ? say("sessions", { n: head.sessions.length }) : null, say("version", head),
  ].filter((text) => typeof text === "string" && text).map((text) => make("span", {}, text))),
  make("p", { class: "files" }, ...(head.way === null ? [] : head.files.map((file) => linkTo(wayOf(file), file)))));
}

function sentence() {
  const all = head.counts?.experiments > rows.length ? head.counts : null; // the page does not show every experiment
  const n = all ? all.succeeded + all.failed : finished.length, clean = all ? all.clean : finished.filter(isCleanSuccess).length;
  const failed = all ? all.failed : count(finished, "outcome", "failed"), judged = all ? all.clean + all.unverified + all.suspect + all.contaminated : n - count(finished, "verdict", "unjudged");
  if (!n) return say("believe_empty");
  if (n === failed) return say("believe_failed", { n });
  if (!judged) return say("believe_unjudged", { n });
  return say(clean === n ? "believe_all" : clean ? "believe_some" : "believe_none", { n, clean, count: clean && clean < n ? clean : n });
}

/* How much of summary_safe.csv, from which only suspect and contaminated rows are left out, is not verified. */
function safeRows() {
  const all = head.counts?.experiments > rows.length ? head.counts : null, number = (verdict) => all ? all[verdict] : count(finished, "verdict", verdict);
  const n = (all ? all.succeeded + all.failed : finished.length) - number("suspect") - number("contaminated"), unverified = number("unverified");
  return unverified && (head.files || []).includes("summary_safe.csv") && !head.layout ? [make("p", { class: "safe-rows" }, say("safe_unverified", { n, unverified }))] : [];
}

/* Which experiments medians, the front and effects use. */
function countedLine() {
  const kinds = finished.filter(counts).map((row) => head.counted?.ids[row.id] ?? "clean"), of = [...new Set(kinds)].sort((a, b) => COUNTED.indexOf(a) - COUNTED.indexOf(b));
  const parts = of.map((kind) => say(`counted_${kind}`, { n: kinds.filter((one) => one === kind).length }));
  return finished.length ? [make("p", { class: "counted" }, parts.length ? say("counted", { n: kinds.length, parts: parts.join(say("comma")) }) : say("counted_none"), parts.length ? "" : make("code", {}, ` ${head.program} report --only usable`))] : [];
}

/* What the run used of its budgets. */
function budgetLines() {
  const b = head.budget, whole = (used, of, unit) => ({ used: withUnit(used, unit), of: withUnit(of, unit) });
  if (!b) return [];
  return [
    b.energy && say("budget_energy", whole(b.energy.used_j, b.energy.budget_j, "J")),
    b.time && say("budget_time", { used: duration(b.time.used_s), of: duration(b.time.budget_s) }),
    b.reached && say("budget_reached", { why: b.reached }),
  ].filter(Boolean);
}

function showVerdict() {
  const lanes = usage.lanes.length > 1, waited = lanes ? usage.total.overhead_s + usage.total.waiting_s : sum((head.pauses || []).map((pause) => pause.seconds));
  const energies = finished.map((row) => row.energy).filter(isNumber), recorded = finished.map((row) => row.gpu?.recorded_j).filter(isNumber);
  place("verdict",
    ...(head.counts?.experiments > rows.length ? [make("p", { class: "suspect left-out" }, say("left_out", { ...head.counts, n: rows.length }))] : []),
    make("p", { class: "sentence" }, sentence()), ...safeRows(), ...countedLine(),
    make("div", { class: "tiles" },
      ...[...VERDICTS, "unjudged"].map((name) => [name, finished.filter((row) => row.verdict === name && (name !== "unjudged" || row.outcome !== "failed")).length])
        .filter(([name, n]) => n || name !== "unjudged").map(([name, n]) => tile(name, n, say(name) + ": " + say(name + "_hint"))),
      ...["succeeded", "failed"].map((name) => tile("", count(rows, "outcome", name), say(name))),
      ...["under_way", "interrupted", "planned"].filter((name) => count(rows, "outcome", name)).map((name) => tile("", count(rows, "outcome", name), say(name))),
      ...(energies.length ? [tile("", withUnit(sum(energies), "J"), say("total_energy"), String(sum(energies)))] : []),
      ...(recorded.length ? [tile("", withUnit(sum(recorded), "J"), say("total_recorded"), String(sum(recorded)))] : []),
      tile("", duration(sum(finished.map((row) => row.duration))), say("total_time")),
      ...(waited ? [tile("", duration(waited), say(head.layout ? "total_between" : lanes ? "total_lanes" : "total_wait"))] : [])),
    ...budgetLines().map((text) => make("p", { class: "facts budget" }, make("span", {}, text))),
    ...(head.problems?.length ? [make("ul", { class: "seen" }, ...head.problems.map((text) => make("li", { class: "suspect" }, text)))] : []));
}

/* Every kind of evidence once, the heaviest first. */
function showEvidence() {
  const kinds = new Map();
  for (const row of rows)
    for (const item of row.evidence) {
      const entry = kinds.get(item.kind) || { item, times: 0, rows: new Set() };
      entry.times++;
      entry.rows.add(row);
      kinds.set(item.kind, entry);
    }
  const order = ["contaminated", "suspect", "inconsistent", "unverified", "recorded"];
  const list = [...kinds.values()].sort((a, b) => order.indexOf(weightOf(a.item)) - order.indexOf(weightOf(b.item)) || b.rows.size - a.rows.size);
  const links = (entry) => [...entry.rows].slice(0, 12).flatMap((row, i) => [i ? ", " : "", make("button", { type: "button", class: "link", onclick: () => choose(row, true) }, row.id)]);
  place("evidence", make("h2", {}, say("disturbed")), list.length ? make("ul", { class: "seen" }, ...list.map((entry) => {
    const kind = kindOf(entry.item.kind);
    return make("li", { class: weightOf(entry.item) },
      make("p", {}, badge(weightOf(entry.item)), " ", make("b", {}, entry.item.kind), ` ${say("evidence_count", { n: entry.times })}${say("comma")}${say("in_experiments", { n: entry.rows.size })}`),
      kind ? make("p", {}, kind.meaning) : null,
      kind ? make("p", {}, `${say("remedy")}: ${kind.remedy}`) : null,
      make("p", { class: "soft" }, ...links(entry), entry.rows.size > 12 ? " …" : ""));
  })) : make("p", { class: "hint" }, say("disturbed_none")));
}

const groupOf = (row) => (several.mode ? `${row.label}, ${say(row.mode)}` : row.label);

function spreadOf(quantity) {
  const groups = new Map();
  for (const row of finished) {
    if (!isNumber(quantity.of(row))) continue;
    const key = groupOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const all = [...groups.values()].flat().map(quantity.of);
  if (all.length < 2) return null;
  const single = [...groups.values()].every((list) => list.length === 1), sorted = [...groups].sort((a, b) => compare(a[0], b[0]));
  return { title: quantity.title, tall: groups.size * (single ? 24 : 46) + 40, paint: (width) => drawSpread(quantity, sorted, all, single, width) };
}

/* Names are left of their lines, or above where there is no room beside. */
function drawSpread(quantity, groups, all, single, width) {
  const narrow = width < 600, above = narrow ? 18 : 0, line = (single ? 24 : 46) + above, height = groups.length * line + 40;
  const scale = numberScale(all, { n: marksFor(width), ofTime: quantity.ofTime, text: quantity.text, margin: 0.05 });
  const half = widest(scale.labels) / 2 + 4, left = narrow ? half : Math.min(Math.max(widest(groups.map(([name]) => name)), 80), 360) + 24, right = width - Math.max(20, half);
  const x = (value) => left + scale.of(value) * (right - left);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": quantity.title });
  marksBelow(svg, scale, x, 0, height - 30);
  groups.forEach(([name, list], i) => {
    const y = i * line + above + (line - above) / 2, values = list.filter(counts).map(quantity.of).sort((a, b) => a - b), n = say("n_runs", { n: list.length });
    if (narrow) svg.append(make("text", { x: 2, y: y - (line - above) / 2 + 2 }, make("title", {}, name), cut(name, width - (single ? 4 : widest([n]) + 14))));
    else svg.append(make("text", { x: left - 12, y: single ? y + 4 : y, "text-anchor": "end" }, make("title", {}, name), cut(name, left - 16)));
    if (!single) svg.append(make("text", narrow ? { x: width - 2, y: y - (line - above) / 2 + 2, "text-anchor": "end", class: "soft" } : { x: left - 12, y: y + 14, "text-anchor": "end", class: "soft" }, n));
    const at = (q) => x(quantile(values, q));
    if (values.length >= 4) svg.append(make("rect", { x: at(0.25), y: y - 14, width: Math.max(at(0.75) - at(0.25), 1), height: 28, rx: 3, fill: "var(--unjudged-soft)", stroke: "var(--soft)" }));
    if (values.length > 1)
      svg.append(make("line", { x1: at(0.5), x2: at(0.5), y1: y - 16, y2: y + 16, stroke: "var(--ink)", "stroke-width": 2 }, make("title", {}, say("median", { v: quantity.text(quantile(values, 0.5)) }))));
    list.forEach((row, k) => svg.append(point(x(quantity.of(row)), single ? y : y + ((k * 7) % 19) - 9, row, () => `${row.id}: ${quantity.text(quantity.of(row))}`)));
  });
  return svg;
}

/* ", 2 not finite": of a metric that was NaN or infinite; those are in no figure. */
function diverged(name) {
  const n = finished.filter((row) => isNotFinite(row.metrics[name])).length;
  return n ? `, ${say("not_finite", { n })}` : "";
}

function showSpread() {
  const quantities = [
    { title: say("energy"), of: (row) => row.energy, text: (v, digits) => withUnit(v, "J", digits) },
    { title: say("duration"), of: (row) => row.duration, text: duration, ofTime: true },
    { title: say("mean_power"), of: (row) => row.power, text: (v, digits) => withUnit(v, "W", digits) },
    ...metricNames.map((name) => ({ title: name + diverged(name), of: (row) => row.metrics[name], text: (v, digits = 5) => plain(v, digits), below: true })),
  ];
  const parts = quantities.map(spreadOf).filter(Boolean);
  if (!parts.length) return leaveOut(say("spread"), say("spread_none"));
  let room = 1200;
  const folded = parts.map(({ title, tall }, i) => make("details", { open: i === 0 || (room -= tall) > 0 }, make("summary", {}, title), make("div", {})));
  place("spread", make("h2", {}, say("spread")), make("p", { class: "hint" }, say("spread_hint")), ...folded);
  parts.forEach(({ paint }, i) => sized(folded[i].lastChild, paint));
}

/* Of the points (energy, quality) those that no other beats in both. */
function frontOf(points, high) {
  const best = [];
  for (const p of [...points].sort((a, b) => a.x - b.x || (high ? b.y - a.y : a.y - b.y)))
    if (!best.length || (high ? p.y > best[best.length - 1].y : p.y < best[best.length - 1].y)) best.push(p);
  return best;
}

/* Those that medians, the front and effects use, as audit_counts says it. */
const counts = (row) => (head.counted ? Object.hasOwn(head.counted.ids, row.id) : isCleanSuccess(row));

function drawFront(metric, sense, group, width) {
  const points = finished.filter((row) => isNumber(row.energy) && isNumber(row.metrics[metric]) && (!group || groupOf(row) === group)).map((row) => ({ x: row.energy, y: row.metrics[metric], row }));
  const across = numberScale(points.map((p) => p.x), { n: marksFor(width), text: (v, digits) => withUnit(v, "J", digits) }), upwards = numberScale(points.map((p) => p.y), { n: 6, text: (v, digits) => plain(v, Math.max(digits, 5)) });
  const { svg, x, y, right } = frame(width, tall(width, 420), say("front"), across, upwards, [say("energy"), metric]);
  const best = sense ? frontOf(points.filter((p) => counts(p.row)), sense === "high") : [];
  svg.append(make("path", { d: best.map((p, i) => `${i ? "L" : "M"}${x(p.x)} ${y(p.y)}`).join(""), fill: "none", stroke: "var(--accent)", "stroke-width": 2, class: "front", "data-ids": best.map((p) => p.row.id).join(" ") }));
  let free = -Infinity;
  for (const [p, text] of best.length <= 20 ? best.map((one) => [one, `#${one.row.number}`]) : []) {
    const wide = textWidth(text), at = Math.min(x(p.x) + 7, right - wide);
    if (at < free) continue;
    svg.append(make("text", { x: at, y: Math.max(y(p.y) - 7, 34), class: "soft" }, text));
    free = at + wide + 4;
  }
  for (const p of points) svg.append(point(x(p.x), y(p.y), p.row, () => `${p.row.id}: ${withUnit(p.x, "J")}, ${metric} ${plain(p.y, 5)}`));
  return svg;
}

/* The metric that most runs have, of those whose goal is known; a score before a loss, as the figures of "stats" choose it. */
const senseOf = (name) => ({ minimize: "low", maximize: "high" }[head.goals?.[name]] ?? "");
function bestMetric(names) {
  const having = (name) => finished.filter((row) => counts(row) && isNumber(row.metrics[name])).length, rank = (name) => ["high", "low", ""].indexOf(senseOf(name));
  return [...names].sort((a, b) => (rank(a) === 2) - (rank(b) === 2) || having(b) - having(a) || rank(a) - rank(b) || compare(a, b))[0];
}

function showFront() {
  const usable = metricNames.filter((name) => finished.some((row) => isNumber(row.energy) && isNumber(row.metrics[name])));
  if (!usable.length) return leaveOut(say("front"), say("front_none"));
  const box = make("div", {});
  const option = (value, text) => make("option", { value }, text);
  const metric = make("select", { id: "metric", "aria-label": say("quality"), onchange: () => { sense.value = senseOf(metric.value); fill(); update(); } }, ...usable.map((name) => option(name, name)));
  const sense = make("select", { id: "sense", "aria-label": say("better_high"), onchange: () => update() }, option("high", say("better_high")), option("low", say("better_low")), option("", say("better_unknown")));
  const group = make("select", { id: "group", "aria-label": say("model"), onchange: () => update() });
  const fill = () => {
    const names = [...new Set(finished.filter((row) => isNumber(row.energy) && isNumber(row.metrics[metric.value])).map(groupOf))];
    group.replaceChildren(...(names.length > 1 ? [option("", say("all_models"))] : []), ...names.map((name) => option(name, name)));
  };
  const update = () => sized(box, (width) => drawFront(metric.value, sense.value, group.value, width));
  metric.value = bestMetric(usable);
  sense.value = senseOf(metric.value);
  fill();
  place("front", make("h2", {}, say("front")), make("p", { class: "hint" }, say("front_hint")), make("div", { class: "controls" }, metric, sense, group), box);
  update();
}

/* What has no data is said once. */
function showLeftOut() {
  if (leftOut.length) place("left-out", make("h2", {}, say("charts_left_out")), make("ul", { class: "hint" }, ...leftOut.map((text) => make("li", {}, text))));
}

/* A run that had not ended when the page was written. */
function showState() {
  if (!head.state) return;
  const command = `${head.program} ${head.state === "died" ? "run --resume" : "watch"} ${head.folder}`;
  const text = say(`state_${head.state}`, { at: moment(head.made_ms), host: head.sessions?.at(-1)?.host ?? "?", command });
  place("state", make("p", { class: `state ${head.state}`, role: "status" }, make("b", {}, say(`state_is_${head.state}`)), " ", text));
}

showTop();
showState();
showVerdict();
showTable();
place("foot", make("p", {}, say(head.layout ? "foot_study" : "foot")));
const worst = ["contaminated", "suspect", "unverified"].map((verdict) => rows.find((row) => row.verdict === verdict)).find(Boolean);
if (rows.length) choose(worst || finished[0] || rows[0]);
/* What can be worked with comes first; each of these when the one before was painted. */
const later = [showTimeline, showLanes, showLearning, showRelations, showEvidence, showSpread, showFront, showEffects, showLeftOut];
for (const [i, show] of later.entries()) setTimeout(show, 20 * i);
