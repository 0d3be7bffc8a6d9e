/* The page from top to bottom. */
const count = (list, key, value) => list.filter((row) => row[key] === value).length;
/* As verdict_is_safe says it. */
const isSafe = (row) => row.outcome === "succeeded" && row.verdict === "clean";
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
  const n = all ? all.succeeded + all.failed : finished.length, clean = all ? all.clean : finished.filter(isSafe).length;
  const failed = all ? all.failed : count(finished, "outcome", "failed"), judged = all ? all.clean + all.unverified + all.suspect + all.contaminated : n - count(finished, "verdict", "unjudged");
  if (!n) return say("believe_empty");
  if (n === failed) return say("believe_failed", { n });
  if (!judged) return say("believe_unjudged", { n });
  return say(clean === n ? "believe_all" : clean ? "believe_some" : "believe_none", { n, clean });
}

function showVerdict() {
  const lanes = usage.lanes.length > 1, waited = lanes ? usage.total.overhead_s + usage.total.waiting_s : sum((head.pauses || []).map((pause) => pause.seconds));
  const energies = finished.map((row) => row.energy).filter(isNumber), recorded = finished.map((row) => row.gpu?.recorded_j).filter(isNumber);
  place("verdict",
    ...(head.counts?.experiments > rows.length ? [make("p", { class: "suspect left-out" }, say("left_out", { ...head.counts, n: rows.length }))] : []),
    make("p", { class: "sentence" }, sentence()),
    make("div", { class: "tiles" },
      ...[...VERDICTS, "unjudged"].map((name) => [name, finished.filter((row) => row.verdict === name && (name !== "unjudged" || row.outcome !== "failed")).length])
        .filter(([name, n]) => n || name !== "unjudged").map(([name, n]) => tile(name, n, say(name) + ": " + say(name + "_hint"))),
      ...["succeeded", "failed"].map((name) => tile("", count(rows, "outcome", name), say(name))),
      ...(rows.length > finished.length ? [tile("", rows.length - finished.length, say("planned"))] : []),
      ...(energies.length ? [tile("", withUnit(sum(energies), "J"), say("total_energy"), String(sum(energies)))] : []),
      ...(recorded.length ? [tile("", withUnit(sum(recorded), "J"), say("total_recorded"), String(sum(recorded)))] : []),
      ...(energies.length && co2e(sum(energies)) ? [tile("", co2e(sum(energies)), say("total_co2e", { n: plain(head.carbon_g_per_kwh) }))] : []),
      tile("", duration(sum(finished.map((row) => row.duration))), say("total_time")),
      ...(waited ? [tile("", duration(waited), say(head.layout ? "total_between" : lanes ? "total_lanes" : "total_wait"))] : [])),
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
      make("p", {}, badge(weightOf(entry.item)), " ", make("b", {}, entry.item.kind), ` ${say("evidence_count", { n: entry.times })}, ${say("in_experiments", { n: entry.rows.size })}`),
      kind ? make("p", {}, kind.meaning) : null,
      kind ? make("p", {}, `${say("remedy")}: ${kind.remedy}`) : null,
      make("p", { class: "soft" }, ...links(entry), entry.rows.size > 12 ? " …" : ""));
  })) : make("p", { class: "hint" }, say("disturbed_none")));
}

/* ---- drawings without time: points that can be chosen ---- */

const quantile = (sorted, q) => {
  const at = (sorted.length - 1) * q, low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
};

/* About n round steps over a range; of seconds, as clocks have them. */
const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
function ticks(low, high, n, ofTime = false) {
  /* Values that differ by their last digits alone: steps so small would never get from one to the next. */
  if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) return [low / 2 + high / 2];
  const rough = (high - low) / n || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = (ofTime && rough >= 1 && CLOCK.find((s) => s >= rough)) || [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const list = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) list.push(i * step);
  return list;
}

/* An experiment as a point of a diagram, and what is said of it where the pointer is: there may be thousands. */
const pointed = new WeakMap(), dots = {};
function point(x, y, row, text) {
  dots[row.verdict] ??= make("circle", { r: 4, fill: row.verdict === "contaminated" ? "none" : `var(--${row.verdict})`, "fill-opacity": 0.75, stroke: `var(--${row.verdict})` });
  const dot = dots[row.verdict].cloneNode();
  dot.setAttribute("cx", x);
  dot.setAttribute("cy", y);
  pointed.set(dot, { row, text });
  return dot;
}
addEventListener("click", (event) => { if (pointed.has(event.target)) choose(pointed.get(event.target).row, true); });
addEventListener("pointerover", (event) => {
  if (pointed.has(event.target) && !event.target.firstChild) event.target.append(make("title", {}, pointed.get(event.target).text()));
});

