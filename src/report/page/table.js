/* The table of experiments: sorted by any column, filtered by the find box, verdict, outcome and what is selected among the relations, walked
 * by keys. The id stays in sight; how it ended, its metrics and hyperparameters come before what it cost. */
const several = { label: new Set(rows.map((row) => row.label)).size > 1, mode: new Set(rows.map((row) => row.mode)).size > 1 };
const bestValue = (row, name) => row.data.tare?.best?.[name]?.value ?? null;
const COLUMNS = [
  { key: "id", title: say("experiment"), also: ["id"], of: (row) => row.id, class: "frozen" },
  { key: "number", title: say("number"), also: ["number"], number: true, of: (row) => row.number },
  { key: "outcome", title: say("outcome"), also: ["state", "result"], of: (row) => say(row.outcome), words: (row) => [row.outcome, say(row.outcome)], show: (row) => badge(row.outcome) },
  { key: "verdict", title: say("verdict"), also: ["verdict"], of: (row) => ["clean", "unjudged", "unverified", "suspect", "contaminated"].indexOf(row.verdict), words: (row) => [row.verdict, say(row.verdict)], show: (row) => badge(row.verdict) },
  ...metricNames.map((name) => ({ key: "m:" + name, title: name, number: true, of: (row) => row.metrics[name] ?? null, text: (v) => (isNumber(v) ? plain(v, 5) : String(v)) })),
  /* The best of a training, where for any it is not the last one. */
  ...metricNames.filter((name) => rows.some((row) => isNumber(bestValue(row, name)) && bestValue(row, name) !== row.metrics[name])).map((name) => ({ key: "b:" + name, title: say("best_of", { name }), number: true, of: (row) => bestValue(row, name), text: (v) => plain(v, 5) })),
  ...paramNames.map((name) => ({ key: "p:" + name, title: name, number: true, of: (row) => row.params[name] ?? null, text: (v) => (isNumber(v) && !Number.isInteger(v) ? plain(v, 6) : String(v)) })),
  { key: "duration", title: say("duration"), also: ["time"], number: true, of: (row) => row.duration, text: duration },
  { key: "energy", title: say("energy"), also: ["energy"], number: true, of: (row) => row.energy, textOf: (row) => withHalfWidth(row.energy, row.halfWidth) },
  { key: "halfWidth", title: say("half_width"), also: ["half_width"], number: true, of: (row) => row.halfWidth, findOnly: true },
  { key: "net", title: say("net_energy"), also: ["net"], number: true, of: (row) => row.net, textOf: (row) => withHalfWidth(row.net, row.gpu.net_half_width_j) },
  { key: "power", title: say("mean_power"), also: ["power"], number: true, of: (row) => row.power, text: (v) => withUnit(v, "W") },
  { key: "cpu", title: say("cpu_energy"), also: ["cpu"], number: true, of: (row) => row.cpu, textOf: (row) => withHalfWidth(row.cpu, row.cpuHalfWidth) },
  { key: "memory", title: say("peak_memory"), also: ["memory"], number: true, of: (row) => row.memory, text: (v) => withUnit(v, "MiB") },
  { key: "model", title: say("model"), also: ["model"], of: (row) => (several.label ? row.label : null) },
  { key: "mode", title: say("mode"), also: ["mode"], of: (row) => (several.mode ? say(row.mode) : null) },
  { key: "retries", title: say("retries"), also: ["retries"], number: true, of: (row) => row.retries },
  { key: "error", title: say("error"), also: ["error"], of: (row) => row.error, class: "error" },
].filter((column) => ["number", "id", "outcome", "verdict"].includes(column.key) || rows.some((row) => { const v = column.of(row); return v !== null && v !== undefined && v !== "" && !(column.key === "retries" && v === 0); }));
const columnsShown = COLUMNS.filter((column) => !column.findOnly);

/* brushes: key → {of(row), from, to}, what is selected among the relations. */
const table = { sort: "number", down: false, find: "", tests: [], brushes: new Map(), verdict: "", outcome: "", elements: new Map(), body: null, shown: [], listeners: [] };

function cellText(column, row) {
  const value = column.of(row);
  if (value === null || value === undefined) return "";
  if (column.textOf) return column.textOf(row);
  return column.text ? column.text(value) : String(value);
}

/* With all its columns the table is wider than paper. */
const onlyOnScreen = (key) => /^[bmp]:/.test(key) || ["cpu", "model", "mode", "retries", "error"].includes(key);
const classOf = (column) => [column.number && "number", column.class, onlyOnScreen(column.key) && "more"].filter(Boolean).join(" ") || null;

function tableRow(row) {
  const cells = columnsShown.map((column) => {
    const value = column.of(row);
    const attributes = { class: classOf(column) };
    if (column.class || isNumber(value)) attributes.title = value;
    return make("td", attributes, column.show ? column.show(row) : cellText(column, row));
  });
  const element = make("tr", { tabindex: "-1", "data-id": row.id, onclick: () => choose(row) }, ...cells);
  element.setAttribute("aria-selected", row === chosen.row);
  return { element };
}

