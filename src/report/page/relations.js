/* What hyperparameters and figures have to do with each other: a metric against a hyperparameter, and all of them beside each other, where a
 * stretch that is selected on an axis selects the experiments of the table too. */
const measuredBy = [
  ...metricNames.map((name) => ({ key: "m:" + name, title: name, of: (row) => row.metrics[name], text: (v, digits = 4) => plain(v, Math.max(digits, 4)) })),
  { key: "energy", title: say("energy"), of: (row) => row.energy, text: (v, digits) => withUnit(v, "J", digits) },
  { key: "duration", title: say("duration"), of: (row) => row.duration, text: duration, ofTime: true },
  { key: "power", title: say("mean_power"), of: (row) => row.power, text: (v, digits) => withUnit(v, "W", digits) },
];
const isKnown = (value) => value !== null && value !== undefined && value !== "" && !isNotFinite(value);

/* Hyperparameters with two values or more among what has ended. */
function variedParams() {
  return paramNames.map((name) => ({ key: "p:" + name, title: name, of: (row) => paramOf(row, name), text: (v, digits = 4) => (isNumber(v) ? plain(v, digits) : String(v)) }))
    .filter((param) => new Set(finished.map(param.of).filter(isKnown).map(String)).size > 1);
}

/* Numbers have a scale of numbers, over powers of ten where they span some; anything else one of words. */
function scaleOf(what, n, isParam) {
  const values = finished.map(what.of).filter(isKnown);
  if (!values.every(isNumber)) return { words: true, ...wordScale(values.map(String)) };
  const few = isParam && isFew(values) && new Set(values).size < values.length; // random draws have round marks
  return numberScale(values, { each: few, log: isParam ? isLog(values, few ? 8 : 20) : isLog(values, 1000), n, ofTime: what.ofTime, text: what.text });
}
const placeOn = (scale, what, row) => { const value = what.of(row); return isKnown(value) ? (scale.words ? String(value) : isNumber(value) ? value : null) : null; };

