/* One experiment: what was seen, its curves, its epochs, the end of its log. */
const weightOf = (item) => item.weight ?? head.kinds[item.kind]?.weight ?? "suspect";

function evidenceItem(item) {
  const kind = kindOf(item.kind), weight = weightOf(item);
  const when = isNumber(item.from_s) ? say("span", { from: duration(item.from_s), to: isNumber(item.to_s) ? duration(item.to_s) : "…" }) : null;
  return make("li", { class: weight },
    make("p", {}, badge(weight), " ", make("b", {}, item.text || item.kind)),
    make("p", { class: "soft" }, [item.kind, item.device, say("attempt", { n: item.attempt }), when].filter(Boolean).join(" · ")),
    kind ? make("p", {}, `${say("meaning")}: ${kind.meaning}`) : null,
    kind ? make("p", {}, `${say("remedy")}: ${kind.remedy}`) : null);
}

function epochName(epoch) {
  if (epoch.part !== "epoch") return say(epoch.part);
  return epoch.label !== null && epoch.label !== undefined ? `${epoch.name} ${epoch.label}` : epoch.name;
}

function epochTable(row) {
  const columns = [
    [say("part"), (e) => epochName(e), false], [say("start"), (e) => duration(e.start_s), true], [say("duration"), (e) => duration(e.duration_s), true],
    [say("energy"), (e) => withUnit(e.gpu_energy_j, "J"), true], [say("half_width"), (e) => withUnit(e.gpu_half_width_j, "J", 2), true],
    [say("mean_power"), (e) => withUnit(e.gpu_power_w, "W"), true], [say("memory"), (e) => withUnit(e.gpu_mem_peak_mib, "MiB"), true],
  ];
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, ...columns.map(([title, , number]) => make("th", { class: number ? "number" : null }, title)))),
    make("tbody", {}, ...row.epochs.map((epoch) => make("tr", {}, ...columns.map(([, text, number]) => make("td", { class: number ? "number" : null }, text(epoch))))))));
}

function showCurves(parent, row) {
  const traces = row.data.trace || [];
  if (row.data.trace_error) parent.append(make("p", { class: "hint" }, say("trace_error", { text: row.data.trace_error })));
  if (!traces.length) {
    parent.append(make("p", { class: "hint" }, say("no_trace")));
    return;
  }
  const box = make("div", { class: "charts" });
  parent.append(box);
  const lines = row.epochs.filter((epoch) => epoch.part === "epoch" && isNumber(epoch.start_s)).map((epoch) => ({ at: epoch.start_s, label: String(epoch.label ?? "") }));
  const bands = () => row.evidence.filter((item) => isNumber(item.from_s) && weightOf(item) !== "recorded")
    .map((item) => ({ from: item.from_s, to: item.to_s ?? row.duration, fill: colour(weightOf(item) + "-soft") }));
  const sync = typeof uPlot === "undefined" ? { key: null } : uPlot.sync("detail");
  for (const name of ["power", "memory", "temperature", "utilisation"]) {
    const { key, unit } = SERIES[name];
    if (!traces.some((trace) => trace[key].some(isNumber))) continue;
    const entry = chart(box, 190, () => ({
      data: columns(traces, key),
      options: {
        title: "", cursor: { sync: { key: sync.key } },
        scales: { x: { time: false }, y: { range: (plot, low, high) => [name === "temperature" ? Math.floor((low ?? 0) - 1) : 0, Math.max((high ?? 1) * 1.05, 1)] } },
        series: [{ label: say("seconds"), value: (plot, value) => (isNumber(value) ? plain(value) : "–") }, ...seriesOf(name, traces.map((trace) => trace.gpu), "y")],
        axes: [axis({}), axis({ label: `${say(name)} (${unit})`, size: 58 })],
        hooks: { drawClear: [behind(bands(), lines)] },
      },
    }));
    entry.box.dataset.name = name;
    entry.box.prepend(make("h3", {}, say(name)));
  }
}

function list(pairs) {
  return make("dl", {}, ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function showDetail(row) {
  const own = row.data.tare || {};
  const mutated = new Set(own.mutated || []);
  const section = document.getElementById("detail");
  section.replaceChildren(
    make("h2", {}, row.id, " ", badge(row.outcome), " ", badge(row.verdict)),
    make("p", { class: "facts" }, ...[row.label, row.mode, moment(row.start), duration(row.duration),
      isNumber(row.energy) ? `${withUnit(row.energy, "J")}${isNumber(row.halfWidth) ? " ± " + withUnit(row.halfWidth, "J", 2) : ""}` : null,
      ...Object.entries(row.metrics).map(([name, value]) => (value === null ? null : `${name} ${isNumber(value) ? plain(value, 5) : value}`))]
      .filter(Boolean).map((text) => make("span", {}, text))));
  if (row.error) section.append(make("p", {}, make("b", {}, say("error") + ": "), row.error));
  section.append(row.evidence.length ? make("ul", { class: "seen" }, ...row.evidence.map(evidenceItem)) : make("p", { class: "hint" }, say("no_evidence")));
  showCurves(section, row);
  if (row.epochs.length) section.append(make("h3", {}, say("epochs")), epochTable(row));
  const params = Object.entries(row.params).map(([name, value]) => [name, `${value}${mutated.has(name) ? ` (${say("mutated")})` : ""}`]);
  const tries = (own.attempts || []).map((attempt) => [say("attempt", { n: attempt.number }), [say(attempt.outcome ?? "none"), duration(attempt.duration_seconds), attempt.error].filter(Boolean).join(" · ")]);
  section.append(make("div", { class: "columns" },
    make("div", {}, make("h3", {}, say("hyperparameters")), list(params)),
    make("div", {}, make("h3", {}, say("attempts")), list(tries))));
  if (own.command) section.append(make("h3", {}, say("command")), make("pre", {}, own.command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`)).join(" ")));
  if (row.data.log_end) {
    const log = make("pre", { class: "log", tabindex: "0" }, row.data.log_end);
    section.append(make("h3", {}, say("log_end")), log);
    log.scrollTop = log.scrollHeight;
  }
}
chosen.listeners.push(showDetail);