/* So many digits that neighbouring ticks differ. */
const digitsOf = (marks) => {
  const step = marks.length > 1 ? marks[1] - marks[0] : 0, most = Math.max(...marks.map(Math.abs));
  return step > 0 ? Math.min(Math.max(Math.ceil(Math.log10(most / step)) + 1, 3), 9) : 4;
};

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
  if (!all.length) return null;
  const single = [...groups.values()].every((list) => list.length === 1);
  const width = 1100, left = Math.min(Math.max(widest([...groups.keys()]), 80), 360) + 24, line = single ? 24 : 46, height = groups.size * line + 40;
  const margin = (Math.max(...all) - Math.min(...all) || Math.abs(all[0]) || 1) * 0.05;
  const low = Math.min(...all) - margin, high = Math.max(...all) + margin;
  const marks = ticks(quantity.below ? low : Math.max(low, 0), high, 7, quantity.ofTime), digits = digitsOf(marks);
  const right = Math.max(20, widest(marks.map((tick) => quantity.text(tick, digits))) / 2 + 4);
  const x = (value) => left + ((value - low) / (high - low)) * (width - left - right);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": quantity.title });
  for (const tick of marks)
    svg.append(make("line", { x1: x(tick), x2: x(tick), y1: 0, y2: height - 30, stroke: "var(--line)" }),
      make("text", { x: x(tick), y: height - 12, "text-anchor": "middle", class: "soft" }, quantity.text(tick, digits)));
  let y = line / 2;
  for (const [name, list] of [...groups].sort((a, b) => compare(a[0], b[0]))) {
    const values = list.filter(counts).map(quantity.of).sort((a, b) => a - b);
    svg.append(make("text", { x: left - 12, y: single ? y + 4 : y, "text-anchor": "end" }, make("title", {}, name), cut(name, left - 16)));
    if (!single) svg.append(make("text", { x: left - 12, y: y + 14, "text-anchor": "end", class: "soft" }, say("n_runs", { n: list.length })));
    if (values.length >= 4)
      svg.append(make("rect", { x: x(quantile(values, 0.25)), y: y - 14, width: Math.max(x(quantile(values, 0.75)) - x(quantile(values, 0.25)), 1), height: 28, rx: 3, fill: "var(--unjudged-soft)", stroke: "var(--soft)" }));
    if (values.length > 1)
      svg.append(make("line", { x1: x(quantile(values, 0.5)), x2: x(quantile(values, 0.5)), y1: y - 16, y2: y + 16, stroke: "var(--ink)", "stroke-width": 2 }, make("title", {}, say("median", { v: quantity.text(quantile(values, 0.5)) }))));
    list.forEach((row, i) => svg.append(point(x(quantity.of(row)), single ? y : y + ((i * 7) % 19) - 9, row, () => `${row.id}: ${quantity.text(quantity.of(row))}`)));
    y += line;
  }
  return { title: quantity.title, svg, tall: height };
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
  let room = 1200;
  const folded = parts.map(({ title, svg, tall }, i) => make("details", { open: i === 0 || (room -= tall) > 0 }, make("summary", {}, title), svg));
  if (parts.length) place("spread", make("h2", {}, say("spread")), make("p", { class: "hint" }, say("spread_hint")), ...folded);
}

/* Of the points (energy, quality) those that no other beats in both. */
function frontOf(points, high) {
  const best = [];
  for (const p of [...points].sort((a, b) => a.x - b.x || (high ? b.y - a.y : a.y - b.y)))
    if (!best.length || (high ? p.y > best[best.length - 1].y : p.y < best[best.length - 1].y)) best.push(p);
  return best;
}

/* Those that figures are made of: successes that nothing contaminated. */
const counts = (row) => row.outcome === "succeeded" && row.verdict !== "contaminated";

