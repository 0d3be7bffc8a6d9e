/* Curves over time, by uPlot, and drawings; each is drawn anew when the window or its colours change. */
const drawn = new Set();
function redraw(entry) {
  if (entry.box.isConnected) return entry.draw();
  entry.plot?.destroy();
  drawn.delete(entry);
}

/* What a box has room for; one that is folded, or nowhere yet, is as wide as the page. On paper a page is as wide as that, and white,
 * whatever the screen was. */
let onPaper = false;
function roomOf(box) {
  if (onPaper) return box.closest(".charts") ? 325 : 670;
  const inner = (element) => { const style = getComputedStyle(element); return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight); };
  return Math.max(box.clientWidth ? inner(box) : inner(document.querySelector("main")), 200);
}

/* paint(width): an element as wide as there is room, so that letters stay as large as they are elsewhere. The later one of a box replaces
 * the one before. */
function sized(box, paint) {
  for (const entry of drawn) if (entry.box === box) drawn.delete(entry);
  const entry = { box, draw: () => box.replaceChildren(paint(roomOf(box))) };
  drawn.add(entry);
  entry.draw();
}

function chart(parent, height, build) {
  if (typeof uPlot === "undefined") {
    const note = make("p", { class: "hint" }, say("no_charts"));
    parent.append(note);
    return { box: note };
  }
  const box = make("div", { class: "chart" });
  parent.append(box);
  const entry = { box, plot: null };
  entry.draw = () => {
    entry.plot?.destroy();
    const { options, data } = build();
    entry.plot = box.plot = new uPlot({ ...options, width: roomOf(box), height }, data, box);
  };
  drawn.add(entry);
  entry.draw();
  return entry;
}

function forPaper(paper) {
  onPaper = paper;
  document.documentElement.classList.toggle("paper", paper);
  for (const entry of [...drawn]) redraw(entry);
}
addEventListener("beforeprint", () => forPaper(true));
addEventListener("afterprint", () => forPaper(false));

