/* One experiment: what was seen, its curves, its epochs, the end of its log. */
const weightOf = (item) => item.weight ?? head.kinds[item.kind]?.weight ?? "suspect";

/* What was seen is in the words of what saw it; where the page has another language, what it means comes first. */
function evidenceItem(item) {
  const kind = kindOf(item.kind), weight = weightOf(item), translated = head.language !== "en" && kind;
  const when = isNumber(item.from_s) ? say("span", { from: duration(item.from_s), to: isNumber(item.to_s) ? duration(item.to_s) : "…" }) : null;
  const attempt = isNumber(item.attempt) ? say("attempt", { n: item.attempt }) : null;
  return make("li", { class: weight },
    make("p", {}, badge(weight), " ", make("b", {}, translated ? kind.meaning : item.text || item.kind)),
    translated && item.text ? make("p", { class: "seen-text" }, `${say("as_written")}: `, make("span", { lang: "en" }, item.text)) : null,
    make("p", { class: "soft" }, [item.kind, item.device, attempt, when].filter(Boolean).join(" · ")),
    kind && !translated ? make("p", {}, `${say("meaning")}: ${kind.meaning}`) : null,
    kind ? make("p", {}, `${say("remedy")}: ${kind.remedy}`) : null);
}

/* The verdict on each quantity, and every check with its outcome; its figures are in the words of what made it. */
function checksOf(row) {
  const own = row.data.tare || {}, classes = { passed: "clean", failed: "contaminated", not_made: "unverified", not_needed: "unjudged" };
  if (!Array.isArray(own.checks)) return head.layout || !(own.attempts || []).length ? [] : [make("p", { class: "hint" }, say("checks_not_recorded"))];
  const verdicts = ["time", "energy", "metric"].filter((name) => own.verdicts?.[name]).flatMap((name) => [say(`quantity_${name}`) + " ", badge(own.verdicts[name]), " "]);
  return [make("h3", {}, say("checks")), verdicts.length ? make("p", { class: "quantities" }, ...verdicts) : null,
    make("div", { class: "scroll" }, make("table", { class: "checks" },
      make("thead", {}, make("tr", {}, ...["check", "outcome", "check_text"].map((name) => make("th", {}, say(name))))),
      make("tbody", {}, ...own.checks.map((item) => make("tr", {}, make("td", { title: item.check }, say(`check_${item.check}`)),
        make("td", {}, make("span", { class: `badge ${classes[item.outcome] ?? "unjudged"}` }, say(`check_is_${item.outcome}`))),
        make("td", { lang: "en" }, item.text ?? ""))))))].filter(Boolean);
}

function epochName(epoch) {
  if (epoch.part !== "epoch") return say(epoch.part);
  return epoch.label !== null && epoch.label !== undefined ? `${epoch.name} ${epoch.label}` : epoch.name;
}

function epochTable(row) {
  const columns = [
    [say("part"), (e) => epochName(e), false], [say("start"), (e) => duration(e.start_s), true], [say("duration"), (e) => duration(e.duration_s), true],
    [say("energy"), (e) => withHalfWidth(e.gpu_energy_j, e.gpu_half_width_j), true],
    [say("mean_power"), (e) => withUnit(e.gpu_power_w, "W"), true], [say("memory"), (e) => withUnit(e.gpu_mem_peak_mib, "MiB"), true],
  ];
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, ...columns.map(([title, , number]) => make("th", { class: number ? "number" : null }, title)))),
    make("tbody", {}, ...row.epochs.map((epoch) => make("tr", {}, ...columns.map(([, text, number]) => make("td", { class: number ? "number" : null }, text(epoch))))))));
}

/* The stretches to shade, in seconds: of what contaminates without a time of its own, the whole experiment. */
function disturbed(row) {
  const spans = row.evidence.filter((item) => isNumber(item.from_s) && weightOf(item) !== "recorded")
    .map((item) => ({ from: item.from_s, to: item.to_s ?? row.duration, weight: weightOf(item) }));
  const whole = row.evidence.some((item) => !isNumber(item.from_s) && weightOf(item) === "contaminated");
  return whole && isNumber(row.duration) ? [{ from: 0, to: row.duration, weight: "contaminated" }] : spans;
}

/* From the start to the end of the experiment, whatever was sampled of it; a stretch that somebody drags over as it is. */
function wholeOf(row, traces) {
  const seconds = traces.flatMap((trace) => [trace.seconds[0], trace.seconds[trace.seconds.length - 1]]), first = Math.min(...seconds), last = Math.max(...seconds);
  return (plot, low, high) => (low === first && high === last ? [Math.min(0, first), Math.max(row.duration ?? 0, last, first + 1)] : [low, high]);
}

