/* The state after one event: who holds the memory, the flame graph of the stacks, the segments. */
const aliveAt = (event) => {
  const found = [];
  for (let i = 0; i < born.length; i++) if (born[i] <= event && died[i] > event) found.push(i);
  return found;
};

/* What the event did, by the kept allocations and the segments. */
const eventsOf = new Map();
for (const [event, i, sign] of changes) if (event >= 0) eventsOf.set(event, `${sign > 0 ? "allocates" : "frees"} ${bytesText(sizes[i])}, ${memory.kinds[kindOfAllocation(i)]}: ${whereOf(i)}`);
for (const [event, sign, , bytes] of memory.segments) if (event >= 0) eventsOf.set(event, `${sign > 0 ? "reserves" : "gives back"} a segment of ${bytesText(bytes)}`);
for (const [event, name] of memory.marks) if (!eventsOf.has(event)) eventsOf.set(event, name);

function tableOf(titles, rows) {
  const cells = (row, tag) => row.map((cell, k) => make(tag, { class: k < titles.numbers ? "number" : null }, cell));
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...cells(titles.texts, "th"))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row, "td"))))));
}
function groups(alive, of) {
  const sums = new Map();
  for (const i of alive) {
    const one = sums.get(of(i)) || { bytes: 0, count: 0, key: of(i) };
    one.bytes += sizes[i];
    one.count++;
    sums.set(of(i), one);
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}

/* Frames from the outermost on; each node is [name, bytes, children]. */
function flameTree(alive) {
  const root = { name: "alive", bytes: 0, inner: new Map() };
  for (const i of alive) {
    const frames = stackOf[i] < 0 ? [] : memory.stacks[stackOf[i]].map((frame) => frameText(memory.frames[frame])).reverse();
    let node = root;
    node.bytes += sizes[i];
    for (const name of [memory.kinds[kindOfAllocation(i)], ...(frames.length ? frames : [whereOf(i)])]) {
      if (!node.inner.has(name)) node.inner.set(name, { name, bytes: 0, inner: new Map(), kind: kindOfAllocation(i) });
      node = node.inner.get(name);
      node.bytes += sizes[i];
    }
  }
  return root;
}
const FLAME = { row: 18, least: 0.003, depth: 45 };
function flameOf(alive) {
  const all = flameTree(alive), box = make("div", { class: "flame", id: "flame-graph" });
  const show = (root) => {
    const bars = [];
    let deepest = 0;
    const add = (node, left, depth) => {
      const part = node.bytes / root.bytes;
      if (part < FLAME.least || depth > FLAME.depth) return;
      deepest = Math.max(deepest, depth);
      bars.push(make("button", { type: "button", title: `${node.name}\n${bytesText(node.bytes)}, ${share(node.bytes, all.bytes)}`, onclick: () => show(node === root ? all : node),
        style: `left: ${100 * left}%; width: ${100 * part}%; top: ${depth * FLAME.row}px; background: ${node.kind === undefined ? "var(--panel)" : kindColour(node.kind, depth)}` }, node.name));
      for (const inner of [...node.inner.values()].sort((a, b) => b.bytes - a.bytes)) {
        add(inner, left, depth + 1);
        left += inner.bytes / root.bytes;
      }
    };
    add(root, 0, 0);
    box.replaceChildren(...bars);
    box.style.height = `${(deepest + 1) * FLAME.row + 4}px`;
  };
  show(all);
  return box;
}

/* Ranges that are mapped after the event, by address. */
function segmentsAt(event) {
  let ranges = [];
  for (const [at, sign, addr, bytes] of memory.segments) {
    if (at > event) break;
    if (sign > 0) ranges.push([addr, bytes]);
    else ranges = ranges.flatMap(([from, size]) => (addr >= from + size || addr + bytes <= from ? [[from, size]] : [[from, addr - from], [addr + bytes, from + size - addr - bytes]].filter((one) => one[1] > 0)));
  }
  return ranges.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}
/* Each segment a bar, wrapped into lines of the same scale; free memory is hatched. */
function mapOf(alive, event) {
  const ranges = segmentsAt(event), all = sum(ranges.map((one) => one[1])), wide = 1000, lines = 20, row = 22;
  const scale = all / (wide * lines), shapes = [];
  let x = 0, y = 0;
  const byAddress = alive.filter((i) => addresses[i] > 0).sort((a, b) => addresses[a] - addresses[b]);
  const first = (addr) => { let low = 0, high = byAddress.length; while (low < high) { const middle = (low + high) >> 1; if (addresses[byAddress[middle]] < addr) low = middle + 1; else high = middle; } return low; };
  const piece = (from, bytes, attributes, title) => {
    for (let left = bytes / scale, start = from; left > 0.2;) {
      const line = Math.floor(start / wide), part = Math.min(left, (line + 1) * wide - start);
      shapes.push(make("rect", { x: (start - line * wide).toFixed(1), y: line * row, width: Math.max(part, 0.3).toFixed(1), height: row - 6, ...attributes }, make("title", {}, title)));
      left -= part;
      start += part;
    }
  };
  for (const [addr, bytes] of ranges) {
    piece(x, bytes, { class: "free" }, `segment of ${bytesText(bytes)} at 0x${addr.toString(16)}`);
    for (let k = first(addr); k < byAddress.length && addresses[byAddress[k]] < addr + bytes; k++) {
      const i = byAddress[k];
      piece(x + (addresses[i] - addr) / scale, sizes[i], { fill: colourOf(i) }, `${bytesText(sizes[i])}, ${memory.kinds[kindOfAllocation(i)]}: ${whereOf(i)}`);
    }
    x += bytes / scale + 2;
  }
  y = (Math.floor(x / wide) + 1) * row;
  return make("svg", { class: "figure", id: "segment-map", viewBox: `0 0 ${wide} ${y}`, role: "img", "aria-label": "segments and what lies in them" }, ...shapes);
}

function showState() {
  const event = view.cursor, alive = aliveAt(event), all = sum(alive.map((i) => sizes[i])), ranges = segmentsAt(event);
  place("state", ...[make("h2", {}, `State after event ${event}${event === memory.peak ? ", the peak" : ""}`),
    make("p", { class: "hint", id: "event-said" }, eventsOf.get(event) ?? ""),
    make("div", { class: "tiles" }, ...[["alive", bytesText(all)], ["allocations", String(alive.length)], ["reserved", bytesText(sum(ranges.map((one) => one[1])))], ["segments", String(ranges.length)], ...(mergedAt(event) ? [["merged, at most", bytesText(mergedAt(event))]] : [])]
      .map(([name, value]) => make("div", { class: "tile" }, make("b", {}, value), make("span", {}, name)))),
    make("div", { class: "side" },
      make("div", {}, make("h3", {}, "By kind"), tableOf({ numbers: 3, texts: ["share", "bytes", "count", "kind"] }, groups(alive, kindOfAllocation).map((one) => [share(one.bytes, all), bytesText(one.bytes), String(one.count), memory.kinds[one.key]]))),
      make("div", {}, make("h3", {}, "Places"), tableOf({ numbers: 3, texts: ["share", "bytes", "count", "kind", "where"] }, groups(alive, (i) => owner[i]).slice(0, 10).map((one) => [share(one.bytes, all), bytesText(one.bytes), String(one.count), memory.kinds[memory.owners[one.key][0]], memory.owners[one.key][1] ?? "?"])))),
    make("h3", {}, "Flame graph"), make("p", { class: "hint" }, "Each bar is a call, as wide as what it holds; click one to make it the whole."), alive.length ? flameOf(alive) : null,
    make("h3", {}, "Segments"), make("p", { class: "hint" }, `Largest first; a line is ${bytesText(sum(ranges.map((one) => one[1])) / 20)}.`), ranges.length ? mapOf(alive, event) : null].filter(Boolean));
}

let waiting = 0;
function moveTo(event) {
  view.cursor = Math.max(0, Math.min(Math.max(memory.events - 1, 0), event));
  if (view.cursor < view.from || view.cursor > view.to) zoom(view.cursor - (view.to - view.from) / 2, view.cursor + (view.to - view.from) / 2);
  else draw();
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(showState);
}

if (memory.events > 0) {
  showTimeline();
  showState();
}
