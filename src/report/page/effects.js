/* What a hyperparameter does to the energy or a metric: the median at each of its values with its band, as "stats" says it. One picture at
 * a time, drawn when it is chosen: there may be many, each with thousands of points. */
const effectGroups = head.effects || [];
const effectOn = (effect) => (effect.on === "gpu_energy_j"
  ? { title: say("energy"), of: (row) => row.energy, text: (v, digits) => withUnit(v, "J", digits) }
  : effect.on === "duration_s" ? { title: say("duration"), of: (row) => row.duration, text: (v, digits) => withUnit(v, "s", digits) }
  : { title: effect.on, of: (row) => row.metrics[effect.on], text: (v, digits = 4) => plain(v, Math.max(digits, 4)) });
const effectTitle = (effect) => say("effect_title", { on: effectOn(effect).title, param: effect.hyperparameter });

/* The row's value of a hyperparameter, whose name may differ by case; large integers are texts. */
function paramOf(row, name) {
  const key = name in row.params ? name : Object.keys(row.params).find((one) => one.toLowerCase() === name.toLowerCase());
  const value = row.params[key];
  return typeof value === "boolean" || (typeof value === "string" && /^-?\d+$/.test(value)) ? Number(value) : value;
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

function drawEffect(group, effect, width) {
  const on = effectOn(effect), levels = effect.curve, of = new Set(group.experiments);
  const points = finished.filter((row) => of.has(row.id)).map((row) => ({ x: paramOf(row, effect.hyperparameter), y: on.of(row), row })).filter((p) => isNumber(p.x) && isNumber(p.y));
  const xs = [...levels.flatMap((level) => [level.from, level.to]), ...points.map((p) => p.x)];
  const ys = [...levels.flatMap((level) => [level.median, ...(level.interval ? [level.interval.low, level.interval.high] : [])]), ...points.map((p) => p.y)];
  const each = isFew(xs), across = numberScale(xs, { each, log: isLog(xs, each ? 8 : 20), n: marksFor(width), text: plain }), upwards = numberScale(ys, { n: 6, text: on.text });
  const { svg, x, y } = frame(width, tall(width, 400), effectTitle(effect), across, upwards, [effect.hyperparameter, on.title]);
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
    sized(box, (width) => drawEffect(group, effect, width));
    text.textContent = effectSentence(effect);
  };
  fill();
  place("effects", make("h2", {}, say("effects")), make("p", { class: "hint" }, say("effects_hint")),
    ...(head.counts?.experiments > rows.length ? [make("p", { class: "hint" }, say("effects_all", { n: head.counts.experiments }))] : []),
    make("div", { class: "controls" }, ...(effectGroups.length > 1 ? [groups] : []), effects), box, text);
  update();
}
