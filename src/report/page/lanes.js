/* The lanes of a run with several: how each spent the time, as a table and as bars in time. */
const usage = head.lanes || { lanes: [] };
const DOINGS = ["training", "guarding", "cooling", "lane_waiting", "no_work"];
const nodes = [...new Set(usage.lanes.map((lane) => lane.node))];
const laneName = (lane, n) => [nodes.length > 1 ? lane.node : null, lane.gpus.length ? lane.name : say("lane_n", { n: n + 1 })].filter(Boolean).join(" · ");
const laneHint = (lane) => [lane.node, ...lane.uuids].filter(Boolean).join("\n");
const laneOf = new Map(usage.lanes.flatMap((lane, n) => lane.spans.filter((span) => span[2] === 0).sort((a, b) => a[4] - b[4]).map((span) => [span[3], lane])));
/* Labels are those of a driver: on another node, or in another task, the same label is another GPU. */
function gpuOf(row, trace) {
  const lane = laneOf.get(row.number);
  return lane ? [nodes.length > 1 ? lane.node : null, lane.gpus.length === 1 ? lane.name : trace.gpu].filter(Boolean).join(" · ") : trace.gpu;
}
const byNumber = new Map(rows.map((row) => [row.number, row]));

/* The bars' colour: of the attempt that the result is of; those before it count for nothing. */
function verdictOf(span) {
  const row = byNumber.get(span[3]), result = row?.data.tare?.result_attempt ?? span[4];
  return row && result === span[4] ? row.verdict : "unjudged";
}

function spanText(lane, n, span) {
  const row = byNumber.get(span[3]), seconds = (span[1] - span[0]) / 1000;
  const what = span[2] === 0 && row ? `${row.id}, ${say(verdictOf(span))}, ${say(row.outcome)}` : say(DOINGS[span[2]]) + (row ? ` (${row.id})` : "");
  return [laneName(lane, n), what, moment(usage.from_ms + span[0]).slice(11), duration(seconds)].join(" · ");
}

/* Bars of training one by one, as they can be chosen; of each other thing one path for a lane, however often it did it. */
function laneBars(group, lane, n, x, y, height) {
  for (const doing of [1, 2, 3]) {
    const fill = doing === 3 ? "url(#lane-hatch)" : "var(--line)";
    const d = lane.spans.filter((span) => span[2] === doing).map((span) => {
      const from = x(span[0]), wide = Math.max(x(span[1]) - from, 0);
      return wide >= 0.3 ? `M${from.toFixed(2)} ${y}h${wide.toFixed(2)}v${height}h-${wide.toFixed(2)}z` : "";
    }).join("");
    if (d) group.append(make("path", { d, fill, class: DOINGS[doing], "shape-rendering": "crispEdges" }));
  }
  for (const span of lane.spans.filter((one) => one[2] === 0)) {
    const verdict = verdictOf(span), text = spanText(lane, n, span), from = x(span[0]);
    const bar = make("rect", { x: from.toFixed(2), y, width: Math.max(x(span[1]) - from, 1).toFixed(2), height, rx: 1, fill: `var(--${verdict})`, class: "bar " + verdict,
      tabindex: "-1", role: "button", "aria-label": text, "data-number": span[3] }, make("title", {}, text));
    group.append(bar);
    lane.bars.push({ bar, span });
  }
}

/* Names beside the bars, as wide as the axis of the power above them; both charts end at the same place. */
const LANES_RIGHT = 14;
const lanesEnd = () => Math.max(...usage.lanes.flatMap((lane) => lane.spans.map((span) => span[1])), 1);
const lanesLeft = (width) => Math.max(Math.min(widest(usage.lanes.map(laneName)) + 14, width * 0.3), 72);
/* What of the run's time is shown, in ms since its start; null: all. */
const laneTime = { from: 0, to: null, redraw: null };
function zoomLanes(from, to) {
  const [low, high] = [from, to].map((seconds) => seconds * 1000 - usage.from_ms), all = low <= 0.5 && high >= lanesEnd() - 0.5;
  if (!laneTime.redraw || (all ? laneTime.to === null : laneTime.from === low && laneTime.to === high)) return;
  [laneTime.from, laneTime.to] = all ? [0, null] : [low, high];
  laneTime.redraw();
}

