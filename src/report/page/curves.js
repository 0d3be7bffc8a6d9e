/* Learning curves: of each metric one panel with the curves of all experiments, in the colours of a hyperparameter. uPlot draws the axes and
 * zooms; the curves are drawn behind it, since hundreds of them are too many for its legend and its cursor. */
const CURVES_DRAWN = 400, AXES = ["epoch", "step", "seconds"];
const PALETTE = ["#0b62c4", "#c8470f", "#1a7f4b", "#8a3ffc", "#96650a", "#0d7d7d", "#c02626", "#6b7480"];

/* Points of an experiment's metric; what is not finite is null, and the curve has a gap there. */
const curveOf = (row, metric) => row.data.curves?.[metric];
const finite = (list) => (list || []).map((value) => (isNumber(value) ? value : null));

/* Within an epoch a point lies as far as its match is in it; one match an epoch lies on the epoch. */
function byEpoch(curve) {
  const at = [], { epoch, step } = curve;
  for (let i = 0; i < step.length; ) {
    let end = i + 1;
    while (end < step.length && epoch[end] === epoch[i]) end++;
    const last = end < step.length ? step[end] : step[end - 1] + 1;
    for (let k = i; k < end; k++) at.push(isNumber(epoch[i]) ? epoch[i] + (step[k] - step[i]) / (last - step[i]) : null);
    i = end;
  }
  return at;
}
const across = (curve, axisName) => (axisName !== "epoch" ? finite(curve[axisName]) : curve.epoch ? byEpoch(curve) : curve.step.map(() => null));

const curveRows = (metric) => rows.filter((row) => finite(curveOf(row, metric)?.value).filter((value) => value !== null).length > 1);
/* A metric that each training tells once has no curve. */
const curveMetrics = metricNames.filter((metric) => curveRows(metric).length > 0);

/* Evenly over the plan, and the best one: more cannot be seen. */
function fewCurves(list, best) {
  if (list.length <= CURVES_DRAWN) return list;
  const step = list.length / CURVES_DRAWN;
  return [...new Set([best, ...Array.from({ length: CURVES_DRAWN - 1 }, (unused, i) => list[Math.floor(i * step)])].filter(Boolean))];
}

/* By its goal, of those that count; null where nobody knows which is better. */
function bestOf(list, metric) {
  const sign = { minimize: 1, maximize: -1 }[head.goals?.[metric]];
  const told = (row) => row.data.tare?.best?.[metric]?.value;
  return sign ? list.filter((row) => counts(row) && isNumber(told(row))).sort((a, b) => sign * (told(a) - told(b)) || a.number - b.number)[0] ?? null : null;
}

/* From a hyperparameter's values to colours: numbers on a scale, others each its own. */
function coloursOf(name) {
  const values = rows.map((row) => paramOf(row, name)).filter((value) => value !== undefined && value !== null), numbers = values.filter(isNumber);
  const key = (value) => JSON.stringify(value), kinds = [...new Set(values.map(key))].sort((a, b) => compare(JSON.parse(a), JSON.parse(b)));
  if (!name) return { of: () => colour("accent"), legend: [] };
  if (numbers.length < values.length || kinds.length <= 4) {
    const shade = (value) => PALETTE[kinds.indexOf(key(value)) % PALETTE.length];
    return { of: (row) => { const value = paramOf(row, name); return value === undefined || value === null ? colour("unjudged") : shade(value); },
      legend: kinds.slice(0, 24).map((kind) => [shade(JSON.parse(kind)), isNumber(JSON.parse(kind)) ? plain(JSON.parse(kind)) : String(JSON.parse(kind))]) };
  }
  const low = numbers.reduce((a, b) => Math.min(a, b)), high = numbers.reduce((a, b) => Math.max(a, b)), log = low > 0 && high / low >= 20;
  const scale = log ? Math.log : (v) => v, share = (v) => (scale(v) - scale(low)) / (scale(high) - scale(low));
  const shade = (v) => `hsl(${Math.round(265 - 235 * share(v))} 75% ${Math.round(46 - 6 * Math.sin(Math.PI * share(v)))}%)`;
  const mid = log ? Math.sqrt(low * high) : (low + high) / 2;
  return { of: (row) => { const value = paramOf(row, name); return isNumber(value) ? shade(value) : colour("unjudged"); }, legend: [low, mid, high].map((v) => [shade(v), plain(v)]) };
}