function showCurves(parent, row) {
  const traces = row.data.trace || [];
  if (row.data.trace_error) parent.append(make("p", { class: "hint" }, say("trace_error", { text: row.data.trace_error })));
  if (!traces.length) {
    if (rows.some((one) => one.data.trace?.length)) parent.append(make("p", { class: "hint" }, say("no_trace"))); // of a whole run it is said once
    return;
  }
  const box = make("div", { class: "charts" });
  parent.append(box);
  const lines = row.epochs.filter((epoch) => epoch.part === "epoch" && isNumber(epoch.start_s)).map((epoch) => ({ at: epoch.start_s, label: String(epoch.label ?? "") }));
  const bands = () => disturbed(row).map((span) => ({ ...span, fill: colour(span.weight + "-soft") }));
  const sync = typeof uPlot === "undefined" ? { key: null } : uPlot.sync("detail");
  for (const name of ["power", "utilisation", "memory", "memory_utilisation", "temperature", "memory_temperature", ...head.readings.map((one) => one.key)]) {
    const { key, unit } = SERIES[name], mine = tracesOf(row, key);
    if (!mine.length) continue;
    const entry = chart(box, 190, () => ({
      data: columns(mine, key),
      options: {
        title: "", cursor: { sync: { key: sync.key } },
        scales: { x: { time: false, range: wholeOf(row, mine) }, y: { range: (plot, low, high) => [/temperature/.test(name) ? Math.floor((low ?? 0) - 1) : 0, high > 0 ? high * 1.08 : 1] } },
        series: [{ label: say("seconds"), value: (plot, value) => (isNumber(value) ? plain(value) : "–") }, ...seriesOf(name, mine.map((trace) => trace.gpu), "y")],
        axes: [axis({ size: 32 }), axis({})],
        hooks: { drawClear: [behind(bands(), lines)] },
      },
    }));
    entry.box.dataset.name = name;
    entry.box.prepend(make("h3", {}, `${say(name)} (${unit})`));
  }
}

function list(pairs) {
  return make("dl", {}, ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

/* Every figure of the measurement that there is; a name's tooltip is the column or key that it has in the files. */
function figuresOf(row) {
  const gpu = row.gpu || {}, percent = (v) => withUnit(100 * v, "%");
  const all = [
    ["energy", "joules, half_width_j", withHalfWidth(gpu.joules, gpu.half_width_j)],
    ["aliasing", "aliasing_bound_j", gpu.aliasing_bound_j > gpu.half_width_j ? withUnit(gpu.aliasing_bound_j, "J", 3) : ""],
    ["recorded_energy", "recorded_j", withUnit(gpu.recorded_j, "J")], ["net_energy", "net_of_bare_idle_j, net_half_width_j", withHalfWidth(gpu.net_of_bare_idle_j, gpu.net_half_width_j)],
    ["mean_power", "power_mean_w", withUnit(gpu.power_mean_w, "W")],
    ["power_range", "power_min_w, power_max_w", range(gpu.power_min_w, gpu.power_max_w, "W")],
    ["power_cv", "power_cv_within", isNumber(gpu.power_cv_within) ? percent(gpu.power_cv_within) : ""],
    ["temperature_start", "temperature_start_c", withUnit(startOf(row).temperature, "°C")],
    ["clock_start", "sm_clock_mhz", withUnit(startOf(row).clock, "MHz")],
    ["clock_mean", "sm_clock_mean_mhz", withUnit(gpu.sm_clock_mean_mhz, "MHz")],
    ["temperature_mean", "temperature_mean_c", withUnit(gpu.temperature_mean_c, "°C")], ["temperature_max", "temperature_max_c", withUnit(gpu.temperature_max_c, "°C")],
    ["utilisation_mean", "utilisation_mean_percent", withUnit(gpu.utilisation_mean_percent, "%")], ["utilisation_max", "utilisation_max_percent", withUnit(gpu.utilisation_max_percent, "%")],
    [`peak_memory_${row.memoryOf}`, "gpu_mem_peak_mib", withUnit(row.memory, "MiB")], ["peak_memory_pair", "gpu_mem_pair_peak_mib", withUnit(row.pairMemory, "MiB")],
    ["sampled", "covered_share", isNumber(gpu.covered_share) ? percent(gpu.covered_share) : ""], ["gap", "longest_gap_s", duration(gpu.longest_gap_s)],
    ["cpu_energy", "cpu_package.joules, cpu_package.half_width_j", withHalfWidth(row.cpu, row.cpuHalfWidth)], ["dram_energy", "dram.joules", withUnit(row.dram, "J")],
  ];
  const later = head.readings.flatMap(({ name, unit, figures }) => Object.entries(figures).map(([key, how]) => [say(how, { name }), key, withUnit(gpu[key], unit)]));
  return [...all.map(([name, ...more]) => [say(name), ...more]), ...later].filter(([, , text]) => text).map(([name, key, text]) => [make("span", { title: key || null }, name), text]);
}

/* What makes the GPU energy uncertain: a row for each component, as page.c gives them. What nobody knows says so. */
function budgetOf(row) {
  const budget = row.gpu?.budget;
  if (!budget?.rows?.length) return [];
  const figure = (v) => (isNumber(v) ? plain(v, 4) : v === "inf" ? "∞" : say("unknown")), sources = ["readings", "sensor profile", "assumption"];
  const rows = budget.rows.map(([name, type, u, unit, sensitivity, joules, freedom, source]) => make("tr", { "data-component": name },
    make("td", { title: name }, say(`budget_${name}`)), make("td", {}, type), make("td", { class: "number" }, isNumber(u) && unit !== "1" ? `${figure(u)} ${unit}` : figure(u)),
    make("td", { class: "number" }, `${figure(sensitivity)}${{ s: " W", 1: " J" }[unit] ?? ""}`), make("td", { class: "number" }, isNumber(joules) ? `${figure(joules)} J` : figure(joules)),
    make("td", { class: "number" }, figure(freedom)), sources.includes(source) ? make("td", {}, say(`budget_of_${source.replace(" ", "_")}`)) : make("td", { lang: "en" }, source)));
  return [make("details", { class: "budget" }, make("summary", {}, say("budget")),
    make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, ...["component", "type", "u", "sensitivity", "joules", "freedom", "source"].map((name, i) => make("th", { class: i > 1 && i < 6 ? "number" : null }, say(`budget_${name}`))))),
      make("tbody", {}, ...rows))),
    make("p", { class: "hint" }, say("budget_hint")))];
}

