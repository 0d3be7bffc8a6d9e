/* What all parts of the page use: the data, texts, numbers, elements. */
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const head = read("head");
const words = TEXTS[head.language] || TEXTS.en;
/* A text of two forms is [of one, of any other number]: of values.count, or of n. A name that nobody fills in is a mistake of this page:
 * the console says so, and no reader sees its brackets. */
const say = (key, values = {}) => {
  const text = words[key] ?? TEXTS.en[key] ?? key;
  return (Array.isArray(text) ? text[(values.count ?? values.n) === 1 ? 0 : 1] : text).replace(/\{(\w+)\}/g, (all, name) => {
    if (values[name] === undefined) console.error(`the text "${key}" lacks ${name}`);
    return values[name] ?? "";
  });
};

/* What a kind of evidence means, in the page's words where there are some. */
function kindOf(name) {
  const [meaning, remedy] = KINDS[head.language]?.[name] ?? [head.kinds[name]?.meaning, head.kinds[name]?.remedy];
  return meaning ? { meaning, remedy } : null;
}

/* An element: attributes that begin with "on" are listeners, "class" and the others are set; children are nodes or texts. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "circle", "rect", "line", "text", "title", "defs", "pattern", "clipPath"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const place = (id, ...children) => document.getElementById(id).replaceChildren(...children);

/* As wide as the text of an SVG (page.css: 12px) or of a chart's axis; cut to what fits. Counting letters is not enough: 中 is as
 * wide as two of them. */
const pen = document.createElement("canvas").getContext("2d"), LETTERS = '12px system-ui, "Noto Sans CJK SC", "PingFang SC", sans-serif';
function textWidth(text) {
  pen.font = LETTERS;
  return pen.measureText(text).width;
}
const widest = (texts) => Math.max(0, ...texts.map(textWidth));
function cut(text, room) {
  if (textWidth(text) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(letters.join("") + "…") > room) letters.pop();
  return letters.join("") + "…";
}

const two = (n) => String(n).padStart(2, "0");
/* What a program measured may be no number of JSON's: those are texts. */
const isNotFinite = (value) => ["nan", "inf", "-inf"].includes(value);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/* Four digits that count, without trailing zeros: 12345 stays whole. */
function plain(value, digits = 4) {
  if (!isNumber(value)) return "";
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4)) return value.toExponential(digits - 1).replace(/\.?0+e/, "e");
  return Math.abs(value) >= 10 ** (digits - 1) ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
}

const SCALES = {
  J: [[1e9, "GJ", 1e9], [1e6, "MJ"], [1e3, "kJ"], [1, "J"], [0, "mJ", 1e-3]],
  MiB: [[1024 * 1024, "TiB"], [1024, "GiB"], [0, "MiB", 1]],
};
function withUnit(value, unit, digits = 4) {
  if (!isNumber(value)) return "";
  for (const [from, name, by] of SCALES[unit] || [])
    if (value !== 0 && Math.abs(value) >= from) return plain(value / (by || from), digits) + " " + name;
  return plain(value, digits) + " " + unit;
}

/* As amount_format_with (base/amount.c): "5.903 ± 0.003 kJ". ± has two digits if the first is 1 or 2, else one; the value ends at the
 * same place; both share one unit. */
function lastPlace(half) {
  const [digits, exponent] = half.toExponential(1).split("e");
  return Number(exponent) - (Number(digits) < 3 ? 1 : 0);
}
function atPlace(value, place) {
  const text = place < 0 ? value.toFixed(-place) : String(Math.round(value / 10 ** place) * 10 ** place);
  return Number(text) === 0 ? text.replace("-", "") : text;
}
function withHalfWidth(value, half, unit = "J") {
  if (!isNumber(value)) return "";
  if (!isNumber(half)) return `${withUnit(value, unit, 3)} ± ${say("unknown")}`;
  if (half === 0) return `${withUnit(value, unit, 6).replace(" ", " ± 0 ")}`;
  const larger = Math.max(Math.abs(value), half), prefixes = unit === "J" ? ["m", "", "k", "M", "G"] : [""];
  for (const [i, prefix] of prefixes.entries()) {
    const times = unit === "J" ? 1000 ** (1 - i) : 1, place = lastPlace(half * times);
    if (i + 1 < prefixes.length && Number(atPlace(larger * times, place)) >= 1000) continue;
    return `${atPlace(value * times, place)} ± ${atPlace(half * times, place)} ${prefix}${unit}`;
  }
}

function duration(seconds, digits = 3) {
  if (!isNumber(seconds)) return "";
  if (seconds < 60) return plain(seconds, digits) + " s";
  const whole = Math.round(seconds), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, s = whole % 60;
  return h ? `${h} h ${two(m)} min` : `${m} min ${two(s)} s`;
}