/* An experiment that failed is a cross; one that has no value then is at the lower edge. */
function cross(x, y, row, text) {
  const mark = make("path", { d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`, class: "cross", stroke: "var(--contaminated)", "stroke-width": 2, fill: "none" });
  pointed.set(mark, { row, text });
  return mark;
}

function drawScatter(across, upwards, width, marks) {
  const scale = scaleOf(across, marksFor(width), true), values = scaleOf(upwards, 6, false);
  const without = finished.some((row) => row.outcome === "failed" && placeOn(values, upwards, row) === null);
  const { svg, x, y, left, right, bottom } = frame(width, tall(width, 400), say("relation_of", { y: upwards.title, x: across.title }), scale, values, [across.title, upwards.title], 24, without ? 26 : 0);
  svg.setAttribute("class", "scatter");
  if (without) svg.append(make("line", { x1: left, x2: right, y1: bottom - 20, y2: bottom - 20, stroke: "var(--soft)", "stroke-dasharray": "2 4" }), make("text", { x: left - 8, y: bottom - 6, "text-anchor": "end", class: "soft" }, "–"));
  marks.length = 0;
  const wide = scale.words ? (x(scale.marks.at(-1)) - x(scale.marks[0])) / Math.max(scale.marks.length - 1, 1) : 0;
  finished.forEach((row, i) => {
    const at = placeOn(scale, across, row), value = placeOn(values, upwards, row), failed = row.outcome === "failed";
    if (at === null || (value === null && !failed)) return;
    const place = x(at) + (wide ? (((i * 7) % 19) / 19 - 0.5) * Math.min(wide, 60) * 0.6 : 0), text = () => `${row.id}: ${across.title} ${across.text(across.of(row))}, ${value === null ? say("failed") : `${upwards.title} ${upwards.text(value)}`}`;
    const mark = failed ? cross(place, value === null ? bottom - 10 : y(value), row, text) : point(place, y(value), row, text);
    svg.append(mark);
    marks.push([row, mark]);
  });
  return svg;
}

/* From the least to the most of the figure in five steps, each as many experiments: lines[row] is "step-0" to "step-4". */
function stepsOfFigure(what) {
  const known = finished.filter((row) => row.outcome !== "failed" && isNumber(what.of(row))).sort((a, b) => what.of(a) - what.of(b));
  return new Map(known.map((row, i) => [row, `step-${Math.min(4, Math.floor((5 * i) / known.length))}`]));
}

const AXIS_TOP = 30, AXIS_FOOT = 14, AXIS_LEFT = 12, AXIS_RIGHT = 88; // of the last one's labels
function drawParallel(axes, figure, width, marks) {
  const height = 360, each = Math.max((width - AXIS_LEFT - AXIS_RIGHT) / (axes.length - 1), 92), all = AXIS_LEFT + each * (axes.length - 1) + AXIS_RIGHT, bottom = height - AXIS_FOOT, steps = stepsOfFigure(figure);
  const svg = make("svg", { viewBox: `0 0 ${all} ${height}`, width: all, height, role: "group", "aria-label": say("parallel_axes"), class: "parallel" });
  const scales = axes.map((axis) => scaleOf(axis, 5, axis.key.startsWith("p:"))), x = (i) => AXIS_LEFT + each * i, y = (i, value) => bottom - scales[i].of(value) * (bottom - AXIS_TOP);
  const lines = make("g", { class: "lines", "stroke-opacity": finished.length > 200 ? 0.35 : 0.7 });
  svg.append(lines);
  marks.length = 0;
  for (const row of finished) {
    const places = axes.map((axis, i) => placeOn(scales[i], axis, row)), d = places.map((value, i) => (value === null ? "" : `${i && places[i - 1] !== null ? "L" : "M"}${x(i).toFixed(1)} ${y(i, value).toFixed(1)}`)).join("");
    if (!d) continue;
    const line = make("path", { d, class: row.outcome === "failed" ? "failed" : steps.get(row) ?? "step-none" });
    pointed.set(line, { row, text: () => `${row.id}: ${axes.map((axis, i) => (places[i] === null ? null : `${axis.title} ${axis.text(axis.of(row))}`)).filter(Boolean).join(", ")}` });
    lines.append(line);
    marks.push([row, line]);
  }
  axes.forEach((axis, i) => svg.append(drawAxis(axis, scales[i], x(i), Math.min(each, i === axes.length - 1 ? AXIS_RIGHT : each) - 8, (value) => y(i, value), bottom)));
  return svg;
}

/* One axis, on which a stretch can be selected with the pointer. */
function drawAxis(axis, scale, x, room, y, bottom) {
  const chosenBox = make("rect", { x: x - 9, width: 18, y: 0, height: 0, class: "brushed", "pointer-events": "none" });
  const hit = make("rect", { x: x - 12, y: AXIS_TOP - 8, width: 24, height: bottom - AXIS_TOP + 16, class: "brush", fill: "transparent", "data-key": axis.key }, make("title", {}, say("brush_hint", { name: axis.title })));
  const show = () => {
    const brush = table.brushes.get(axis.key);
    if (brush) for (const [name, value] of [["y", y2(brush.to)], ["height", Math.max(y2(brush.from) - y2(brush.to), 2)]]) chosenBox.setAttribute(name, value);
    chosenBox.setAttribute("visibility", brush ? "visible" : "hidden");
  };
  const inside = (at) => Math.min(Math.max(at, AXIS_TOP), bottom), y2 = (value) => inside(scale.words ? bottom - value * (bottom - AXIS_TOP) : y(value)), back = (at) => scale.value((bottom - at) / (bottom - AXIS_TOP));
  const of = scale.words ? (row) => { const value = placeOn(scale, axis, row); return value === null ? null : scale.of(value); } : axis.of;
  let began = null;
  const at = (event) => inside(event.clientY - hit.ownerSVGElement.getBoundingClientRect().top);
  hit.addEventListener("pointerdown", (event) => { began = at(event); hit.setPointerCapture(event.pointerId); event.preventDefault(); });
  hit.addEventListener("pointermove", (event) => {
    const now = at(event);
    if (began === null || Math.abs(now - began) < 4) return;
    table.brushes.set(axis.key, { of, from: back(Math.max(began, now)), to: back(Math.min(began, now)) });
    refresh();
  });
  hit.addEventListener("pointerup", (event) => {
    if (began !== null && Math.abs(at(event) - began) < 4 && table.brushes.delete(axis.key)) refresh();
    began = null;
  });
  hit.addEventListener("pointercancel", () => { began = null; });
  /* Of what came with a page before this one only the ends are known. */
  if (table.brushes.has(axis.key)) table.brushes.get(axis.key).of = of;
  const labels = scale.marks.map((mark, i) => [y(mark), scale.labels[i]]).filter(([place], i, list) => i === 0 || Math.abs(place - list[0][0]) > 0);
  let free = Infinity;
  const group = make("g", { class: "axis" }, make("line", { x1: x, x2: x, y1: AXIS_TOP, y2: bottom, stroke: "var(--soft)" }), make("text", { x: x - 8, y: 14 }, make("title", {}, axis.title), cut(axis.title, room)));
  for (const [place, label] of labels.sort((a, b) => b[0] - a[0])) {
    if (place > free) continue;
    group.append(make("line", { x1: x - 5, x2: x, y1: place, y2: place, stroke: "var(--soft)" }), make("text", { x: x + 5, y: place + 4, class: "soft on-lines" }, make("title", {}, label), cut(label, room - 8)));
    free = place - 15;
  }
  group.append(chosenBox, hit);
  brushShows.push(show);
  show();
  return group;
}
const brushShows = [];

function showRelations() {
  const params = variedParams(), figures = measuredBy.filter((one) => finished.some((row) => isNumber(one.of(row))));
  if (!params.length || !figures.length) return finished.length && leaveOut(say("relations"), say(params.length ? "relations_no_figure" : "relations_none"));
  const dots = [], lines = [], scatter = make("div", {}), parallel = make("div", { class: "scroll" });
  const option = (one, i) => make("option", { value: i }, one.title);
  const across = make("select", { id: "relation-x", "aria-label": say("hyperparameters"), onchange: () => drawBoth() }, ...params.map(option));
  const upwards = make("select", { id: "relation-y", "aria-label": say("figure"), onchange: () => drawBoth() }, ...figures.map(option));
  const dim = () => {
    const shown = new Set(table.shown);
    for (const [row, mark] of [...dots, ...lines]) mark.classList.toggle("dim", !shown.has(row));
    for (const show of brushShows) show();
  };
  const drawBoth = () => {
    const x = params[across.value], y = figures[upwards.value], energy = figures.find((one) => one.key === "energy"), axes = [...params, y, ...(energy && energy !== y ? [energy] : [])];
    const dimmed = (svg) => { dim(); return svg; };
    sized(scatter, (width) => dimmed(drawScatter(x, y, width, dots)));
    sized(parallel, (width) => { brushShows.length = 0; return dimmed(drawParallel(axes, y, width - 2, lines)); });
    /* What is selected on an axis that is no more selects nothing that anybody sees. */
    for (const key of table.brushes.keys()) if (!axes.some((axis) => axis.key === key)) table.brushes.delete(key);
    refresh();
  };
  const metrics = figures.filter((one) => one.key.startsWith("m:")).map((one) => one.title), first = metrics.length ? figures.findIndex((one) => one.title === bestMetric(metrics)) : 0;
  upwards.value = first;
  const effect = effectGroups.flatMap((group) => group.effects).filter((one) => one.on === figures[first].title).sort((a, b) => a.p_corrected - b.p_corrected)[0];
  across.value = Math.max(0, params.findIndex((one) => one.title.toLowerCase() === effect?.hyperparameter.toLowerCase()));
  const failed = finished.some((row) => row.outcome === "failed");
  place("relations", make("h2", {}, say("relations")), make("p", { class: "hint how" }, say("relations_hint")),
    make("div", { class: "controls" }, upwards, make("span", { class: "hint" }, say("against")), across),
    make("div", { class: params.length > 5 ? "relations" : "relations two" }, scatter, parallel),
    make("p", { class: "legend" }, make("span", {}, ...["step-0", "step-1", "step-2", "step-3", "step-4"].map((step) => make("i", { class: "swatch " + step })), say("steps_legend")), failed ? make("span", {}, make("b", { class: "cross-legend" }, "× "), say("cross_legend")) : null));
  table.listeners.push(dim);
  drawBoth();
}