function drawFront(metric, sense, group) {
  const points = finished.filter((row) => isNumber(row.energy) && isNumber(row.metrics[metric]) && (!group || groupOf(row) === group)).map((row) => ({ x: row.energy, y: row.metrics[metric], row }));
  const width = 1100, height = 420, top = 24, bottom = 48;
  const range = (values) => { const low = Math.min(...values), high2 = Math.max(...values), m = (high2 - low || Math.abs(low) || 1) * 0.06; return [low - m, high2 + m]; };
  const [x0, x1] = range(points.map((p) => p.x)), [y0, y1] = range(points.map((p) => p.y));
  const across = ticks(Math.max(x0, 0), x1, 8), upwards = ticks(y0, y1, 6);
  const below = across.map((tick) => withUnit(tick, "J", digitsOf(across))), beside = upwards.map((tick) => plain(tick, Math.max(digitsOf(upwards), 5)));
  const left = Math.max(80, widest(beside) + 14), right = Math.max(30, widest(below) / 2 + 4);
  const x = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - right), y = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say("front") });
  across.forEach((tick, i) => svg.append(make("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - bottom, stroke: "var(--line)" }), make("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle", class: "soft" }, below[i])));
  upwards.forEach((tick, i) => svg.append(make("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: "var(--line)" }), make("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end", class: "soft" }, beside[i])));
  svg.append(make("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, say("energy")), make("text", { x: left, y: 14 }, make("title", {}, metric), cut(metric, width - left - 4)));
  const best = sense ? frontOf(points.filter((p) => counts(p.row)), sense === "high") : [];
  svg.append(make("path", { d: best.map((p, i) => `${i ? "L" : "M"}${x(p.x)} ${y(p.y)}`).join(""), fill: "none", stroke: "var(--accent)", "stroke-width": 2, class: "front", "data-ids": best.map((p) => p.row.id).join(" ") }));
  if (best.length <= 20) for (const p of best) svg.append(make("text", { x: x(p.x) + 7, y: y(p.y) - 7, class: "soft" }, `#${p.row.number}`));
  for (const p of points) svg.append(point(x(p.x), y(p.y), p.row, () => `${p.row.id}: ${withUnit(p.x, "J")}, ${metric} ${plain(p.y, 5)}`));
  return svg;
}

function showFront() {
  const usable = metricNames.filter((name) => finished.some((row) => isNumber(row.energy) && isNumber(row.metrics[name])));
  if (!usable.length) {
    place("front", make("h2", {}, say("front")), make("p", { class: "hint" }, say("front_none")));
    return;
  }
  const senseOf = (name) => ({ minimize: "low", maximize: "high" }[head.goals?.[name]] ?? "");
  const box = make("div", {});
  const option = (value, text) => make("option", { value }, text);
  const metric = make("select", { id: "metric", "aria-label": say("quality"), onchange: () => { sense.value = senseOf(metric.value); fill(); update(); } }, ...usable.map((name) => option(name, name)));
  const sense = make("select", { id: "sense", "aria-label": say("better_high"), onchange: () => update() }, option("high", say("better_high")), option("low", say("better_low")), option("", say("better_unknown")));
  const group = make("select", { id: "group", "aria-label": say("model"), onchange: () => update() });
  const fill = () => {
    const names = [...new Set(finished.filter((row) => isNumber(row.energy) && isNumber(row.metrics[metric.value])).map(groupOf))];
    group.replaceChildren(...(names.length > 1 ? [option("", say("all_models"))] : []), ...names.map((name) => option(name, name)));
  };
  const update = () => box.replaceChildren(drawFront(metric.value, sense.value, group.value));
  /* The metric that most runs have, of those whose goal is known; a score before a loss, as the figures of "stats" choose it. */
  const having = (name) => finished.filter((row) => counts(row) && isNumber(row.metrics[name])).length;
  const rank = (name) => ["high", "low", ""].indexOf(senseOf(name));
  metric.value = [...usable].sort((a, b) => (rank(a) === 2) - (rank(b) === 2) || having(b) - having(a) || rank(a) - rank(b) || compare(a, b))[0];
  sense.value = senseOf(metric.value);
  fill();
  place("front", make("h2", {}, say("front")), make("p", { class: "hint" }, say("front_hint")), make("div", { class: "controls" }, metric, sense, group), box);
  update();
}

showTop();
showVerdict();
showTable();
place("foot", make("p", {}, say(head.layout ? "foot_study" : "foot")));
const worst = ["contaminated", "suspect", "unverified"].map((verdict) => rows.find((row) => row.verdict === verdict)).find(Boolean);
if (rows.length) choose(worst || finished[0] || rows[0]);
/* What can be worked with comes first; each of these when the one before was painted. */
for (const [i, show] of [showTimeline, showLanes, showLearning, showEvidence, showSpread, showFront, showEffects].entries()) setTimeout(show, 20 * i);
