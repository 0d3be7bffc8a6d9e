/* The page of a memory snapshot: every allocation over the record. x is the event, y the bytes that are alive, one band an allocation. */
const memory = read("memory");
const column = (text, kind) => new kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const born = column(memory.born, Int32Array), died = column(memory.died, Int32Array), owner = column(memory.owner, Int32Array);
const stackOf = column(memory.stack, Int32Array), sizes = column(memory.size, Float64Array), addresses = column(memory.addr, Float64Array);
const mergedCurve = memory.merged_curve ? column(memory.merged_curve, Float64Array) : null;
const kindOfAllocation = (i) => memory.owners[owner[i]][0];
const whereOf = (i) => memory.owners[owner[i]][1] ?? "?";

/* As memory_size_text (report/memory_lines.c). */
function bytesText(bytes) {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  const kib = bytes / 1024;
  if (kib < 1023.95) return `${kib.toFixed(1)} KiB`;
  return kib / 1024 < 1023.95 ? `${(kib / 1024).toFixed(1)} MiB` : `${(kib / 1048576).toFixed(2)} GiB`;
}
const share = (part, all) => (all ? `${((100 * part) / all).toFixed(1)} %` : "");

/* One hue a kind, and places of a kind differ in lightness; where nothing is known, one hue a size. */
const HUES = [212, 28, 275, 150, 190, 48, 0], EARLY = 6, UNKNOWN = 7;
const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
function kindColour(kind, of = 0) {
  const light = (isDark ? 52 : 46) + ((of * 37) % 5) * 5;
  return kind === UNKNOWN ? `hsl(${(200 + of * 67) % 360} 42% ${light}%)` : `hsl(${HUES[kind]} ${kind === EARLY ? 0 : 62}% ${light}%)`;
}
const colourOf = (i) => kindColour(kindOfAllocation(i), owner[i]);

/* The allocations in the order of their events: what is born (+) and what dies. */
const changes = [];
for (let i = 0; i < born.length; i++) {
  changes.push([born[i], i, 1]);
  if (died[i] < memory.events) changes.push([died[i], i, -1]);
}
/* What lives longest is lowest among those that were there before. */
changes.sort((a, b) => a[0] - b[0] || died[b[1]] - died[a[1]]);

/* Of the drawn ones the offsets over time: layout.at[i] = [event, offset, event, offset, …]; of all the sum: layout.sum. */
const MOST_MOVES = 4e6;
function layOut(detail) {
  const heavy = [...born.keys()].sort((a, b) => sizes[b] * (died[b] - born[b]) - sizes[a] * (died[a] - born[a]));
  const drawn = new Uint8Array(born.length);
  for (const i of heavy.slice(0, detail)) drawn[i] = 1;
  const at = new Map(), live = [], sum = [], offsets = new Float64Array(born.length);
  let top = 0, all = 0, moves = 0;
  for (const [event, i, sign] of changes) {
    all += sign * sizes[i];
    if (drawn[i] && sign > 0) {
      at.set(i, [event, (offsets[i] = top)]);
      live.push(i);
      top += sizes[i];
    } else if (drawn[i]) {
      const place = live.lastIndexOf(i);
      live.splice(place, 1);
      for (let k = place; k < live.length; k++) {
        const above = live[k];
        offsets[above] -= sizes[i];
        at.get(above).push(event, offsets[above]);
      }
      moves += live.length - place;
      if (moves > MOST_MOVES && detail > 500) return layOut(Math.floor(detail / 2));
      top -= sizes[i];
    }
    if (sum.length && sum.at(-3) === event) sum.splice(-3, 3, event, all, top);
    else sum.push(event, all, top);
  }
  return { at, sum, detail: Math.min(detail, born.length) };
}

/* The reserved memory: [event, bytes, …], and the most of it. */
const reserved = [];
let reservedNow = 0, mostReserved = 0;
for (const [event, sign, , bytes] of memory.segments) {
  reservedNow += sign * bytes;
  reserved.push(event, reservedNow);
  mostReserved = Math.max(mostReserved, reservedNow);
}

const mergedAt = (event) => (mergedCurve ? mergedCurve[Math.min(mergedCurve.length - 1, Math.floor((Math.max(event, 0) * mergedCurve.length) / memory.events))] : 0);

const view = { from: 0, to: Math.max(memory.events, 1), low: 0, high: 1, cursor: memory.peak, layout: layOut(3000) };
/* The scale ends a little above what is shown. */
function fitHeight() {
  let most = 1;
  for (let k = 0; k < view.layout.sum.length; k += 3) {
    const next = view.layout.sum[k + 3] ?? memory.events;
    if (next >= view.from && view.layout.sum[k] <= view.to) most = Math.max(most, view.layout.sum[k + 1] + mergedAt(view.layout.sum[k]));
  }
  for (let k = 0; k < reserved.length; k += 2) if ((reserved[k + 2] ?? memory.events) >= view.from && reserved[k] <= view.to) most = Math.max(most, reserved[k + 1]);
  view.low = 0;
  view.high = most * 1.05;
}

