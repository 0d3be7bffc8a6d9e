/* The experiments of a run: found, filtered, sorted and walked by keys; rows are made as they come into sight, and changed in place. */
const grid = { sort: "number", down: false, find: "", state: "", shown: [], elements: new Map(), body: null, dirty: false, names: "" };
const numberOr = (value) => (isNumber(value) ? value : null);
const gridColumns = () => [
  { key: "id", title: say("experiment"), class: "frozen", of: (row) => row.id },
  { key: "number", title: say("number"), number: true, of: (row) => row.number },
  { key: "state", title: say("outcome"), of: (row) => say(stateOf(row)), show: stateBadge },
  { key: "verdict", title: say("verdict"), of: (row) => ["", "none", "clean", "no evidence", "not judged", "evidence recorded", "unverified", "suspect", "contaminated"].indexOf(row.verdict_text ?? ""), show: verdictBadge },
  ...live.metricNames.map((name) => ({ key: "m:" + name, title: name, number: true, of: (row) => row.metrics?.[name] ?? null, text: (v) => (isNumber(v) ? plain(v, 5) : v) })),
  { key: "duration", title: say("duration"), number: true, of: (row) => (row.state !== "done" ? null : numberOr(row.duration_s)), text: duration },
  { key: "energy", title: say("energy"), number: true, of: (row) => numberOr(row.gpu_j), textOf: (row) => withHalfWidth(row.gpu_j, row.gpu_half_width_j) },
  { key: "attempts", title: say("live_attempts"), number: true, of: (row) => row.attempts || null },
  { key: "error", title: say("live_seen"), class: "error", of: (row) => row.error ?? row.evidence ?? null },
];
let columnsNow = [];

function gridRow(row) {
  const cells = columnsNow.map((column) => {
    const value = column.of(row), text = value === null || value === undefined ? DASH : column.textOf ? column.textOf(row) : column.text ? column.text(value) : String(value);
    return make("td", { class: [column.number && "number", column.class].filter(Boolean).join(" ") || null, title: column.class ? value : null }, column.show ? column.show(row) : column.class === "error" && text === DASH ? "" : text);
  });
  return make("tr", { tabindex: "-1", "data-number": row.number, "aria-selected": String(row.number === live.chosen), onclick: () => chooseExperiment(row.number, true) }, ...cells);
}

function fillGrid(count) {
  const from = grid.body.childElementCount;
  if (count > from) grid.body.append(...grid.shown.slice(from, count).map((row) => { const element = gridRow(row); grid.elements.set(row.number, element); return element; }));
}

function fitsGrid(row) {
  if (grid.state && stateOf(row) !== grid.state) return false;
  return !grid.find || [row.id, say(stateOf(row)), stateOf(row), row.verdict_text, row.error, row.evidence, row.failure].some((text) => text?.toLowerCase().includes(grid.find));
}

/* How many rows were in sight, and where, stays. */
function refreshGrid() {
  const column = columnsNow.find((one) => one.key === grid.sort) ?? columnsNow[1], box = grid.body.closest(".scroll"), at = box.scrollTop, many = Math.max(CHUNK_OF_GRID, grid.body.childElementCount);
  const value = new Map([...live.rows.values()].filter(fitsGrid).map((row) => [row, column.of(row)])), absent = (v) => v === null || v === undefined;
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  grid.shown = [...value.keys()].sort((a, b) => {
    const x = value.get(a), y = value.get(b);
    if (absent(x) || absent(y)) return absent(x) - absent(y) || a.number - b.number;
    return (grid.down ? -1 : 1) * compare(x, y) || a.number - b.number;
  });
  const active = document.activeElement?.dataset?.number;
  grid.elements.clear();
  grid.body.replaceChildren();
  fillGrid(Math.min(many, 400));
  if (!grid.shown.length) grid.body.append(make("tr", {}, make("td", { colspan: columnsNow.length }, say("no_rows"))));
  setText(document.getElementById("shown"), say("shown", { n: grid.shown.length, all: live.rows.size }));
  for (const heading of document.querySelectorAll("#table th")) heading.setAttribute("aria-sort", heading.dataset.key === grid.sort ? (grid.down ? "descending" : "ascending") : "none");
  markGrid();
  box.scrollTop = at;
  if (active) grid.elements.get(Number(active))?.focus({ preventScroll: true });
  grid.dirty = false;
}
const CHUNK_OF_GRID = 100;