/* What a row can be found by, made when it is first asked for. */
function wordsOf(row) {
  row.words ??= [...COLUMNS.flatMap((column) => (column.words ? column.words(row) : cellText(column, row))), row.label, row.mode].join("\n").toLowerCase();
  return row.words;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

/* What is absent stands at the end, whichever way the rest is sorted; so does what is not finite, before it. */
function sorted(list) {
  const column = COLUMNS.find((c) => c.key === table.sort);
  const absent = (row) => { const v = column.of(row); return v === null || v === undefined || v === "" ? 2 : isNotFinite(v) ? 1 : 0; };
  return [...list].sort((a, b) => {
    if (absent(a) || absent(b)) return absent(a) - absent(b) || a.number - b.number;
    return (table.down ? -1 : 1) * compare(column.of(a), column.of(b)) || a.number - b.number;
  });
}

/* Rows are made and laid out as they come into sight: a thousand at once take a second. */
const CHUNK = 100;
function fill(count) {
  const from = table.body.childElementCount;
  if (count > from) table.body.append(...table.shown.slice(from, count).map((row) => entryOf(row).element));
}

function entryOf(row) {
  if (!table.elements.has(row)) table.elements.set(row, tableRow(row));
  return table.elements.get(row);
}

function refresh() {
  const fits = (row) =>
    (!table.verdict || row.verdict === table.verdict) && (!table.outcome || row.outcome === table.outcome) &&
    table.tests.every((test) => test(row)) && [...table.brushes.values()].every(({ of, from, to }) => { const v = of(row); return isNumber(v) && from <= v && v <= to; });
  table.shown = sorted(rows.filter(fits));
  table.body.replaceChildren();
  fill(CHUNK);
  if (!table.shown.length) table.body.append(make("tr", {}, make("td", { colspan: columnsShown.length }, say("no_rows"))));
  document.getElementById("shown").textContent = say("shown", { n: table.shown.length, all: rows.length });
  document.getElementById("clear-brushes").hidden = !table.brushes.size;
  for (const heading of document.querySelectorAll("#table th")) {
    const active = heading.dataset.key === table.sort;
    heading.setAttribute("aria-sort", active ? (table.down ? "descending" : "ascending") : "none");
  }
  mark();
  for (const listener of table.listeners) listener();
}

function clearBrushes() {
  table.brushes.clear();
  refresh();
}
addEventListener("keydown", (event) => { if (event.key === "Escape" && table.brushes.size) clearBrushes(); });

/* One row can be reached by Tab: the chosen one, or the first. */
function mark() {
  const reachable = table.shown.includes(chosen.row) ? chosen.row : table.shown[0];
  for (const [row, { element }] of table.elements) {
    element.setAttribute("aria-selected", row === chosen.row);
    element.tabIndex = row === reachable ? 0 : -1;
  }
}

function onKey(event) {
  const at = table.shown.findIndex((row) => row.id === event.target.dataset.id);
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
  if (at < 0 || (!step && event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  const to = step ? Math.min(Math.max(at + step, 0), table.shown.length - 1) : at;
  fill(to + CHUNK);
  choose(table.shown[to], !step);
  table.elements.get(table.shown[to]).element.focus({ preventScroll: !step });
}

function picker(name, all, values) {
  return make("select", { id: "pick-" + name, "aria-label": say(name), onchange: (event) => { table[name] = event.target.value; refresh(); } },
    make("option", { value: "" }, all), ...values.map((value) => make("option", { value }, say(value))));
}

function showTable() {
  table.body = make("tbody", { onkeydown: onKey });
  const sort = (key) => { table.down = table.sort === key && !table.down; table.sort = key; refresh(); };
  const present = (key, list) => list.filter((value) => rows.some((row) => row[key] === value));
  place("experiments",
    make("h2", {}, say("experiments")),
    make("p", { class: "hint how" }, say("table_hint")),
    make("div", { class: "controls" },
      make("input", { type: "search", id: "filter", "aria-label": say("filter"), "aria-describedby": "find-hint find-said", placeholder: say("filter_hint"), title: say("find_keys"), autocomplete: "off", spellcheck: "false",
        oninput: (event) => find(event.target.value), onkeydown: findKey }),
      picker("verdict", say("all_verdicts"), present("verdict", [...VERDICTS, "unjudged"])),
      picker("outcome", say("all_outcomes"), present("outcome", ["succeeded", "failed", "interrupted", "under_way", "planned", "unknown"])),
      make("span", { id: "shown", class: "hint", role: "status" }),
      make("button", { type: "button", id: "clear-brushes", class: "link", hidden: true, onclick: clearBrushes }, say("clear_brushes"))),
    make("p", { class: "hint how", id: "find-hint" }, say("find_example") + " ", make("code", {}, findExample())),
    make("p", { class: "hint find-said", id: "find-said", role: "status" }),
    make("div", { class: "scroll", onscroll: (event) => {
      const box = event.currentTarget;
      if (box.scrollTop + 2 * box.clientHeight > box.scrollHeight) fill(table.body.childElementCount + CHUNK);
    } }, make("table", { id: "table", "aria-label": say("experiments") },
      make("thead", {}, make("tr", {}, ...columnsShown.map((column) =>
        make("th", { scope: "col", "data-key": column.key, class: classOf(column) },
          make("button", { type: "button", onclick: () => sort(column.key) }, column.title))))),
      table.body)));
  addEventListener("beforeprint", () => fill(Infinity));
  chosen.listeners.push(mark);
  refresh();
}
