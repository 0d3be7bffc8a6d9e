// What page.cjs checks of the page as a tool: its find box, the relations of hyperparameters and figures, the table on a telephone, a run that is
// under way. Each takes (browser, file, ...more).
const assert = require("node:assert/strict");
const path = require("node:path");

module.exports = ({ open, ids, rowsOfCsv }) => ({
  // MORE: the folder of tests/page/space.py. What the find box shows is what summary.csv says of each condition; it is reached and left by keys.
  async find(browser, file, folder) {
    const page = await open(browser, file), csv = rowsOfCsv(path.join(folder, "summary.csv")), number = (name) => (row) => Number(row[name]);
    const rate = number("hyperparam_learning_rate"), accuracy = (row) => (row.perf_accuracy ? Number(row.perf_accuracy) : NaN), failed = (row) => row.training_success === "False";
    const every = async () => { await page.evaluate(() => fill(Infinity)); return ids(page); };
    for (const [text, holds] of [
      ["lr<0.001", (row) => rate(row) < 0.001], ["learning_rate >= 1e-3", (row) => rate(row) >= 0.001], ["state:failed", failed], ["outcome!=failed", (row) => !failed(row)],
      ["accuracy>=88.5 optimizer:adam", (row) => accuracy(row) >= 88.5 && row.hyperparam_optimizer === "adam"], ["batch_size=64", (row) => row.hyperparam_batch_size === "64"], ["batch_size=6", () => false],
      ["time>1.05min", (row) => number("duration_seconds")(row) > 63], ["energy>6.5kJ", (row) => number("energy_gpu_total_joules")(row) > 6500], ["net_01 lr>0.001", (row) => row.experiment_id.includes("net_01") && rate(row) > 0.001],
      ["-lion", (row) => row.hyperparam_optimizer !== "lion"], ['"exit code 1"', failed], ["LR<0.001 STATE:FAILED", (row) => rate(row) < 0.001 && failed(row)], ["lr>", () => true], ["", () => true],
    ]) {
      await page.fill("#filter", text);
      const wanted = csv.filter(holds).map((row) => row.experiment_id);
      assert.deepEqual((await every()).sort(), wanted.sort(), text);
      assert.match(await page.textContent("#shown"), new RegExp(`^${wanted.length} `));
      assert.equal(await page.textContent("#find-said"), "", text);
    }
    // A name that nobody has, or a value that is no number, is told with what there is, and hides nothing.
    for (const [text, said] of [["lrr>1", /lrr.*learning_rate/], ["accuracy>much", /much/]]) {
      await page.fill("#filter", text);
      assert.match(await page.textContent("#find-said"), said);
      assert.equal((await every()).length, csv.length);
    }
    await page.fill("#filter", "");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "filter");
    await page.keyboard.type("state:failed");
    const last = csv.filter(failed).map((row) => row.experiment_id);
    assert.deepEqual(await every(), last);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), last[0]);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), last[1]);
    await page.keyboard.press("/");
    await page.keyboard.press("Escape");
    assert.equal(await page.inputValue("#filter"), "");
    assert.equal((await every()).length, csv.length);
    assert.deepEqual(page.said, []);
  },

  // The order of the columns; on a telephone the id stays where it is while the rest goes by, and leaves room for it.
  async frozen(browser, file) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(browser, file, { viewport: { width: 390, height: 800 }, colorScheme });
      const keys = await page.$$eval("#table th", (list) => list.map((th) => th.dataset.key)), at = (key) => keys.findIndex((one) => one.startsWith(key));
      assert.deepEqual(keys.slice(0, 4), ["id", "number", "outcome", "verdict"]);
      assert.ok(at("m:") === 4 && at("m:") < at("p:") && keys.findLastIndex((one) => one.startsWith("p:")) < at("duration") && at("duration") < at("energy"), keys.join());
      const places = () => page.evaluate(() => {
        const box = document.querySelector("#experiments .scroll"), row = document.querySelector("#table tbody tr:nth-child(2)"), frame = box.getBoundingClientRect();
        return { box: frame.left + box.clientLeft, wide: box.clientWidth, id: row.cells[0].getBoundingClientRect(), outcome: row.cells[2].getBoundingClientRect().left, head: document.querySelector("#table th").getBoundingClientRect().left,
          solid: getComputedStyle(row.cells[0]).backgroundColor, on: document.elementFromPoint(frame.left + 20, row.getBoundingClientRect().top + 8).closest("td")?.cellIndex };
      });
      await page.evaluate(() => document.querySelector("#experiments .scroll").scrollIntoView());
      const before = await places();
      await page.evaluate(() => { document.querySelector("#experiments .scroll").scrollLeft = 220; });
      const after = await places();
      for (const one of [before, after]) {
        assert.ok(Math.abs(one.id.left - one.box) < 1 && Math.abs(one.head - one.box) < 1, JSON.stringify(one));
        assert.ok(one.id.width <= 0.45 * one.wide, `${one.id.width} of ${one.wide}`);
        assert.equal(one.on, 0);
        assert.match(one.solid, /^rgb\(/);
      }
      assert.ok(Math.abs(before.outcome - after.outcome - 220) < 1);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "wider than the window");
      assert.deepEqual(page.said, []);
      await page.context().close();
    }
  },

  // MORE: the folder of tests/page/space.py. Each experiment with a value is a point where its value is, each failed one a cross; a stretch that
  // is selected on an axis leaves those experiments in the table and dims the others; several are taken together; a click or Escape clears.
  async relations(browser, file, folder) {
    const page = await open(browser, file), csv = rowsOfCsv(path.join(folder, "summary.csv")), rate = (row) => Number(row.hyperparam_learning_rate);
    await page.waitForSelector(".parallel");
    const failed = csv.filter((row) => row.training_success === "False").length;
    await page.selectOption("#relation-x", { label: "learning_rate" });
    const points = await page.$$eval(".scatter circle", (list) => list.map((one) => [pointed.get(one).row.id, Number(one.getAttribute("cx")), Number(one.getAttribute("cy"))]));
    assert.equal(points.length, csv.length - failed);
    assert.equal(await page.$$eval(".scatter .cross", (list) => list.length), failed);
    const straight = (pairs) => { const [[a, b], [c, d]] = [pairs[0], pairs.at(-1)]; return pairs.every(([v, at]) => Math.abs(b + ((v - a) / (c - a)) * (d - b) - at) < 0.1); };
    const of = new Map(csv.map((row) => [row.experiment_id, row])), sorted = (f, i) => points.map((p) => [f(of.get(p[0])), p[i]]).sort((a, b) => a[0] - b[0]);
    assert.ok(straight(sorted((row) => Math.log(rate(row)), 1)), "powers of ten");
    assert.ok(straight(sorted((row) => Number(row.perf_accuracy), 2)));
    // Of words, each has its column of points.
    await page.selectOption("#relation-x", { label: "optimizer" });
    const columns = await page.$$eval(".scatter circle", (list) => list.map((one) => [pointed.get(one).row.params.optimizer, Number(one.getAttribute("cx"))]));
    const spans = ["adam", "lion", "sgd"].map((name) => { const at = columns.filter((one) => one[0] === name).map((one) => one[1]); return [Math.min(...at), Math.max(...at)]; });
    assert.ok(spans[0][1] < spans[1][0] && spans[1][1] < spans[2][0], JSON.stringify(spans));
    // The axes: where their marks are says which values a drag selects.
    assert.equal(await page.$$eval(".parallel .lines path", (list) => list.length), csv.length);
    const axis = async (key) => page.evaluate((wanted) => {
      const hit = document.querySelector(`.brush[data-key="${wanted}"]`);
      hit.scrollIntoView({ block: "center" });
      const now = hit.getBoundingClientRect(), top = hit.ownerSVGElement.getBoundingClientRect().top;
      return { x: now.left + now.width / 2, top: now.top, bottom: now.bottom, marks: [...hit.parentElement.querySelectorAll("text.soft")].map((text) => [text.lastChild.textContent, Number(text.getAttribute("y")) - 4 + top]) };
    }, key);
    const drag = async (x, from, to) => { await page.mouse.move(x, from); await page.mouse.down(); await page.mouse.move(x, (from + to) / 2); await page.mouse.move(x, to); await page.mouse.up(); };
    const wanted = async (rows) => {
      await page.evaluate(() => fill(Infinity));
      assert.deepEqual((await ids(page)).sort(), rows.map((row) => row.experiment_id).sort());
      assert.deepEqual((await page.$$eval(".parallel .lines path:not(.dim)", (list) => list.map((one) => pointed.get(one).row.id))).sort(), rows.map((row) => row.experiment_id).sort());
      assert.equal(await page.$$eval(".scatter circle:not(.dim)", (list) => list.length), rows.filter((row) => row.training_success === "True").length);
    };
    const rates = await axis("p:learning_rate"), [y1, y2] = ["0.001", "0.01"].map((text) => rates.marks.find((mark) => mark[0] === text)[1]);
    const from = Math.round(y1 + 0.2 * (y1 - y2)), to = Math.round(y2 - 0.1 * (y1 - y2)), value = (y) => 10 ** (-3 + (y1 - y) / (y1 - y2));
    await drag(rates.x, from, to);
    const low = csv.filter((row) => rate(row) >= value(from) && rate(row) <= value(to));
    assert.ok(low.length > 3 && low.length < csv.length - 10, low.length);
    await wanted(low);
    const words = await axis("p:optimizer"), adam = words.marks.find(([text]) => text === "adam")[1];
    await drag(words.x, adam + 20, adam - 20);
    const both = low.filter((row) => row.hyperparam_optimizer === "adam");
    assert.ok(both.length > 0 && both.length < low.length);
    await wanted(both);
    // With the find box too.
    await page.fill("#filter", "state:succeeded");
    await wanted(both.filter((row) => row.training_success === "True"));
    await page.fill("#filter", "");
    // What is selected stays when the drawing is made anew.
    await page.setViewportSize({ width: 1060, height: 900 });
    await page.waitForFunction(() => document.querySelector(".scatter").getBoundingClientRect().width < 520);
    await wanted(both);
    const again = await axis("p:optimizer");
    await page.mouse.click(again.x, again.top + 40);
    await wanted(low);
    assert.ok(await page.isVisible("#clear-brushes"));
    await page.keyboard.press("Escape");
    await wanted(csv);
    assert.ok(!(await page.isVisible("#clear-brushes")));
    // A click on a line chooses its experiment; the page does not scroll away under a finger on an axis.
    await page.$eval(".parallel .lines path", (one) => one.dispatchEvent(new MouseEvent("click", { bubbles: true })));
    assert.match(await page.textContent("#detail h2"), new RegExp(await page.$eval(".parallel .lines path", (one) => pointed.get(one).row.id)));
    assert.equal(await page.$eval(".brush", (one) => getComputedStyle(one).touchAction), "none");
    assert.deepEqual(page.said, []);
  },

  // MORE: why there is nothing to relate: the section is not there, that is said once, and no chart is without a curve.
  async unrelated(browser, file, reason) {
    const page = await open(browser, file);
    await page.waitForSelector("#left-out li");
    assert.equal(await page.textContent("#relations"), "");
    const said = await page.evaluate(() => document.body.innerText);
    assert.equal(said.split(reason).length, 2, said);
    assert.equal(said.split("no GPU was measured").length, 2, said);
    assert.deepEqual(await page.$$eval(".chart", (list) => list.filter((one) => one.plot?.axes.some((axis, i) => i > 0 && axis.show && one.plot.data.slice(1).every((values) => !values.some((v) => typeof v === "number")))).length), 0);
    assert.ok(await page.$eval(".chart", ({ plot: { ctx } }) => [0, ctx.canvas.width - 1].every((x) => ctx.getImageData(x, 0, 1, ctx.canvas.height).data.every((value) => value === 0))), "a label is cut");
    assert.deepEqual(page.said.filter((line) => !line.includes("willReadFrequently")), []); // our own look at the pixels
  },

  // Two thousand: from opening to the answer to a selection, what the page's thread worked.
  async crowd(browser, file) {
    const page = await open(browser, file);
    await page.waitForSelector(".parallel");
    const work = async () => (await page.meter.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "TaskDuration").value;
    const opened = await work();
    assert.equal(await page.$$eval(".parallel .lines path", (list) => list.length), 2000);
    const box = await page.$eval('.brush[data-key="p:learning_rate"]', (one) => { one.scrollIntoView({ block: "center" }); return one.getBoundingClientRect().toJSON(); });
    const x = box.left + box.width / 2, before = await work();
    await page.mouse.move(x, box.top + 40);
    await page.mouse.down();
    await page.mouse.move(x, box.top + 140, { steps: 5 });
    await page.mouse.up();
    const n = Number((await page.textContent("#shown")).split(" ")[0]), each = ((await work()) - before) / 5;
    assert.ok(n > 100 && n < 1900, n);
    browser.tell(`# 2000 experiments: open after ${opened.toFixed(2)} s of work, a selection answered in ${each.toFixed(3)} s`);
    assert.ok(opened < 8 && each < 1.5, `${opened} s, ${each} s`);
    assert.deepEqual(page.said, []);
  },

  // On a telephone: letters of drawings are 11 px at least, and no two labels of a drawing lie on each other.
  async readable(browser, file) {
    const page = await open(browser, file, { viewport: { width: 390, height: 800 } });
    await page.waitForSelector("#left-out li");
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    const seen = await page.evaluate(() => {
      const out = { small: [], over: [], texts: 0 };
      for (const svg of document.querySelectorAll("svg")) {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        const list = [...svg.querySelectorAll("text")].filter((text) => text.getBoundingClientRect().width).map((text) => ({ text: text.lastChild.textContent, size: parseFloat(getComputedStyle(text).fontSize) * scale, box: text.getBoundingClientRect() }));
        out.texts += list.length;
        out.small.push(...list.filter((one) => one.size < 11).map((one) => `${one.text}: ${one.size}`));
        const shrunk = ({ box }) => [box.left + 1, box.right - 1, box.top + 3, box.bottom - 3];
        list.forEach((a, i) => list.slice(i + 1).forEach((b) => {
          const [l, r, t, d] = shrunk(a), [l2, r2, t2, d2] = shrunk(b);
          if (l < r2 && l2 < r && t < d2 && t2 < d) out.over.push(`${a.text} and ${b.text} (${svg.getAttribute("aria-label")})`);
        }));
      }
      return out;
    });
    assert.deepEqual(seen.small, []);
    assert.deepEqual(seen.over, []);
    assert.ok(seen.texts > 30, seen.texts);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "wider than the window");
    assert.deepEqual(page.said, []);
  },

  // The power of the lanes and what each did begin and end at the same places, on the screen, on paper and when a part is shown.
  async aligned(browser, file) {
    for (const width of [1280, 390]) {
      const page = await open(browser, file, { viewport: { width, height: 900 } });
      await page.waitForSelector("#lane-table");
      const places = () => page.evaluate(() => {
        const { plot } = document.getElementById("timeline-chart"), svg = document.querySelector("#lanes svg"), room = document.querySelector("#lane-room rect"), frame = svg.getBoundingClientRect(), over = plot.over.getBoundingClientRect();
        const left = frame.left + Number(room.getAttribute("x"));
        return { power: [over.left, over.right], lanes: [left, left + Number(room.getAttribute("width")) - 1], time: [plot.scales.x.min, plot.scales.x.max], from: usage.from_ms / 1000, end: (usage.from_ms + lanesEnd()) / 1000,
          bars: [...document.querySelectorAll("#lanes .bar")].map((bar) => [Number(bar.dataset.number), frame.left + Number(bar.getAttribute("x"))]), starts: Object.fromEntries(usage.lanes.flatMap((lane) => lane.spans.filter((span) => span[2] === 0).map((span) => [span[3], (usage.from_ms + span[0]) / 1000]))) };
      });
      const same = (seen) => {
        for (const i of [0, 1]) assert.ok(Math.abs(seen.power[i] - seen.lanes[i]) <= 1, `${width}: ${seen.power} and ${seen.lanes}`);
        for (const [number, x] of seen.bars) {
          const wanted = seen.power[0] + ((seen.starts[number] - seen.time[0]) / (seen.time[1] - seen.time[0])) * (seen.power[1] - seen.power[0]);
          assert.ok(Math.abs(x - wanted) < 1.5, `#${number} at ${x}, not ${wanted}`);
        }
      };
      const whole = await places();
      assert.ok(Math.abs(whole.time[0] - whole.from) < 0.01 && Math.abs(whole.time[1] - whole.end) < 0.01, JSON.stringify(whole.time));
      same(whole);
      await page.evaluate(() => document.getElementById("timeline-chart").scrollIntoView({ block: "center" }));
      const over = await page.$eval("#timeline-chart .u-over", (one) => one.getBoundingClientRect().toJSON()), y = over.top + 60;
      await page.mouse.move(over.left + 0.25 * over.width, y);
      await page.mouse.down();
      await page.mouse.move(over.left + 0.5 * over.width, y, { steps: 3 });
      await page.mouse.up();
      await page.waitForFunction((all) => { const { x } = document.getElementById("timeline-chart").plot.scales; return x.max - x.min < 0.3 * all; }, whole.time[1] - whole.time[0]);
      same(await places());
      await page.evaluate(() => forPaper(true));
      same(await places());
      assert.deepEqual(page.said, []);
      await page.context().close();
    }
  },

  // MORE: what the page says of the run's state, or "" of one that has ended.
  async state(browser, file, wanted) {
    const page = await open(browser, file);
    const said = await page.textContent("#state");
    assert.ok(wanted ? said.includes(wanted) : said === "", said);
    assert.deepEqual(page.said, []);
  },

  // What says a number of things has the words of one, and of several.
  async singular(browser, file) {
    const page = await open(browser, file);
    await page.waitForSelector("#left-out li");
    const list = async (each) => page.evaluate((counts) => {
      rows.forEach((row, i) => { row.evidence = Array(counts[i] ?? 0).fill({ kind: "hot_start", weight: "suspect", text: "" }); });
      showEvidence();
      return document.querySelector("#evidence li p").textContent;
    }, each);
    assert.match(await list([1]), /hot_start once, in 1 experiment$/);
    assert.match(await list([2]), /hot_start 2 times, in 1 experiment$/);
    assert.match(await list([2, 1]), /hot_start 3 times, in 2 experiments$/);
    assert.deepEqual(page.said, []);
  },
});
