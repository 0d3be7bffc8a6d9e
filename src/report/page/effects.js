/* What a hyperparameter does to the energy or a metric: the median at each of its values with its band, as "stats" says it. One picture at
 * a time, drawn when it is chosen: there may be many, each with thousands of points. */
const effectGroups = head.effects || [];
const effectOn = (effect) => (effect.on === "gpu_energy_j"
  ? { title: say("energy"), of: (row) => row.energy, text: (v, digits) => withUnit(v, "J", digits) }
  : { title: effect.on, of: (row) => row.metrics[effect.on], text: (v, digits = 4) => plain(v, Math.max(digits, 4)) });
const effectTitle = (effect) => say("effect_title", { on: effectOn(effect).title, param: effect.hyperparameter });

/* The row's value of a hyperparameter, whose name may differ by case; large integers are texts. */
function paramOf(row, name) {
  const key = name in row.params ? name : Object.keys(row.params).find((one) => one.toLowerCase() === name.toLowerCase());
  const value = row.params[key];
  return typeof value === "boolean" || (typeof value === "string" && /^-?\d+$/.test(value)) ? Number(value) : value;
}

/* 1, 2 and 5 of each power of ten, or as few of them as n. */
function logTicks(low, high, n) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const step of [1, 2, 5]) if (step * 10 ** power >= low * (1 - 1e-9) && step * 10 ** power <= high * (1 + 1e-9)) all.push(Number(`${step}e${power}`));
  const tens = all.filter((tick) => String(tick.toExponential()).startsWith("1e"));
  const few = all.length > n && tens.length >= 2 ? tens : all;
  return few.length >= 2 ? few.filter((tick, i) => i % Math.ceil(few.length / n) === 0) : [low, high];
}

/* Levels next to each other that have an interval, as one outline. */
function bandsOf(levels, x, y) {
  const bands = [];
  let open = [];
  for (const level of [...levels, null]) {
    if (level?.interval) {
      open.push(level);
      continue;
    }
    const over = open.flatMap((one) => [[one.from, one.interval.high], [one.to, one.interval.high]]);
    const under = open.flatMap((one) => [[one.from, one.interval.low], [one.to, one.interval.low]]).reverse();
    if (open.length) bands.push([...over, ...under].map(([at, value], i) => `${i ? "L" : "M"}${x(at)} ${y(value)}`).join("") + "Z");
    open = [];
  }
  return bands;
}