/* All of the range, unless a few diverged so far that the others would be one line. */
function rangeOf(lines) {
  const values = lines.flatMap((line) => line.y).filter((value) => value !== null).sort((a, b) => a - b);
  const low = values[0], high = values[values.length - 1], q1 = quantile(values, 0.05), q3 = quantile(values, 0.95), room = 1.5 * (q3 - q1);
  const cutLow = q3 > q1 && q1 - low > 20 * (q3 - q1) ? q1 - room : low, cutHigh = q3 > q1 && high - q3 > 20 * (q3 - q1) ? q3 + room : high;
  const margin = (cutHigh - cutLow || Math.abs(cutLow) || 1) * 0.05;
  return { range: [cutLow - margin, cutHigh + margin], beyond: lines.filter((line) => line.y.some((v) => v !== null && (v < cutLow || v > cutHigh))).length };
}

function drawLine(plot, line, width) {
  const { ctx } = plot;
  ctx.beginPath();
  ctx.strokeStyle = line.colour;
  ctx.lineWidth = width * devicePixelRatio;
  ctx.setLineDash(line.row.outcome === "failed" ? [5 * devicePixelRatio, 4 * devicePixelRatio] : []);
  let open = false;
  for (let i = 0; i < line.x.length; i++) {
    if (line.x[i] === null || line.y[i] === null) { open = false; continue; }
    const x = plot.valToPos(line.x[i], "x", true), y = plot.valToPos(line.y[i], "y", true);
    const alone = !open && (i + 1 >= line.x.length || line.y[i + 1] === null || line.x[i + 1] === null);
    if (alone) ctx.rect(x - 1, y - 1, 2, 2);
    else if (open) ctx.lineTo(x, y);
    else ctx.moveTo(x, y);
    open = true;
  }
  ctx.stroke();
}