/* The power within one of the job's steps: the curve with its band, phases between dotted lines with their joules. */
function drawSteps({ bins, phases }, width) {
  const end = bins.at(-1).end_s, watts = (v, digits) => withUnit(v, "W", digits), ms = (v, digits) => withUnit(v, "ms", digits);
  const across = numberScale([], { from: 0, to: end * 1000, margin: 0, n: marksFor(width), text: ms }), upwards = numberScale([], { from: 0, to: Math.max(...bins.map((bin) => bin.power_w + bin.half_width_w)), margin: 0, n: 5, text: watts });
  const { svg, x: at, y: over, top, bottom } = frame(width, 320, say("step_power"), across, upwards, ["", ""], 44);
  svg.classList.add("step-power");
  const x = (s) => at(s * 1000), y = (w) => over(Math.max(w, 0));
  const line = (value) => bins.flatMap((bin) => [`${x(bin.begin_s)} ${y(value(bin))}`, `${x(bin.end_s)} ${y(value(bin))}`]);
  const back = [...bins].reverse().flatMap((bin) => [bin.end_s, bin.begin_s].map((s) => `${x(s)} ${y(bin.power_w - bin.half_width_w)}`));
  svg.append(make("path", { d: `M${line((bin) => bin.power_w + bin.half_width_w).concat(back).join("L")}Z`, fill: "var(--accent)", opacity: 0.2 }),
    make("path", { d: `M${line((bin) => bin.power_w).join("L")}`, fill: "none", stroke: "var(--accent)", "stroke-width": 2 }));
  for (const phase of phases) {
    const from = x(Math.min(phase.begin_s, end)), to = x(Math.min(phase.end_s, end)), joules = withHalfWidth(phase.energy_j, phase.half_width_j) || say("unknown");
    svg.append(make("line", { x1: to, x2: to, y1: top, y2: bottom, stroke: "var(--soft)", "stroke-dasharray": "2 4" }),
      ...[[phase.name, top - 24, "phase"], [joules, top - 8, "soft"]].map(([text, up, name]) => make("text", { x: (from + to) / 2, y: up, "text-anchor": "middle", class: name }, make("title", {}, `${phase.name}: ${joules}`), cut(text, to - from))));
  }
  return svg;
}

