/* The find box: words that a row must hold, and conditions on columns: "lr>0.01 state:failed text", "time<=5min", "-word" for rows without. */
const UNITS = { j: 1, kj: 1e3, mj: 1e6, wh: 3600, kwh: 3.6e6, s: 1, min: 60, h: 3600, w: 1, kw: 1e3, mib: 1, gib: 1024, tib: 1048576, "": 1 };
const TOKEN = /(-(?=["\p{L}]))?(?:("[^"]*"|[^\s"<>=!:]+)\s*(<=|>=|!=|==?|<|>|:)\s*("[^"]*"?|[^\s"]*)|("[^"]*"?|\S+))/gu;
const bare = (text) => text.replace(/^"|"$/g, "");

/* "1.5kJ" in what rows hold: joules, seconds, watts, MiB; null: no number. */
function quantity(text) {
  const found = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([a-z]*)$/i.exec(text);
  return found && found[2].toLowerCase() in UNITS ? Number(found[1]) * UNITS[found[2].toLowerCase()] : null;
}

/* The columns that a name means: by name, else by what it abbreviates (lr: learning_rate), else by how it begins. */
function columnsNamed(name) {
  const wanted = name.toLowerCase(), spelt = (column) => [column.title, column.key.replace(/^[mp]:/, ""), ...(column.also ?? [])].map((text) => text.toLowerCase());
  const initials = (text) => text.split(/[^a-z0-9]+/).map((part) => part[0]).join("");
  const tries = [(text) => text === wanted || text.replace(/[ -]/g, "_") === wanted, (text) => /[_ -]/.test(text) && initials(text) === wanted, (text) => text.startsWith(wanted)];
  for (const fits of tries) {
    const found = COLUMNS.filter((column) => spelt(column).some(fits));
    if (found.length) return found;
  }
  return [];
}

function holds(column, row, sign, text) {
  const value = column.of(row), number = quantity(text), absent = value === null || value === undefined || value === "";
  const values = [...(column.words ? column.words(row) : []), cellText(column, row), String(value ?? "")].map((one) => one.toLowerCase());
  const alike = !absent && ((isNumber(value) && number !== null && Math.abs(value - number) <= 1e-9 * Math.abs(number)) || values.includes(text.toLowerCase()));
  if (sign === "!=") return !alike;
  if (sign === "=" || sign === "==") return alike;
  if (sign === ":") return alike || (!absent && !(isNumber(value) && number !== null && !column.words) && values.some((one) => one.includes(text.toLowerCase())));
  if (!isNumber(value) || number === null || column.words) return false;
  return { "<": value < number, ">": value > number, "<=": value <= number, ">=": value >= number }[sign];
}

/* {tests: functions of a row, unknown: names that no column has, unread: values that are no number}. What is not finished yet tests nothing. */
function parseFind(text) {
  const out = { tests: [], unknown: [], unread: [] };
  for (const [, not, name, sign, value, word] of text.matchAll(TOKEN)) {
    let test = null;
    if (word !== undefined) {
      const wanted = bare(word).toLowerCase();
      if (wanted) test = (row) => wordsOf(row).includes(wanted);
    } else if (bare(value)) {
      const columns = columnsNamed(bare(name));
      if (!columns.length) out.unknown.push(bare(name));
      else if (/[<>]/.test(sign) && quantity(bare(value)) === null) out.unread.push(bare(value));
      else test = (row) => columns.some((column) => holds(column, row, sign, bare(value)));
    }
    if (test) out.tests.push(not ? (row) => !test(row) : test);
  }
  return out;
}

/* An example of this run's own names. */
function findExample() {
  const column = COLUMNS.find((one) => /^[mp]:/.test(one.key) && rows.some((row) => isNumber(one.of(row))));
  const values = column ? rows.map((row) => column.of(row)).filter(isNumber).sort((a, b) => a - b) : [];
  const name = column && (/[\s"<>=!:]/.test(column.title) ? `"${column.title}"` : column.title);
  return [column && `${name}>${plain(values[Math.floor((values.length - 1) / 2)], 3)}`, `state:${rows.some((row) => row.outcome === "failed") ? "failed" : "succeeded"}`].filter(Boolean).join(" ");
}

function find(text) {
  const { tests, unknown, unread } = parseFind(text), names = COLUMNS.map((column) => column.also?.[0] ?? column.title);
  table.find = text;
  table.tests = tests;
  place("find-said", ...[unknown.length ? say("find_unknown", { name: unknown.join(", "), names: names.join(", ") }) : "", unread.length ? say("find_unread", { value: unread.join(", ") }) : ""].filter(Boolean).join(" "));
  refresh();
}

function findKey(event) {
  if (event.key === "Escape" && event.target.value) {
    event.target.value = "";
    find("");
  } else if (event.key === "ArrowDown" || event.key === "Enter") {
    table.body.querySelector('tr[tabindex="0"]')?.focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  event.preventDefault();
  document.getElementById("filter").focus();
});