function drawLines(plot, lines, best, near) {
  const { ctx } = plot, { left, top, width, height } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.globalAlpha = near || lines.length > 60 ? 0.4 : 0.85;
  for (const line of lines) drawLine(plot, line, lines.length > 60 ? 1 : 1.5);
  ctx.globalAlpha = 1;
  const marked = lines.find((line) => line.row === best);
  if (marked) {
    drawLine(plot, { ...marked, colour: colour("paper") }, 6);
    drawLine(plot, marked, 3);
  }
  if (near) drawLine(plot, { ...near, colour: colour("ink") }, 3);
  if (marked?.at) {
    ctx.beginPath();
    ctx.setLineDash([]);
    ctx.arc(plot.valToPos(marked.at[0], "x", true), plot.valToPos(marked.at[1], "y", true), 5 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fillStyle = colour("paper");
    ctx.strokeStyle = colour("ink");
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

/* The nearest point within a finger's width. */
function nearest(plot, lines, left, top) {
  let found = null, least = 24 * 24;
  for (const line of lines)
    for (let i = 0; i < line.x.length; i++) {
      if (line.x[i] === null || line.y[i] === null) continue;
      const dx = plot.valToPos(line.x[i], "x") - left, dy = plot.valToPos(line.y[i], "y") - top, far = dx * dx + dy * dy;
      if (far < least) { least = far; found = { line, i }; }
    }
  return found;
}

const axisText = (name, value) => (name === "seconds" ? duration(value) : plain(value, 6));

/* Into the parent; gives what draws it, once all panels have their place and width. */
function addPanel(parent, metric, axisName, shades, param) {
  const all = curveRows(metric), best = bestOf(all, metric), list = fewCurves(all, best);
  const lines = list.map((row) => {
    const curve = curveOf(row, metric), at = row.data.tare?.best?.[metric], x = across(curve, axisName), y = finite(curve.value);
    const i = row === best ? curve.step.indexOf(at.step) : -1;
    return { row, x, y, colour: shades.of(row), at: i >= 0 && x[i] !== null ? [x[i], y[i]] : null };
  }).filter((line) => line.x.some((x) => x !== null));
  if (!lines.length) return () => {};
  const xs = lines.flatMap((line) => line.x).filter((x) => x !== null), { range, beyond } = rangeOf(lines);
  const low = xs.reduce((a, b) => Math.min(a, b)), high = xs.reduce((a, b) => Math.max(a, b)), span = low === high ? [low - 1, high + 1] : [low, high];
  const told = make("p", { class: "hint told", role: "status" }), box = make("div", { class: "panel", "data-metric": metric }, make("h3", {}, metric));
  const rest = () => told.replaceChildren(...(best ? [say("curve_best"), " ", make("button", { type: "button", class: "link", onclick: () => choose(best, true) }, best.id), ` (${plain(best.data.tare.best[metric].value, 5)})`] : [say("curve_point")]));
  const notes = [all.length > lines.length ? say("curves_left_out", { n: lines.length, all: all.length }) : null, beyond ? say("curves_beyond", { n: beyond }) : null].filter(Boolean);
  let near = null;
  parent.append(box);
  const build = () => ({
    data: [span, [null, null]],
    options: {
      legend: { show: false }, cursor: { points: { show: false }, y: false, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (plot, a, b) => (plot.zoomed ? [a, b] : span) }, y: { range: () => range } },
      series: [{ label: say("axis_" + axisName) }, { label: metric, scale: "y", stroke: colour("accent") }],
      axes: [axis({ label: say("axis_" + axisName), values: (plot, marks) => marks.map((mark) => (isNumber(mark) ? axisText(axisName, mark) : "")), space: axisName === "seconds" ? 80 : 50, size: 32, labelSize: 20 }), axis({ scale: "y" })],
      hooks: {
        draw: [(plot) => drawLines(plot, lines, best, near?.line)],
        setSelect: [(plot) => { plot.zoomed = plot.select.width > 0; }],
        setCursor: [(plot) => {
          const { left, top } = plot.cursor, found = left >= 0 ? nearest(plot, lines, left, top) : null;
          if (found?.line === near?.line && found?.i === near?.i) return;
          near = found;
          if (found) {
            const { row, x, y } = found.line, value = param ? paramOf(row, param) : undefined;
            told.replaceChildren(`${row.id}${row.outcome === "failed" ? ` (${say("failed")})` : ""}: ${metric} ${plain(y[found.i], 5)}, ${say("axis_" + axisName)} ${axisText(axisName, x[found.i])}${value === undefined ? "" : `, ${param} ${isNumber(value) ? plain(value) : value}`}`);
          } else rest();
          plot.redraw(false, false);
        }],
        init: [(plot) => {
          plot.over.addEventListener("dblclick", () => { plot.zoomed = false; }, { capture: true });
          plot.over.addEventListener("click", () => { if (near && !plot.select.width) choose(near.line.row, true); });
        }],
      },
    },
  });
  return () => {
    chart(box, 260, build).box.lines = lines;
    rest();
    box.append(told, ...notes.map((text) => make("p", { class: "hint" }, text)));
  };
}

function showLearning() {
  if (!curveMetrics.length) return;
  const known = AXES.filter((name) => curveMetrics.some((metric) => curveRows(metric).some((row) => finite(curveOf(row, metric)[name]).some((x) => x !== null))));
  const option = (value, text) => make("option", { value }, text), box = make("div", { class: "charts" }), legend = make("div", { class: "legend" });
  const update = () => {
    const shades = coloursOf(param.value);
    legend.replaceChildren(...shades.legend.map(([shade, text]) => make("span", {}, make("span", { class: "swatch", style: `background:${shade}` }), text)));
    box.replaceChildren();
    for (const entry of [...drawn]) if (!entry.box.isConnected) redraw(entry); // gives it up
    for (const paint of curveMetrics.map((metric) => addPanel(box, metric, axisName.value, shades, param.value))) paint();
  };
  const axisName = make("select", { id: "curve-axis", "aria-label": say("curve_axis"), onchange: () => update() }, ...known.map((name) => option(name, say("axis_" + name))));
  const param = make("select", { id: "curve-colour", "aria-label": say("curve_colour"), onchange: () => update() }, ...paramNames.map((name) => option(name, say("coloured_by", { name }))), option("", say("coloured_not")));
  /* What matters most, as far as anybody tested it. */
  const likely = effectGroups.flatMap((group) => group.effects).sort((a, b) => a.p_corrected - b.p_corrected)[0]?.hyperparameter.toLowerCase();
  param.value = paramNames.find((name) => name.toLowerCase() === likely) ?? paramNames[0] ?? "";
  place("curves", make("h2", {}, say("curves")), make("p", { class: "hint how" }, say("curves_hint")),
    ...(head.curves_thinned ? [make("p", { class: "hint" }, say("curves_thinned"))] : []),
    make("div", { class: "controls" }, axisName, param), legend, box);
  update();
}