const PAD = { left: 78, right: 10, top: 20, bottom: 24 };
const canvas = make("canvas", { class: "timeline", tabindex: 0, role: "img", "aria-label": "memory over the record, one band an allocation: arrow keys move the marked event" });
const tip = make("div", { class: "tip", hidden: true });
const width = () => canvas.clientWidth, height = () => canvas.clientHeight;
const xOf = (event) => PAD.left + ((event - view.from) / (view.to - view.from)) * (width() - PAD.left - PAD.right);
const yOf = (bytes) => height() - PAD.bottom - ((bytes - view.low) / (view.high - view.low)) * (height() - PAD.top - PAD.bottom);
const eventAt = (x) => Math.max(0, Math.min(memory.events, Math.floor(view.from + ((x - PAD.left) / (width() - PAD.left - PAD.right)) * (view.to - view.from))));
const bytesAt = (y) => view.low + ((height() - PAD.bottom - y) / (height() - PAD.top - PAD.bottom)) * (view.high - view.low);

function drawBand(to, i, points) {
  const size = sizes[i], end = Math.min(died[i], view.to);
  to.beginPath();
  const steps = [];
  for (let k = 0; k < points.length; k += 2) {
    const from = Math.max(points[k], view.from), till = Math.min(points[k + 2] ?? end, end);
    if (till > from) steps.push([xOf(from), xOf(till), points[k + 1]]);
  }
  if (!steps.length) return;
  for (const [from, till, offset] of steps) { to.lineTo(from, yOf(offset)); to.lineTo(till, yOf(offset)); }
  for (const [from, till, offset] of steps.reverse()) { to.lineTo(till, yOf(offset + size)); to.lineTo(from, yOf(offset + size)); }
  to.fill();
}

function drawStep(to, points, width, of) {
  to.beginPath();
  for (let k = 0; k < points.length; k += width) {
    const x = Math.max(PAD.left, xOf(points[k])), y = yOf(of(k));
    if (k) to.lineTo(x, yOf(of(k - width)));
    to.lineTo(x, y);
  }
  to.lineTo(xOf(memory.events), yOf(of(points.length - width)));
}

function drawAxes(to) {
  to.fillStyle = colour("soft");
  to.strokeStyle = colour("line");
  to.font = LETTERS;
  to.textAlign = "right";
  for (let k = 0; k <= 4; k++) {
    const bytes = view.low + ((view.high - view.low) * k) / 4, y = yOf(bytes);
    to.fillText(bytesText(bytes), PAD.left - 6, y + 4);
    to.beginPath(); to.moveTo(PAD.left, y); to.lineTo(width() - PAD.right, y); to.stroke();
  }
  for (let k = 0; k <= 6; k++) {
    const event = Math.round(view.from + ((view.to - view.from) * k) / 6);
    to.textAlign = k === 0 ? "left" : k === 6 ? "right" : "center";
    to.fillText(`${k === 0 ? "event " : ""}${event}`, xOf(event), height() - 6);
  }
}