/* One row can be reached by Tab: the chosen one, or the first. */
function markGrid() {
  const reachable = grid.elements.has(live.chosen) ? live.chosen : grid.shown[0]?.number;
  for (const [number, element] of grid.elements) {
    element.setAttribute("aria-selected", String(number === live.chosen));
    element.tabIndex = number === reachable ? 0 : -1;
  }
}

function gridKey(event) {
  const at = grid.shown.findIndex((row) => row.number === Number(event.target.dataset.number));
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
  if (at < 0 || (!step && event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  if (!step) return void chooseExperiment(grid.shown[at].number, true);
  const to = Math.min(Math.max(at + step, 0), grid.shown.length - 1);
  fillGrid(to + CHUNK_OF_GRID);
  chooseExperiment(grid.shown[to].number);
  grid.elements.get(grid.shown[to].number).focus();
}

function showGrid() {
  columnsNow = gridColumns();
  const sort = (key) => { grid.down = grid.sort === key && !grid.down; grid.sort = key; refreshGrid(); };
  const option = (value, text) => make("option", { value, selected: grid.state === value }, text);
  grid.body = make("tbody", { onkeydown: gridKey });
  place("experiments", make("h2", {}, say("live_experiments")), make("p", { class: "hint" }, say("live_keys")),
    make("div", { class: "controls" },
      make("input", { type: "search", id: "filter", "aria-label": say("live_find"), placeholder: say("live_find"), value: grid.find, autocomplete: "off", spellcheck: "false", oninput: (event) => { grid.find = event.target.value.toLowerCase(); refreshGrid(); } }),
      make("select", { id: "pick-state", "aria-label": say("outcome"), onchange: (event) => { grid.state = event.target.value; refreshGrid(); } },
        option("", say("live_every_state")), ...["under_way", "succeeded", "failed", "interrupted", "unfinished"].map((name) => option(name, say(name))), option("planned", say("live_state_planned"))),
      make("span", { id: "shown", class: "hint", role: "status" })),
    make("div", { class: "scroll", onscroll: (event) => { const box = event.currentTarget; if (box.scrollTop + 2 * box.clientHeight > box.scrollHeight) fillGrid(grid.body.childElementCount + CHUNK_OF_GRID); } },
      make("table", { id: "table", "aria-label": say("live_experiments") }, make("thead", {}, make("tr", {}, ...columnsNow.map((column) =>
        make("th", { scope: "col", "data-key": column.key, class: [column.number && "number", column.class].filter(Boolean).join(" ") || null }, make("button", { type: "button", onclick: () => sort(column.key) }, column.title))))), grid.body)));
  refreshGrid();
}

/* Rows that changed are made anew where they are; their order, and who fits the filter, is settled at most every two seconds. */
function updateGrid(changed) {
  const names = [...new Set([...live.metricNames, ...changed.flatMap((row) => Object.keys(row.metrics ?? {}))])].slice(0, 8);
  if (!grid.body || names.length !== live.metricNames.length) {
    live.metricNames = names;
    return showGrid();
  }
  for (const row of changed) {
    const before = grid.elements.get(row.number);
    if (!before) continue;
    const element = gridRow(row), focused = before === document.activeElement;
    before.replaceWith(element);
    grid.elements.set(row.number, element);
    if (focused) element.focus({ preventScroll: true });
  }
  markGrid();
  const unsettled = changed.length && (grid.sort !== "number" || grid.find || grid.state || changed.some((row) => !grid.elements.has(row.number) && grid.shown.length < live.rows.size));
  if (!unsettled || grid.dirty) return;
  grid.dirty = true;
  setTimeout(() => { if (grid.dirty) refreshGrid(); }, 2000);
}