/* Times are those of the clock where it was measured, as in the CSV files, not of the reader's. */
const offsets = head.offsets ?? [];
const offsetAt = (ms) => ([...offsets].reverse().find(([from]) => from * 1000 <= ms) ?? offsets[0] ?? [0, 0])[1];
function moment(ms) {
  return isNumber(ms) ? new Date(ms + offsetAt(ms) * 1000).toISOString().slice(0, 19).replace("T", " ") : "";
}
function utc(offset) {
  const minutes = Math.round(Math.abs(offset) / 60);
  return `UTC${offset < 0 ? "−" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
/* With the change to or from summer time, where the run lasted over one. */
function zoneName(from, to) {
  if (!offsets.length) return head.layout ? null : say("zone_unknown");
  const changes = offsets.filter(([since]) => since * 1000 > from && since * 1000 <= to);
  return [utc(offsetAt(from)), ...changes.map(([since, offset]) => `${utc(offset)} ${say("since", { at: moment(since * 1000) })}`)].join(", ");
}
/* Sessions, on other nodes or later ones, may have had other zones: the page has one. */
const zonesDiffer = new Set((head.sessions || []).filter((one) => one.zone?.offsets?.length).map((one) => (one.zone.offsets.findLast(([from]) => from * 1000 <= one.started_ms) ?? one.zone.offsets[0])[1])).size > 1;

/* A file of the run, by its way from the page. */
const linkTo = (way, text) => make("a", { href: way.split("/").map(encodeURIComponent).join("/") }, text);
const wayOf = (...steps) => (head.way ?? "") + steps.join("/");

const sum = (values) => values.filter(isNumber).reduce((all, value) => all + value, 0);

const VERDICTS = ["clean", "unverified", "suspect", "contaminated"];

/* Of a run that goes on: its attempt has begun and not ended. */
const isUnderWay = (data) => head.state === "under_way" && data.spans?.length > 0 && data.spans.at(-1).to_ms === null;

/* Every experiment as one flat row; its block of data is parsed once, and kept. */
function rowOf(data) {
  const own = data.tare || {}, measured = data.foreground || data;
  const gpu = own.energy?.gpu, cpu = own.energy?.cpu_package, dram = own.energy?.dram;
  const spans = (data.spans || []).filter((span) => isNumber(span.from_ms));
  const verdict = own.verdict?.name ?? own.verdict;
  const peak = own.gpu_memory_peak ?? { of: "gpu", bytes: gpu?.memory_peak_bytes };
  const mebibytes = (bytes) => (isNumber(bytes) ? bytes / 1048576 : null);
  return {
    data, number: data.number, id: data.experiment_id, mode: data.mode, repository: measured.repository, model: measured.model,
    label: [measured.repository, measured.model].filter(Boolean).join("/"), outcome: own.outcome ?? (head.layout ? "unknown" : isUnderWay(data) ? "under_way" : "planned"),
    verdict: VERDICTS.includes(verdict) ? verdict : "unjudged",
    duration: measured.duration_seconds, energy: gpu?.joules ?? null, halfWidth: gpu?.half_width_j ?? null,
    net: gpu?.net_of_bare_idle_j ?? null,
    power: gpu?.power_mean_w ?? null, cpu: cpu?.joules ?? null, cpuHalfWidth: cpu?.half_width_j ?? null, memory: mebibytes(peak.bytes), memoryOf: peak.of, pairMemory: mebibytes(peak.pair_bytes),
    retries: measured.retries, error: measured.error_message, params: measured.hyperparameters || {},
    gpu, dram: dram?.joules ?? null, metrics: measured.performance_metrics || {}, evidence: own.evidence || [], epochs: own.epochs || [], spans,
    start: spans.length ? spans[spans.length - 1].from_ms : null,
  };
}
const rows = [...document.querySelectorAll('script[id^="x"]')].map((element) => rowOf(JSON.parse(element.textContent)));
const finished = rows.filter((row) => ["succeeded", "failed", "unknown"].includes(row.outcome));

/* Hyperparameters that differ between experiments of one model, and all metrics, in the order in which they come. */
const paramNames = (() => {
  const seen = new Map();
  for (const row of rows)
    for (const [name, value] of Object.entries(row.params)) {
      const key = row.label + "\n" + name;
      const text = JSON.stringify(value);
      const entry = seen.get(key) || { name, first: text, varied: false };
      entry.varied = entry.varied || entry.first !== text || (row.data.tare?.mutated || []).includes(name);
      seen.set(key, entry);
    }
  return [...new Set([...seen.values()].filter((entry) => entry.varied).map((entry) => entry.name))];
})();
const metricNames = [...new Set(rows.flatMap((row) => Object.keys(row.metrics)))];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const badge = (name) => make("span", { class: "badge " + name }, say(name));

/* What a page without a chart, or without a part of it, says once, at its end. */
const leftOut = [];
const leaveOut = (title, reason) => { leftOut.push(`${title}: ${reason}`); };

/* Which experiment is shown below the table. */
const chosen = { row: null, listeners: [] };
function choose(row, scroll = false) {
  chosen.row = row;
  for (const listener of chosen.listeners) listener(row);
  if (scroll) document.getElementById("detail").scrollIntoView({ block: "start" });
}