function drawMarks(to) {
  to.textAlign = "left";
  let free = -Infinity;
  for (const [event, name] of memory.marks) {
    if (event < view.from || event > view.to) continue;
    const x = xOf(event), text = cut(name.replace(/^Optimizer\./, "").replace(/#.*/, ""), 120);
    to.strokeStyle = to.fillStyle = colour(name === "out of memory" ? "contaminated" : "soft");
    to.setLineDash([2, 3]);
    to.beginPath(); to.moveTo(x, PAD.top); to.lineTo(x, height() - PAD.bottom); to.stroke();
    to.setLineDash([]);
    if (x > free) { to.fillText(text, Math.min(x + 3, width() - PAD.right - textWidth(text)), PAD.top - 7); free = x + textWidth(text) + 10; }
  }
}

function draw() {
  const ratio = devicePixelRatio || 1, to = canvas.getContext("2d");
  canvas.width = width() * ratio;
  canvas.height = height() * ratio;
  to.scale(ratio, ratio);
  drawAxes(to);
  to.save();
  to.beginPath(); to.rect(PAD.left, PAD.top, width() - PAD.left - PAD.right, height() - PAD.top - PAD.bottom); to.clip();
  /* What is not drawn by itself is on top, in grey. */
  to.fillStyle = colour("unjudged-soft");
  drawStep(to, view.layout.sum, 3, (k) => view.layout.sum[k + 1] + mergedAt(view.layout.sum[k]));
  to.lineTo(xOf(memory.events), yOf(0)); to.lineTo(xOf(0), yOf(0)); to.fill();
  for (const [i, points] of view.layout.at) {
    if (died[i] <= view.from || born[i] > view.to) continue;
    to.fillStyle = colourOf(i);
    drawBand(to, i, points);
  }
  to.strokeStyle = colour("ink");
  to.setLineDash([5, 3]);
  drawStep(to, reserved, 2, (k) => reserved[k + 1]);
  if (reserved.length) to.stroke();
  to.setLineDash([]);
  to.strokeStyle = colour("contaminated");
  to.lineWidth = 2;
  to.beginPath(); to.moveTo(xOf(view.cursor), PAD.top); to.lineTo(xOf(view.cursor), height() - PAD.bottom); to.stroke();
  to.restore();
  drawMarks(to);
}

/* The drawn allocation at a place of the picture. */
function allocationAt(event, bytes) {
  for (const [i, points] of view.layout.at) {
    if (event < born[i] || event >= died[i]) continue;
    let k = points.length - 2;
    while (k > 0 && points[k] > event) k -= 2;
    if (bytes >= points[k + 1] && bytes < points[k + 1] + sizes[i]) return i;
  }
  return -1;
}
const frameText = ([name, file, line]) => `${(name || "?").replace(/\((?!anonymous namespace\)).*/, "")}${line ? `  ${file}:${line}` : ""}`;
const stackText = (i) => (stackOf[i] < 0 ? "no stack" : memory.stacks[stackOf[i]].map((frame) => frameText(memory.frames[frame])).join("\n"));

function hover(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const at = eventAt(x), i = x < PAD.left ? -1 : allocationAt(at, bytesAt(y));
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.replaceChildren(make("b", {}, `${bytesText(sizes[i])}, ${memory.kinds[kindOfAllocation(i)]}`), make("div", {}, whereOf(i)),
    make("div", { class: "soft" }, `${born[i] < 0 ? "there before the record" : `from event ${born[i]}`}${died[i] < memory.events ? ` to ${died[i]}` : ", alive at the end"}`),
    make("pre", {}, stackText(i)));
  tip.style.left = `${Math.max(0, Math.min(x + 14, box.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${y + 14}px`;
}

function zoom(from, to) {
  const least = Math.min(10, memory.events || 1), span = Math.max(to - from, least);
  view.from = Math.max(0, Math.min(from, memory.events - span));
  view.to = Math.min(Math.max(memory.events, 1), view.from + span);
  fitHeight();
  draw();
}
const zoomBy = (factor, around = view.cursor) => {
  const centre = Math.min(Math.max(around, view.from), view.to);
  zoom(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
};

function listen() {
  let pressed = null;
  canvas.addEventListener("mousemove", hover);
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  canvas.addEventListener("mousedown", (event) => { pressed = event.offsetX; });
  canvas.addEventListener("mouseup", (event) => {
    if (pressed === null) return;
    const [from, to] = [eventAt(Math.min(pressed, event.offsetX)), eventAt(Math.max(pressed, event.offsetX))];
    if (Math.abs(event.offsetX - pressed) < 5) moveTo(to);
    else zoom(from, to);
    pressed = null;
  });
  canvas.addEventListener("dblclick", () => zoom(0, memory.events));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomBy(event.deltaY > 0 ? 1.25 : 0.8, eventAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 100 : 1;
    const keys = {
      ArrowLeft: () => moveTo(view.cursor - step), ArrowRight: () => moveTo(view.cursor + step), Home: () => moveTo(0), End: () => moveTo(memory.events - 1),
      p: () => moveTo(memory.peak), "+": () => zoomBy(0.5), "-": () => zoomBy(2), 0: () => zoom(0, memory.events),
    };
    if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  addEventListener("resize", draw);
}

function showTimeline() {
  const shown = make("span", { id: "detail-said", class: "soft" });
  const say_detail = () => { shown.textContent = `${Math.min(view.layout.detail, born.length)} of ${born.length} allocations by themselves, the others in grey`; };
  const slider = make("input", { type: "range", id: "detail", min: 5, max: 100, value: 100 * Math.log(view.layout.detail + 1) / Math.log(born.length + 2), "aria-label": "detail" });
  slider.addEventListener("input", () => {
    view.layout = layOut(Math.round((born.length + 1) ** (slider.value / 100)));
    say_detail();
    draw();
  });
  const button = (text, title, does) => make("button", { type: "button", title, onclick: does }, text);
  place("timeline", ...[make("h2", {}, "Every allocation over the record"),
    make("p", { class: "hint" }, "Point at a band for its stack; click, or use ← and → (⇧: 100 events), to see the state at an event. Drag to zoom, double click for all; + and − zoom, p goes to the peak. Dashed: reserved."),
    make("p", { class: "controls" }, make("label", {}, "detail ", slider), shown, button("+", "zoom in", () => zoomBy(0.5)), button("−", "zoom out", () => zoomBy(2)),
      button("all", "the whole record", () => zoom(0, memory.events)), button("peak", "the event of the peak", () => moveTo(memory.peak))),
    make("div", { class: "canvas" }, canvas, tip),
    memory.merged.length ? make("p", { class: "hint", id: "merged" }, `A record of ${memory.events} events: ${memory.merged.reduce((n, one) => n + one[1], 0)} small or short-lived allocations of ${memory.merged.length} places, ${bytesText(sum(memory.merged.map((one) => one[2])))} one after the other, are merged into the grey band. The peak holds none of them.`) : null,
    make("p", { class: "legend" }, ...memory.kinds.map((name, kind) => [name, kind]).filter(([, kind]) => memory.owners.some((one) => one[0] === kind))
      .map(([name, kind]) => make("span", {}, make("i", { class: "swatch", style: `background: ${kindColour(kind)}` }), name)))].filter(Boolean));
  say_detail();
  listen();
  fitHeight();
  draw();
}