/* A telephone's browser calls it a new height each time its bar comes and goes. */
let redrawing = 0, widthDrawn = innerWidth;
function redrawAll() {
  cancelAnimationFrame(redrawing);
  widthDrawn = innerWidth;
  redrawing = requestAnimationFrame(() => { for (const entry of [...drawn]) redraw(entry); });
}
addEventListener("resize", () => { if (innerWidth !== widthDrawn && !onPaper) redrawAll(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

/* Room for the longest label of an upright axis, as uPlot asks for it anew while it settles. */
function axisRoom(plot, labels, which) {
  const axis = plot.axes[which];
  return Math.ceil(axis.ticks.size + axis.gap + widest(labels ?? [])) + 2;
}
/* The same number of digits as everywhere on the page, and enough that neighbours differ. */
const axisLabels = (plot, marks) => {
  const shown = marks.filter(isNumber), digits = digitsOf(shown);
  return marks.map((mark) => (isNumber(mark) ? plain(mark, digits) : ""));
};
const axis = (more) => ({
  values: axisLabels, size: axisRoom, stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: LETTERS, ...more,
});

const SERIES = {
  power: { key: "power_w", unit: "W" }, memory: { key: "memory_mib", unit: "MiB" },
  temperature: { key: "temperature_c", unit: "°C" }, utilisation: { key: "utilisation_percent", unit: "%" },
  memory_utilisation: { key: "memory_utilisation_percent", unit: "%" }, memory_temperature: { key: "memory_temperature_c", unit: "°C" },
};
for (const { key, name, unit } of head.readings) {
  SERIES[key] = { key, unit, stroke: "accent" };
  words[key] = name[0].toUpperCase() + name.slice(1);
}
const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

/* Of several GPUs each has its own stroke. */
function seriesOf(name, gpus, scale) {
  const { unit, stroke = name } = SERIES[name];
  return gpus.map((gpu, i) => ({
    label: gpus.length > 1 ? `${say(name)}, ${gpu}` : say(name), stroke: colour(stroke), width: 1.5, dash: DASHES[i % DASHES.length], scale,
    value: (plot, value) => (value === null || value === undefined ? "–" : `${plain(value)} ${unit}`), spanGaps: false, points: { show: true, size: 5, filter: alone },
  }));
}
/* A reading between two gaps is no line: a point. */
function alone(plot, series, show) {
  const values = plot.data[series], next = (i, step) => { while (values[i += step] === undefined && i >= 0 && i < values.length); return values[i] ?? null; };
  const out = [];
  for (let i = 0; i < values.length; i++) if (isNumber(values[i]) && next(i, -1) === null && next(i, 1) === null) out.push(i);
  return out;
}

/* Behind the curves: bands [{from, to, fill, hatch, edge}] in the x scale's unit, the later ones over those before; edge: the colour of a
 * stroke along the top, which is seen where a thousand bands share the width. Lines [{at, label}]. */
function behind(bands, lines) {
  return (plot) => {
    const { ctx } = plot, { left, top, width, height } = plot.bbox;
    const x = (value) => Math.min(Math.max(plot.valToPos(value, "x", true), left), left + width);
    ctx.save();
    for (const band of bands) {
      const from = x(band.from), to = Math.max(x(band.to), from + 1), narrow = to - from < 3 * devicePixelRatio;
      if (to <= left || from >= left + width || (band.hatch && narrow)) continue;
      ctx.fillStyle = band.hatch ? hatch(ctx, band.fill) : band.fill;
      ctx.fillRect(from, top, to - from, height);
      if (!band.edge) continue;
      ctx.fillStyle = band.edge;
      ctx.fillRect(from, top - 5 * devicePixelRatio, Math.max(to - from, 1.5 * devicePixelRatio), 5 * devicePixelRatio);
    }
    ctx.strokeStyle = colour("soft");
    ctx.fillStyle = colour("soft");
    ctx.setLineDash([4, 4]);
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    let free = -Infinity;
    for (const line of lines) {
      const at = plot.valToPos(line.at, "x", true);
      if (at < left || at > left + width) continue;
      ctx.beginPath();
      ctx.moveTo(at, top);
      ctx.lineTo(at, top + height);
      ctx.stroke();
      const wide = ctx.measureText(line.label).width;
      if (at + 3 > free && at + wide < left + width) {
        ctx.fillText(line.label, at + 3, top + 12 * devicePixelRatio);
        free = at + wide + 8;
      }
    }
    ctx.restore();
  };
}

function hatch(ctx, fill) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.strokeStyle = fill;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(0, 8);
  pen.lineTo(8, 0);
  pen.moveTo(-2, 2);
  pen.lineTo(2, -2);
  pen.moveTo(6, 10);
  pen.lineTo(10, 6);
  pen.stroke();
  return ctx.createPattern(tile, "repeat");
}

/* One experiment's traces as uPlot's columns: time, then one column for each GPU. */
function columns(traces, key) {
  const tables = traces.map((trace) => [trace.seconds, trace[key]]);
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}

/* ---- the run in time ---- */

/* A label says whole seconds: no two marks are nearer. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, ...[1, 2, 5, 10, 30, 100].map((days) => days * 86400)];

/* As coarse as the part that is shown. */
function clockOf(plot, marks) {
  const span = plot.scales.x.max - plot.scales.x.min;
  return marks.map((mark) => {
    const text = moment(mark * 1000);
    return span < 600 ? text.slice(11) : span < 86400 ? text.slice(11, 16) : text.slice(5, 16);
  });
}

/* Those that hold some of these: in the study's layout each file of an experiment is a trace of its own. */
const tracesOf = (row, ...keys) => (row.data.trace || []).filter((trace) => keys.some((key) => trace[key]?.some(isNumber)));
const inLanes = usage.lanes.length > 1;
const gpuNames = [...new Set(rows.flatMap((row) => tracesOf(row, "power_w", "memory_mib").map((trace) => gpuOf(row, trace))))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
const hasMemory = !inLanes && rows.some((row) => tracesOf(row, "memory_mib").length > 0);

/* The usual case: one GPU, whose points are in order. */
function addAlone(row, trace, times, power, memory) {
  const mine = gpuNames.indexOf(trace.gpu), before = times.length, start = row.start / 1000;
  let last = before ? times[before - 1] : -Infinity;
  for (let i = 0; i < trace.seconds.length; i++) {
    const time = start + trace.seconds[i];
    if (time <= last) continue;
    last = time;
    times.push(time);
    for (let gpu = 0; gpu < gpuNames.length; gpu++) {
      power[gpu].push(gpu === mine ? trace.power_w?.[i] : undefined);
      if (hasMemory) memory[gpu].push(gpu === mine ? trace.memory_mib?.[i] : undefined);
    }
  }
  if (times.length === before) return;
  times.push(last + 1e-3);
  for (const list of [...power, ...memory]) list.push(null);
}

/* Of lanes: power alone, each GPU's traces at their own times, which are those of the others too. Between two experiments of a GPU
 * nothing was measured: null; at the times of others' points a line goes on: undefined. */
function allLanes() {
  const at = new Map(gpuNames.map((name, i) => [name, i])), traces = gpuNames.map(() => []);
  for (const row of rows.filter((one) => one.start !== null))
    for (const trace of tracesOf(row, "power_w"))
      traces[at.get(gpuOf(row, trace))].push({ times: trace.seconds.map((second) => row.start / 1000 + second), power: trace.power_w });
  const times = [...new Set(traces.flat().flatMap((trace) => trace.times))].sort((a, b) => a - b), place = new Map(times.map((time, i) => [time, i]));
  return [times, ...traces.map((list) => {
    const column = new Array(times.length).fill(null);
    for (const { times: mine, power } of list) {
      column.fill(undefined, place.get(mine[0]), place.get(mine[mine.length - 1]));
      mine.forEach((time, i) => { column[place.get(time)] = power[i]; });
    }
    return column;
  })];
}

/* All traces one behind the other, an empty point after each so that no line leads to the next. */
function wholeRun() {
  const times = [], power = gpuNames.map(() => []), memory = gpuNames.map(() => []);
  const inOrder = rows.filter((row) => row.start !== null).sort((a, b) => a.start - b.start);
  for (const row of inOrder) {
    const traces = tracesOf(row, "power_w", "memory_mib");
    if (traces.length === 1) addAlone(row, traces[0], times, power, memory);
    if (traces.length <= 1) continue;
    const at = new Map();
    for (const trace of traces) {
      const gpu = gpuNames.indexOf(trace.gpu);
      trace.seconds.forEach((second, i) => {
        const time = row.start / 1000 + second;
        if (!at.has(time)) at.set(time, []);
        at.get(time).push([gpu, trace.power_w?.[i], trace.memory_mib?.[i]]);
      });
    }
    const sorted = [...at.keys()].sort((a, b) => a - b).filter((time) => !times.length || time > times[times.length - 1]);
    for (const time of sorted) {
      times.push(time);
      for (let gpu = 0; gpu < gpuNames.length; gpu++) {
        const found = at.get(time).find((point) => point[0] === gpu);
        power[gpu].push(found ? found[1] : undefined);
        memory[gpu].push(found ? found[2] : undefined);
      }
    }
    if (!sorted.length) continue;
    times.push(sorted[sorted.length - 1] + 1e-3);
    for (const list of [...power, ...memory]) list.push(null);
  }
  return [times, ...power, ...(hasMemory ? memory : [])];
}

function runBands() {
  const bands = [], known = {};
  const shade = (name) => (known[name] ??= colour(name)); // each is looked up in the style sheet
  for (const row of rows)
    for (const span of row.spans) {
      const last = span === row.spans[row.spans.length - 1];
      bands.push({ from: span.from_ms / 1000, to: (span.to_ms ?? (isUnderWay(row.data) ? head.made_ms : span.from_ms)) / 1000, fill: shade((last ? row.verdict : "unjudged") + "-soft"), edge: last ? shade(row.verdict) : null, row });
    }
  const weight = (band) => ["unjudged", ...VERDICTS].indexOf(band.row.verdict);
  bands.sort((a, b) => weight(a) - weight(b) || a.from - b.from);
  for (const pause of head.pauses || [])
    if (pause.seconds > 0)
      bands.push({ from: pause.from_ms / 1000, to: pause.from_ms / 1000 + pause.seconds, fill: shade("unjudged-soft"), hatch: true });
  return bands;
}

const AXIS_NAME = 22, LANES_DRAWN = 8, LANE_COLOURS = ["power", "temperature", "utilisation", "memory", "memory_temperature", "memory_utilisation"];
const ofLanes = (series) => (inLanes ? series.map((one, i) => ({ ...one, label: gpuNames[i], stroke: () => colour(LANE_COLOURS[i % LANE_COLOURS.length]), dash: DASHES[Math.floor(i / LANE_COLOURS.length)] })) : series);

/* From the first to the last moment of the run, in seconds since 1970; of several slots, those of the drawing below. */
function timeOf(bands) {
  if (inLanes) return [usage.from_ms / 1000, (usage.from_ms + lanesEnd()) / 1000];
  return [Math.min(...bands.map((band) => band.from)), Math.max(...bands.map((band) => band.to))];
}

function showTimeline() {
  const bands = runBands(), measured = rows.some((row) => tracesOf(row, "power_w", "memory_mib").length), hasPower = rows.some((row) => tracesOf(row, "power_w").length);
  if (!measured && rows.some((row) => row.spans.length)) leaveOut(`${say("power")}, ${say("memory")}`, say("no_trace_run"));
  /* More curves than these nobody tells apart: what each lane did is drawn below, and each experiment has its own. */
  if (!bands.length || (inLanes && (gpuNames.length > LANES_DRAWN || !hasPower))) return;
  const data = inLanes ? allLanes() : wholeRun();
  let [from, to] = timeOf(bands);
  if (!inLanes && data[0].length) [from, to] = [Math.min(from, data[0][0]), Math.max(to, data[0].at(-1))];
  const curves = [...(hasPower ? ofLanes(seriesOf("power", gpuNames, "W")) : []), ...(hasMemory ? seriesOf("memory", gpuNames, "MiB") : [])];
  const drawnData = curves.length ? [data[0], ...data.slice(1 + (hasPower ? 0 : gpuNames.length))] : [[from, to], [null, null]];
  place("timeline", make("h2", {}, say("timeline")), make("p", { class: "hint how" }, say(inLanes ? "timeline_hint_lanes" : "timeline_hint")),
    ...(head.layout ? [make("p", { class: "hint" }, say("between_hint"))] : []));
  const entry = chart(document.getElementById("timeline"), curves.length ? 260 : 110, () => ({
    data: drawnData,
    options: {
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000 + offsetAt(seconds * 1000) * 1000), "Etc/UTC"),
      padding: inLanes ? [null, LANES_RIGHT, null, null] : curves.length ? undefined : [null, 36, null, 36], legend: { show: curves.length > 0 },
      scales: { x: { time: true, range: (plot, low, high) => (plot.zoomed ? [low, high] : [from, to]) }, ...Object.fromEntries(["W", "MiB"].map((unit) => [unit, { range: (plot, low, high) => [0, (high || 1) * 1.05] }])) },
      series: [{ label: say("time"), value: (plot, value) => (value ? moment(value * 1000) : "–") }, ...(curves.length ? curves : [{ show: false }])],
      axes: [axis({ values: clockOf, incrs: SECONDS, space: 90, size: 32 }),
        ...(hasPower ? [axis({ scale: "W", label: `${say("power")} (W)`, labelSize: AXIS_NAME, size: inLanes ? (plot, labels, which) => Math.max(axisRoom(plot, labels, which), lanesLeft(plot.width) - AXIS_NAME) : axisRoom })] : []),
        ...(hasMemory ? [axis({ scale: "MiB", side: hasPower ? 1 : 3, label: `${say("memory")} (MiB)`, grid: { show: !hasPower } })] : []),
        ...(curves.length ? [] : [{ show: false }])],
      hooks: {
        drawClear: [behind(inLanes ? [] : runBands(), [])],
        setSelect: [(plot) => { plot.zoomed = plot.select.width > 0; }],
        ready: [() => laneTime.redraw?.()], // only now it is known where its axis is
        setScale: [(plot, key) => { if (key === "x") zoomLanes(plot.scales.x.min, plot.scales.x.max); }],
        init: [(plot) => {
          plot.over.addEventListener("dblclick", () => { plot.zoomed = false; }, { capture: true });
          plot.over.addEventListener("click", (event) => {
            if (plot.select.width > 0 || inLanes) return;
            const time = plot.posToVal(event.offsetX, "x");
            const band = bands.find((b) => b.row && b.from <= time && time <= b.to);
            if (band) choose(band.row, true);
          });
        }],
      },
    },
  }));
  entry.box.setAttribute("id", "timeline-chart");
}