/* The lanes in time, as wide as there is room. */
function drawLanes(width) {
  const all = usage.lanes, line = all.length <= 12 ? 28 : all.length <= 32 ? 20 : 14, foot = 26;
  const plot = document.getElementById("timeline-chart")?.plot, names = all.map(laneName), left = plot ? plot.bbox.left / devicePixelRatio : lanesLeft(width), right = LANES_RIGHT;
  const start = laneTime.from, end = laneTime.to ?? lanesEnd(), height = all.length * line + foot;
  const x = (ms) => left + ((ms - start) / (end - start)) * (width - left - right);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": say("lanes_in_time") });
  const pattern = make("pattern", { id: "lane-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, make("line", { x1: 0, x2: 0, y1: 0, y2: 6, stroke: "var(--soft)", "stroke-width": 2, opacity: 0.55 }));
  svg.append(make("defs", {}, pattern, make("clipPath", { id: "lane-room" }, make("rect", { x: left, y: 0, width: Math.max(width - left - right + 1, 1), height }))));
  const span = end - start, clock = usage.from_ms / 1000 + offsetAt(usage.from_ms), room = width - left - right, step = SECONDS.find((one) => (one * 1000 * room) / span >= 90) ?? SECONDS.at(-1);
  svg.append(make("line", { x1: left, x2: left, y1: 0, y2: height - foot, stroke: "var(--line)" }));
  const marks = [];
  for (let at = Math.ceil((clock + start / 1000) / step) * step; at <= clock + end / 1000; at += step) marks.push(at - clock);
  let free = -Infinity;
  for (const mark of marks) {
    const at = x(mark * 1000), text = moment(usage.from_ms + mark * 1000).slice(span < 864e5 ? 11 : 5, span < 6e5 ? 19 : 16), half = textWidth(text) / 2;
    const middle = Math.min(Math.max(at, half), width - half - 2);
    svg.append(make("line", { x1: at, x2: at, y1: 0, y2: height - foot, stroke: "var(--line)", opacity: 0.6 }));
    if (middle - half < free) continue;
    svg.append(make("text", { x: middle, y: height - 8, "text-anchor": "middle", class: "soft" }, text));
    free = middle + half + 8;
  }
  all.forEach((lane, n) => {
    const y = n * line + 3, group = make("g", { class: "lane", "clip-path": "url(#lane-room)" });
    lane.bars = [];
    svg.append(make("text", { x: left - 8, y: y + line / 2 + 1, "text-anchor": "end", class: lane.lost ? "lost" : null },
      make("title", {}, [laneHint(lane), lane.lost].filter(Boolean).join("\n")), cut(names[n], left - 10)), group);
    laneBars(group, lane, n, x, y, line - 6);
  });
  return { svg, at: (px, py) => ({ n: Math.floor(py / line), ms: start + ((px - left) / (width - left - right)) * (end - start) }) };
}

/* One bar is reached by Tab; arrows go along a lane and to the next one, Enter shows the experiment. */
function laneKeys(event) {
  const n = usage.lanes.findIndex((lane) => lane.bars.some((entry) => entry.bar === event.target));
  if (n < 0) return;
  const lane = usage.lanes[n], i = lane.bars.findIndex((entry) => entry.bar === event.target), { span } = lane.bars[i];
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key], down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  let next = null;
  if (step) next = lane.bars[Math.min(Math.max(i + step, 0), lane.bars.length - 1)];
  else if (down) {
    let to = n + down;
    while (usage.lanes[to] && !usage.lanes[to].bars.length) to += down;
    const away = (entry) => Math.abs(entry.span[0] + entry.span[1] - span[0] - span[1]);
    next = usage.lanes[to]?.bars.reduce((best, entry) => (!best || away(entry) < away(best) ? entry : best), null);
  } else if ((event.key === "Enter" || event.key === " ") && byNumber.has(span[3])) choose(byNumber.get(span[3]), true);
  else return;
  event.preventDefault();
  if (!next) return;
  event.target.setAttribute("tabindex", "-1");
  next.bar.setAttribute("tabindex", "0");
  next.bar.focus({ preventScroll: true });
}

/* What is under the mouse, or has the keyboard, in words: also of what is too small to be drawn, or is no bar. */
function showLaneTime(box, said) {
  let drawing = null;
  const hint = () => { said.textContent = say("lanes_hint"); };
  const paint = (width) => {
    drawing = drawLanes(width);
    usage.lanes.flatMap((lane) => lane.bars)[0]?.bar.setAttribute("tabindex", "0");
    mark(chosen.row);
    return drawing.svg;
  };
  const mark = (row) => {
    for (const lane of usage.lanes) for (const { bar, span } of lane.bars) bar.classList.toggle("chosen", span[3] === row?.number);
  };
  const under = (event) => {
    const place = drawing.svg.getBoundingClientRect(), scale = drawing.svg.viewBox.baseVal.width / place.width;
    const { n, ms } = drawing.at((event.clientX - place.left) * scale, (event.clientY - place.top) * scale), lane = usage.lanes[n];
    const span = lane?.spans.find((one) => one[0] <= ms && ms < one[1]);
    said.textContent = span ? spanText(lane, n, span) : say("lanes_hint");
  };
  box.addEventListener("pointermove", under);
  box.addEventListener("pointerleave", hint);
  box.addEventListener("focusin", (event) => { said.textContent = event.target.getAttribute("aria-label") || ""; });
  box.addEventListener("click", (event) => { const row = byNumber.get(Number(event.target.dataset?.number)); if (row) choose(row, true); });
  box.addEventListener("keydown", laneKeys);
  chosen.listeners.push(mark);
  hint();
  sized(box, paint);
  laneTime.redraw = () => box.replaceChildren(paint(roomOf(box)));
}

function legend() {
  const verdicts = [...VERDICTS, "unjudged"].filter((name) => usage.lanes.some((lane) => lane.spans.some((span) => span[2] === 0 && verdictOf(span) === name)));
  const swatch = (name, text) => make("span", {}, make("i", { class: "swatch " + name }), text);
  const waits = usage.lanes.some((lane) => lane.waiting_s > 0);
  return make("p", { class: "legend" }, ...verdicts.map((name) => swatch(name, say(name))), swatch("quiet", say("overhead")), waits ? swatch("wait", say("lane_waiting")) : null);
}

/* What its GPUs are, where those of the run are not alike. */
const modelOf = new Map(rows.flatMap((row) => (row.data.tare?.energy?.devices || []).filter((device) => device.uuid && device.model).map((device) => [device.uuid, device.model])));
const laneModel = (lane) => [...new Set(lane.uuids.map((uuid) => modelOf.get(uuid)).filter(Boolean))].join(", ");

function laneTable() {
  const unlike = new Set(modelOf.values()).size > 1;
  const percent = (value) => (isNumber(value) ? `${plain(100 * value, 3)} %` : "");
  const columns = [
    ...(unlike ? [["gpu", (lane) => (lane.uuids ? laneModel(lane) : "")]] : []), ["lane_done", (lane) => lane.experiments], ["training", (lane) => duration(lane.busy_s)], ["overhead", (lane) => duration(lane.overhead_s)],
    ["lane_waiting", (lane) => duration(lane.waiting_s)], ["no_work", (lane) => duration(lane.nothing_s)],
    ["used", (lane) => make("span", { class: "meter" }, make("i", { style: `width:${(56 * (lane.utilisation || 0)).toFixed(1)}px` }), make("b", {}, percent(lane.utilisation)))],
    ["energy", (lane) => withUnit(lane.gpu_energy_j, "J")], ...[...VERDICTS, "unjudged"].filter((name) => !["unverified", "unjudged"].includes(name) || usage.total[name]).map((name) => [name, (lane) => lane[name] || ""]),
  ].filter(([key]) => key !== "energy" || isNumber(usage.total.gpu_energy_j));
  const cell = (value) => make("td", { class: "number" }, value instanceof Node ? value : String(value ?? ""));
  const line = (title, hint, lane) => make("tr", {}, make("th", { scope: "row", title: hint }, ...title), ...columns.map(([, of]) => cell(of(lane))));
  return make("div", { class: "scroll" }, make("table", { id: "lane-table", "aria-label": say("lanes") },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, say("lane")), ...columns.map(([key]) => make("th", { scope: "col", class: "number", title: words[key + "_hint"] ?? TEXTS.en[key + "_hint"] }, say(key))))),
    make("tbody", {}, ...usage.lanes.map((lane, n) => line([laneName(lane, n), ...(lane.lost ? [" ", make("span", { class: "badge contaminated", title: lane.lost }, say("lost"))] : [])], laneHint(lane), lane))),
    make("tfoot", {}, line([say("all_lanes", { n: usage.lanes.length })], null, usage.total))));
}

function showLanes() {
  if (usage.lanes.length < 2) return;
  const box = make("div", { class: "lanes-time" }), said = make("p", { class: "hint how", role: "status" });
  place("lanes", make("h2", {}, say("lanes")),
    make("p", {}, say(nodes.length > 1 ? "lanes_said_nodes" : "lanes_said", { n: usage.lanes.length, nodes: nodes.length, used: `${plain(100 * usage.total.utilisation, 3)} %`, time: duration(usage.seconds) })),
    legend(), make("div", { class: "chart" }, box), said, laneTable(),
    ...usage.lanes.filter((lane) => lane.lost).map((lane) => make("p", { class: "hint", lang: "en" }, lane.lost)));
  showLaneTime(box, said);
}
