/* Of a run that goes on: the page says so, and opens itself anew as long as somebody writes it anew. What was chosen and filtered stays. */
const KEPT = ["metric", "sense", "group", "effect-group", "effect", "relation-y", "relation-x"];
const keptAs = `page ${head.folder}`;

function keep() {
  const box = document.querySelector("#experiments .scroll"), active = document.activeElement;
  const state = { run: head.folder, row: chosen.row?.number, sort: table.sort, down: table.down, find: table.find, verdict: table.verdict, outcome: table.outcome,
    brushes: [...table.brushes].map(([key, { from, to }]) => [key, from, to]), values: KEPT.map((id) => document.getElementById(id)?.selectedOptions?.[0]?.textContent ?? null),
    open: [...document.querySelectorAll("details")].map((one) => one.open), at: [scrollX, scrollY], box: [box.scrollLeft, box.scrollTop, table.body.childElementCount],
    focus: active?.id || null, caret: active?.id === "filter" ? [active.selectionStart, active.selectionEnd] : null };
  try { sessionStorage.setItem(keptAs, JSON.stringify(state)); } catch { /* a browser that keeps nothing shows the page from its top */ }
}

function kept() {
  try {
    const text = sessionStorage.getItem(keptAs);
    sessionStorage.removeItem(keptAs);
    return text && JSON.parse(text);
  } catch { return null; }
}

/* Before the drawings: what they show depends on it. */
function putBack(state) {
  Object.assign(table, { sort: COLUMNS.some((column) => column.key === state.sort) ? state.sort : "number", down: state.down, brushes: new Map(state.brushes.map(([key, from, to]) => [key, { of: columnValue(key), from, to }])) });
  for (const name of ["verdict", "outcome"]) {
    const pick = document.getElementById("pick-" + name);
    pick.value = state[name];
    table[name] = pick.value = [...pick.options].some((one) => one.value === state[name]) ? state[name] : "";
  }
  document.getElementById("filter").value = state.find;
  find(state.find);
  if (byNumber.has(state.row)) choose(byNumber.get(state.row));
}
const columnValue = (key) => COLUMNS.find((column) => column.key === key)?.of ?? (() => null);

/* After them. */
function putBackPlace(state) {
  KEPT.forEach((id, i) => {
    const select = document.getElementById(id), option = [...(select?.options ?? [])].find((one) => one.textContent === state.values[i]);
    if (!option || option.selected) return;
    option.selected = true;
    select.dispatchEvent(new Event("change"));
  });
  const all = [...document.querySelectorAll("details")];
  if (all.length === state.open.length) all.forEach((one, i) => { one.open = state.open[i]; });
  const box = document.querySelector("#experiments .scroll");
  fill(state.box[2]);
  box.scrollTo(state.box[0], state.box[1]);
  scrollTo(...state.at);
  const focused = state.focus && document.getElementById(state.focus);
  focused?.focus({ preventScroll: true });
  if (state.caret) focused?.setSelectionRange(...state.caret);
}

/* Not while somebody has a list open, holds the pointer down or marks text, nor where nobody looks. */
let held = false, picking = false;
addEventListener("pointerdown", (event) => { held = true; picking = event.target.tagName === "SELECT"; });
for (const name of ["change", "focusout"]) addEventListener(name, () => { picking = false; });
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => { held = false; });
const isBusy = () => held || document.hidden || onPaper || picking || !getSelection().isCollapsed;

function showState() {
  if (!["under_way", "died", "elsewhere"].includes(head.state)) return;
  const made = moment(head.made_ms), follows = head.state === "under_way" && head.reload_s > 0;
  const text = say(follows ? "state_followed" : `state_${head.state}`, { at: made, s: plain(head.reload_s), host: head.sessions?.at(-1)?.host ?? "?", command: `${head.program} ${head.state === "died" ? "run --resume" : "report --follow"} ${head.folder}` });
  const said = make("p", { class: `state ${head.state}`, role: "status" }, make("b", {}, say(`state_is_${head.state}`)), " ", text);
  place("state", said);
  if (!follows) return;
  const again = () => {
    /* Whoever wrote it anew has stopped without a word, or cannot keep up. */
    const late = (Date.now() - head.made_ms) / 1000 > 10 * head.reload_s + 30;
    said.lastChild.textContent = late ? say("state_stale", { at: made }) : text;
    if (isBusy()) return void setTimeout(again, 500);
    keep();
    history.scrollRestoration = "manual";
    location.reload();
  };
  setTimeout(again, 1000 * head.reload_s);
}