function stepsOf(row) {
  return (row.data.tare?.energy?.step_power || []).flatMap((steps) => {
    const title = make("h3", {}, `${say("step_power")} (${steps.device})`), box = make("div", {});
    if (!steps.bins?.length) return [title, make("p", { class: "hint", lang: "en" }, steps.reason ?? "")];
    sized(box, (width) => drawSteps(steps, width));
    return [title, box, make("p", { class: "hint" }, say("step_power_hint", { n: steps.steps, left: steps.steps_left_out }))];
  });
}

const range = (low, high, unit) => (isNumber(low) && isNumber(high) ? `${plain(low)} – ${withUnit(high, unit)}` : "");

/* As the guard saw it before the attempt that counts; in the study's layout the first sample. */
function startOf(row) {
  const own = row.data.tare || {}, looks = (own.guard || []).filter((item) => item.phase === "preflight" && item.attempt === (own.result_attempt ?? item.attempt));
  const devices = looks.length ? looks[looks.length - 1].devices || [] : [];
  const mean = (key) => { const list = devices.map((device) => device[key]).filter(isNumber); return list.length ? sum(list) / list.length : null; };
  return { temperature: mean("temperature_c") ?? row.gpu?.temperature_start_c, clock: mean("sm_clock_mhz") };
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

/* Its files; a memory snapshot with its analysis, or the command that makes one. */
function filesOf(row) {
  const files = row.data.files || [];
  const box = make("div", {}, make("h3", {}, say("files")),
    make("p", { class: "files" }, ...files.map((file) => (head.way === null ? make("span", {}, file) : linkTo(wayOf(row.id, file), file)))));
  for (const file of files.filter((name) => /memory_snapshot[^/]*\.pickle$/.test(name))) {
    const page = file.replace(/pickle$/, "html"), [from, to] = [file, page].map((name) => quoted(`${row.id}/${name}`));
    box.append(files.includes(page) && head.way !== null
      ? make("p", { class: "snapshot" }, linkTo(wayOf(row.id, page), say("snapshot_page")))
      : make("p", { class: "snapshot" }, say("snapshot_command"), " ", make("code", {}, `${head.program} memory ${from} --html ${to}`)));
  }
  return files.length ? box : null;
}

function showDetail(row) {
  const own = row.data.tare || {}, figures = figuresOf(row), files = filesOf(row);
  const mutated = new Set(own.mutated || []);
  const section = document.getElementById("detail");
  section.replaceChildren(
    make("h2", {}, row.id, " ", badge(row.outcome), " ", badge(row.verdict)),
    make("p", { class: "facts" }, ...[row.label, say(row.mode), row.data.background ? say("beside", { name: typeof row.data.background === "string" ? row.data.background : [row.data.background.repository, row.data.background.model].filter(Boolean).join("/") }) : null,
      moment(row.start), duration(row.duration),
      withHalfWidth(row.energy, row.halfWidth) || null,
      ...Object.entries(row.metrics).map(([name, value]) => (value === null ? null : `${name} ${isNumber(value) ? plain(value, 5) : value}`))]
      .filter(Boolean).map((text) => make("span", {}, text))));
  if (row.error) section.append(make("p", {}, make("b", {}, say("error") + ": "), row.error));
  section.append(row.evidence.length ? make("ul", { class: "seen" }, ...row.evidence.map(evidenceItem)) : make("p", { class: "hint" }, say(row.verdict === "clean" ? "no_evidence" : "no_evidence_unjudged")));
  section.append(...checksOf(row));
  showCurves(section, row);
  if (row.epochs.length) section.append(make("h3", {}, say("epochs")), epochTable(row));
  const params = Object.entries(row.params).map(([name, value]) => [name, `${value}${mutated.has(name) ? ` (${say("mutated")})` : ""}`]);
  const tries = (own.attempts || []).map((attempt) => [say("attempt", { n: attempt.number }), [say(attempt.outcome ?? "none"), duration(attempt.duration_seconds), attempt.error].filter(Boolean).join(" · ")]);
  const part = (title, pairs) => (pairs.length ? make("div", {}, make("h3", {}, say(title)), list(pairs)) : null);
  section.append(make("div", { class: "columns" }, ...[part("measured", figures), make("div", {}, ...[part("hyperparameters", params), part("attempts", tries)].filter(Boolean)), files].filter(Boolean)));
  section.append(...stepsOf(row));
  section.append(...budgetOf(row));
  if (own.command) section.append(make("h3", {}, say("command")), make("pre", {}, own.command.map(quoted).join(" ")));
  if (row.data.log_end) {
    const log = make("pre", { class: "log", tabindex: "0" }, row.data.log_end);
    section.append(make("h3", {}, say("log_end")), log);
    log.scrollTop = log.scrollHeight;
  }
}
chosen.listeners.push(showDetail);