function drawEffect(group, effect) {
  const on = effectOn(effect), levels = effect.curve, of = new Set(group.experiments);
  const points = finished.filter((row) => of.has(row.id)).map((row) => ({ x: paramOf(row, effect.hyperparameter), y: on.of(row), row })).filter((p) => isNumber(p.x) && isNumber(p.y));
  const width = 1100, height = 400, top = 24, bottom = 48;
  const xs = [...levels.flatMap((level) => [level.from, level.to]), ...points.map((p) => p.x)];
  const ys = [...levels.flatMap((level) => [level.median, ...(level.interval ? [level.interval.low, level.interval.high] : [])]), ...points.map((p) => p.y)];
  const range = (values) => { let low = Infinity, high = -Infinity; for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); } return [low, high]; };
  const [low, high] = range(xs), [least, most] = range(ys);
  const each = new Set(xs).size <= 8, log = low > 0 && high / low >= (each ? 8 : 20), scale = log ? Math.log10 : (v) => v;
  const wide = (from, to) => (to - from || Math.abs(from) || 1) * 0.05;
  const x0 = scale(low) - wide(scale(low), scale(high)), x1 = scale(high) + wide(scale(low), scale(high)), y0 = least - wide(least, most), y1 = most + wide(least, most);
  const across = each ? [...new Set(xs)].sort((a, b) => a - b) : log ? logTicks(low, high, 10) : ticks(low, high, 8), upwards = ticks(y0, y1, 6);
  const below = across.map((tick) => plain(tick, log || each ? 4 : Math.max(digitsOf(across), 4))), beside = upwards.map((tick) => on.text(tick, digitsOf(upwards)));
  const left = Math.max(80, widest(beside) + 14), right = Math.max(30, widest(below) / 2 + 4);
  const x = (v) => left + ((scale(v) - x0) / (x1 - x0)) * (width - left - right), y = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": effectTitle(effect) });
  let free = -Infinity;
  across.forEach((tick, i) => {
    svg.append(make("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - bottom, stroke: "var(--line)" }));
    if (x(tick) - widest([below[i]]) / 2 < free) return;
    svg.append(make("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle", class: "soft" }, below[i]));
    free = x(tick) + widest([below[i]]) / 2 + 8;
  });
  upwards.forEach((tick, i) => svg.append(make("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: "var(--line)" }), make("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end", class: "soft" }, beside[i])));
  svg.append(make("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, make("title", {}, effect.hyperparameter), cut(effect.hyperparameter, width - left - right)),
    make("text", { x: left, y: 14 }, make("title", {}, on.title), cut(on.title, width - left - 4)));
  /* Thousands of points would hide the line. */
  svg.append(make("g", { opacity: points.length > 300 ? 0.3 : 0.8 }, ...points.map((p) => point(x(p.x), y(p.y), p.row, () => `${p.row.id}: ${effect.hyperparameter} ${plain(p.x)}, ${on.text(p.y)}`))));
  for (const d of bandsOf(levels, x, y)) svg.append(make("path", { d, class: "effect-band", fill: "var(--accent)", "fill-opacity": 0.25, stroke: "var(--accent)", "stroke-opacity": 0.5, "pointer-events": "none" }));
  const line = levels.flatMap((level) => (level.from === level.to ? [level.from] : [level.from, level.to]).map((at) => [at, level.median]));
  svg.append(make("path", { d: line.map(([at, value], i) => `${i ? "L" : "M"}${x(at)} ${y(value)}`).join(""), class: "effect-curve", fill: "none", stroke: "var(--accent)", "stroke-width": 2.5, "pointer-events": "none" }));
  for (const level of levels)
    svg.append(make("rect", { x: (x(level.from) + x(level.to)) / 2 - 4, y: y(level.median) - 4, width: 8, height: 8, class: "effect-level", fill: "var(--paper)", stroke: "var(--accent)", "stroke-width": 2 },
      make("title", {}, say("effect_level", { range: level.from === level.to ? plain(level.from) : `${plain(level.from)} – ${plain(level.to)}`, n: level.n, median: on.text(level.median) }) + (level.interval ? ` (${on.text(level.interval.low)} – ${on.text(level.interval.high)})` : ""))));
  return svg;
}

function effectSentence(effect) {
  const rho = (value) => value.toFixed(2).replace("-", "−"), tried = effectGroups.reduce((all, group) => all + group.effects.length, 0);
  const between = effect.interval ? say("effect_between", { low: rho(effect.interval.low), high: rho(effect.interval.high) }) : "";
  const told = say("effect_told", { rho: rho(effect.rho) + between, p: plain(effect.p_corrected, 2), tried, n: effect.n, runs: effect.runs });
  return effect.p_corrected < 0.05 ? told : `${say("effect_chance")} ${told}`;
}

function showEffects() {
  if (!effectGroups.length) return;
  const box = make("div", {}), text = make("p", { class: "hint", id: "effect-told" });
  const nameOf = (group) => [[group.repository, group.model].filter(Boolean).join("/"), say(group.mode), ["mutation", "default"].includes(group.mode) || !group.hyperparameters ? null : say(`params_${group.hyperparameters}`)].filter(Boolean).join(", ");
  const groups = make("select", { id: "effect-group", "aria-label": say("model"), onchange: () => { fill(); update(); } }, ...effectGroups.map((group, i) => make("option", { value: i }, nameOf(group))));
  const effects = make("select", { id: "effect", "aria-label": say("effects"), onchange: () => update() });
  /* What is least likely to be chance comes first. */
  const fill = () => effects.replaceChildren(...effectGroups[groups.value].effects.map((effect, i) => [effect, i]).sort((a, b) => a[0].p_corrected - b[0].p_corrected || Math.abs(b[0].rho) - Math.abs(a[0].rho) || a[1] - b[1]).map(([effect, i]) => make("option", { value: i }, effectTitle(effect))));
  const update = () => {
    const group = effectGroups[groups.value], effect = group.effects[effects.value];
    box.replaceChildren(drawEffect(group, effect));
    text.textContent = effectSentence(effect);
  };
  fill();
  place("effects", make("h2", {}, say("effects")), make("p", { class: "hint" }, say("effects_hint")),
    ...(head.counts?.experiments > rows.length ? [make("p", { class: "hint" }, say("effects_all", { n: head.counts.experiments }))] : []),
    make("div", { class: "controls" }, ...(effectGroups.length > 1 ? [groups] : []), effects), box, text);
  update();
}
