/* Drawings without time: scales, axes, and points that can be chosen. */

const quantile = (sorted, q) => {
  const at = (sorted.length - 1) * q, low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
};

/* About n round steps over a range; of seconds, as clocks have them. */
function ticks(low, high, n, ofTime = false) {
  /* Values that differ by their last digits alone: steps so small would never get from one to the next. */
  if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) return [low / 2 + high / 2];
  const rough = (high - low) / n || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = (ofTime && rough >= 1 && SECONDS.find((s) => s >= rough)) || [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
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

/* 1, 2 and 5 of each power of ten, or as few of them as n. */
function logTicks(low, high, n) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const step of [1, 2, 5]) if (step * 10 ** power >= low * (1 - 1e-9) && step * 10 ** power <= high * (1 + 1e-9)) all.push(Number(`${step}e${power}`));
  const tens = all.filter((tick) => String(tick.toExponential()).startsWith("1e"));
  const few = all.length > n && tens.length >= 2 ? tens : all;
  return few.length >= 2 ? few.filter((tick, i) => i % Math.ceil(few.length / n) === 0) : [low, high];
}


/* A scale of numbers, from 0 to 1 over them with some margin: {of(value), value(share), marks, labels}. how: text (value, digits), n: about
 * so many marks, log, each: a mark at each value, ofTime, margin, from and to instead of the least and the most. */
function numberScale(values, how) {
  let low = how.from ?? Infinity, high = how.to ?? -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  const f = how.log ? Math.log10 : (v) => v, margin = (f(high) - f(low) || Math.abs(f(low)) || 1) * (how.margin ?? 0.05);
  const from = f(low) - margin, to = f(high) + margin, n = how.n ?? 7;
  const marks = how.each ? [...new Set(values)].sort((a, b) => a - b) : how.log ? logTicks(low, high, n) : ticks(low >= 0 ? Math.max(from, 0) : from, to, n, how.ofTime);
  const digits = how.log || how.each ? 4 : digitsOf(marks);
  return { low, high, of: (value) => (f(value) - from) / (to - from), value: (share) => (how.log ? 10 ** (from + share * (to - from)) : from + share * (to - from)), marks, labels: marks.map((mark) => how.text(mark, digits)) };
}

/* A scale of words: each has its place, in the middle of an equal share. */
function wordScale(values, text = String) {
  const marks = [...new Set(values)].sort(compare), at = new Map(marks.map((mark, i) => [mark, (i + 0.5) / marks.length]));
  return { of: (value) => at.get(value), value: (share) => share, marks, labels: marks.map((mark) => text(mark)) };
}

/* Whether a hyperparameter is drawn over powers of ten: of few values, or of many, that span so much. */
function isLog(values, much = 20) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  return low > 0 && high / low >= much;
}
const isFew = (values) => new Set(values).size <= 8;

/* Marks below an axis, as many as there is room for. */
function marksBelow(svg, scale, x, top, bottom, more = {}) {
  let free = -Infinity;
  scale.marks.forEach((mark, i) => {
    svg.append(make("line", { x1: x(mark), x2: x(mark), y1: top, y2: bottom, stroke: "var(--line)" }));
    const half = textWidth(scale.labels[i]) / 2;
    if (x(mark) - half < free) return;
    svg.append(make("text", { x: x(mark), y: bottom + 18, "text-anchor": "middle", class: "soft", ...more }, scale.labels[i]));
    free = x(mark) + half + 8;
  });
}

/* Two axes with their marks and names, so wide that no label is cut: {svg, x(value), y(value), left, right, top, bottom}, right and bottom
 * where the plot ends. across, upwards: scales; their names may be "". strip: so much is free below the least value. */
function frame(width, height, label, across, upwards, names = ["", ""], top = 24, strip = 0) {
  const narrow = width < 600, left = Math.max(narrow ? 44 : 72, widest(upwards.labels) + 14), right = width - Math.max(16, (across.marks.length ? widest(across.labels) : 0) / 2 + 4), bottom = height - (names[0] ? 48 : 30);
  const x = (value) => left + across.of(value) * (right - left), y = (value) => bottom - strip - upwards.of(value) * (bottom - strip - top);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  marksBelow(svg, across, x, top, bottom);
  upwards.marks.forEach((mark, i) => svg.append(make("line", { x1: left, x2: right, y1: y(mark), y2: y(mark), stroke: "var(--line)" }), make("text", { x: left - 8, y: y(mark) + 4, "text-anchor": "end", class: "soft" }, upwards.labels[i])));
  if (names[0]) svg.append(make("text", { x: (left + right) / 2, y: height - 8, "text-anchor": "middle" }, make("title", {}, names[0]), cut(names[0], right - left)));
  if (names[1]) svg.append(make("text", { x: 4, y: 14 }, make("title", {}, names[1]), cut(names[1], width - 8)));
  return { svg, x, y, left, right, top, bottom };
}
const tall = (width, most) => Math.min(most, Math.max(280, Math.round(width * 0.6)));
const marksFor = (width) => Math.max(2, Math.floor(width / 110));
