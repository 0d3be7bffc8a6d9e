// Looks at a report as a person would. A check takes (browser, file, ...more), of which what is a file or a folder is absolute (browser.cjs).
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

// A page on which nothing was said to the console, and nothing asked of the network.
async function open(browser, file, more = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...more });
  const page = await context.newPage();
  page.meter = await context.newCDPSession(page);
  await page.meter.send("Performance.enable", { timeDomain: "threadTicks" });
  page.said = [];
  page.on("console", (message) => page.said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.said.push(`error: ${error.stack}`));
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) page.said.push(`asked for ${request.url()}`); });
  await page.goto("file://" + path.resolve(file));
  return page;
}

// The page with each energy, power, memory and metric so many times as large.
const scaledBy = (html, factor) => html.replace(/(<script type="application\/json" id="x[^>]*>)(.*?)(<\/script>)/gs, (all, begin, text, end) => {
  const data = JSON.parse(text), measured = data.foreground || data, times = (value) => (typeof value === "number" ? value * factor : value);
  const gpu = data.tare?.energy?.gpu;
  for (const key of Object.keys(gpu || {})) gpu[key] = times(gpu[key]);
  for (const key of Object.keys(measured.performance_metrics || {})) measured.performance_metrics[key] = times(measured.performance_metrics[key]);
  for (const trace of data.trace || [])
    for (const key of ["power_w", "memory_mib"]) if (trace[key]) trace[key] = trace[key].map(times);
  return begin + JSON.stringify(data).replace(/</g, "\\u003c") + end;
});

const rowsOfCsv = (file) => {
  const [first, ...lines] = fs.readFileSync(file, "utf8").trim().split(/\r?\n/).map((line) => line.split(","));
  return lines.map((cells) => Object.fromEntries(first.map((name, i) => [name, cells[i]])));
};
const ids = (page) => page.$$eval("#table tbody tr[data-id]", (rows) => rows.map((row) => row.dataset.id));

const checks = {
  // Light and dark, wide and narrow, on paper: no message, nothing wider than the window.
  async quiet(browser, file) {
    for (const more of [{}, { colorScheme: "dark" }, { viewport: { width: 400, height: 800 } }]) {
      const page = await open(browser, file, more);
      if (more.viewport) assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "wider than the window");
      await page.emulateMedia({ media: "print" });
      assert.deepEqual(page.said, []);
      await page.context().close();
    }
  },

  // TEXT: which experiments figures are made of; the front has those alone.
  async counted(browser, file, text) {
    const page = await open(browser, file);
    assert.equal(await page.textContent("#verdict .counted"), text);
    const front = await page.waitForSelector("#front path.front", { state: "attached" }), on = (await front.getAttribute("data-ids")).split(" ").filter(Boolean);
    const kinds = await page.evaluate(() => head.counted.ids);
    assert.ok(on.every((id) => kinds[id]), `${on} are not all counted`);
    assert.equal(on.length > 0, Object.keys(kinds).length > 0);
    await page.context().close();
  },

  // FOLDER: of an experiment. The table of its budget is a row for each component of its experiment.json, with its figures, and folded
  // until somebody asks; what nobody knows is no figure. The page holds no other budget.
  async budget(browser, file, folder) {
    const page = await open(browser, file);
    await page.click(`tr[data-id="${path.basename(folder)}"]`);
    const energy = JSON.parse(fs.readFileSync(path.join(folder, "experiment.json"), "utf8")).tare.energy, { components } = energy.gpu.budget;
    assert.equal(await page.$eval("details.budget", (one) => one.open), false);
    await page.click("details.budget > summary");
    const rows = await page.$$eval("details.budget tbody tr", (list) => list.map((row) => [row.dataset.component, ...[...row.children].slice(1).map((cell) => cell.textContent)]));
    assert.deepEqual(rows.map((row) => row[0]), components.map((one) => one.component));
    const close = (text, value) => assert.ok(Math.abs(parseFloat(text.replace(/,/g, "")) / value - 1) < 1e-3, `${text} is not ${value}`);
    components.forEach((one, i) => {
      const [, type, u, sensitivity, joules, freedom, source] = rows[i];
      assert.equal(type, one.type);
      close(sensitivity, one.sensitivity);
      assert.equal(source, one.source);
      if (one.u === null) return assert.deepEqual([u, joules, freedom], ["not known", "not known", "not known"]);
      close(u, one.u);
      close(joules, one.contribution_j);
      assert.match(joules, / J$/);
      if (one.degrees_of_freedom === "inf") assert.equal(freedom, "∞");
      else close(freedom, one.degrees_of_freedom);
    });
    const hidden = await page.$$eval('#detail dl [title="aliasing_bound_j"]', (list) => list.map((one) => one.closest("dt").nextSibling.textContent));
    assert.equal(hidden.length, energy.gpu.aliasing_bound_j > energy.gpu.half_width_j ? 1 : 0);
    // The examples of tests/unit/base/amount_test.c.
    const figures = [[5902.63, 2.83, "5.9026 ± 0.0028 kJ"], [5902.63, 3.4, "5.903 ± 0.003 kJ"], [844.4, 0.794, "844.4 ± 0.8 J"], [212.347, 0.1, "212.35 ± 0.10 J"],
      [900, 146, "900 ± 150 J"], [900, 345, "900 ± 300 J"], [50, 0.0296, "50.00 ± 0.03 J"], [50, 0.962, "50.0 ± 1.0 J"], [50, 9.7, "50 ± 10 J"], [5903.6, 7853, "6 ± 8 kJ"], [5908, 10200, "6 ± 10 kJ"],
      [-592, 7603, "-1 ± 8 kJ"], [-400, 7603, "0 ± 8 kJ"], [0.0123, 0.0004, "12.3 ± 0.4 mJ"], [0.0123, 15, "0 ± 15 J"], [999.94, 0.5, "999.9 ± 0.5 J"], [999.96, 0.5, "1.0000 ± 0.0005 kJ"],
      [999600, 4000, "1.000 ± 0.004 MJ"], [2.5e9, 3e7, "2.50 ± 0.03 GJ"], [2.5e12, 3e10, "2500 ± 30 GJ"], [0.9996, 0.004, "1.000 ± 0.004 J"], [5903.6, 0, "5.9036 ± 0 kJ"], [5903.6, null, "5.9 kJ ± not known"], [null, 1, ""]];
    assert.deepEqual(await page.evaluate((list) => list.map(([value, half]) => withHalfWidth(value, half)), figures), figures.map((one) => one[2]));
    assert.equal(await page.$eval('#detail dl [title^="joules"]', (one) => one.closest("dt").nextSibling.textContent), await page.evaluate(([j, half]) => withHalfWidth(j, half), [energy.gpu.joules, energy.gpu.half_width_j]));
    assert.deepEqual(await page.evaluate(() => Object.entries(chosen.row.data.tare.energy).flatMap(([name, one]) => (name !== "gpu" && JSON.stringify(one)?.includes('"budget"') ? [name] : []))), []);
    assert.deepEqual(page.said, []);
  },

  // Large and tiny values, light and dark, wide, narrow and on paper: no label leaves its chart, and no text holds a {name}. Each size of
  // value narrow and on paper, where room is least; dark and light in turn. MORE: a folder for pictures of what was looked at.
  async labels(browser, file, pictures) {
    const layouts = { light: {}, dark: { colorScheme: "dark" }, narrow: { viewport: { width: 400, height: 800 } }, paper: { media: "print" } };
    const scaled = `${file}.labels.html`, page = await open(browser, "/dev/null");
    for (const [i, factor] of [1, 4321, 98765432, 1e-3, 2.5e-8].entries()) {
      fs.writeFileSync(scaled, scaledBy(fs.readFileSync(file, "utf8"), factor));
      for (const layout of ["narrow", "paper", i % 2 ? "dark" : "light"]) {
        const { viewport = { width: 1280, height: 900 }, colorScheme = "light", media = "screen" } = layouts[layout];
        await page.setViewportSize(viewport);
        await page.emulateMedia({ media: "screen", colorScheme });
        await page.goto("file://" + path.resolve(scaled));
        if (media === "print") {
          await page.emulateMedia({ media });
          await page.evaluate(() => forPaper(true));
        }
        await page.waitForSelector("#front svg");
        await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
        const seen = await page.evaluate(() => {
          const out = { cut: [], axes: 0, texts: 0 };
          const within = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1 && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
          for (const text of document.querySelectorAll("svg text")) {
            const box = text.getBoundingClientRect();
            if (box.width === 0) continue;
            out.texts++;
            if (!within(box, text.ownerSVGElement.getBoundingClientRect())) out.cut.push(text.textContent);
          }
          for (const { plot } of document.querySelectorAll(".chart")) {
            // What is cut touches the edge: the outermost columns of a chart hold no ink.
            const { width, height } = plot.ctx.canvas, first = plot.ctx.getImageData(0, 0, 1, height).data, last = plot.ctx.getImageData(width - 1, 0, 1, height).data;
            for (const [side, data] of [["left", first], ["right", last]])
              if (data.some((value, i) => i % 4 === 3 && value > 0)) out.cut.push(`${side} edge of ${plot.series[1].label}`);
            plot.axes.forEach((axis, i) => {
              if (i === 0 || !axis._values) return;
              out.axes++;
              const labels = axis._values.filter((text) => text);
              if (new Set(labels).size !== labels.length) out.cut.push(`two of ${labels.join(" ")} are alike`);
              plot.ctx.font = axis.font[0];
              const room = (axis._size - axis.ticks.size - axis.gap) * devicePixelRatio;
              for (const text of labels) if (plot.ctx.measureText(text).width > room) out.cut.push(`${text} in ${room}px`);
            });
          }
          out.names = document.body.innerText.match(/\{\w+\}/g) || [];
          return out;
        });
        if (pictures) await page.screenshot({ path: path.join(pictures, `${layout}-${factor}.png`), fullPage: true });
        assert.deepEqual(seen.cut, [], `${layout}, values × ${factor}`);
        assert.deepEqual(seen.names, []);
        assert.ok(seen.texts >= 10 && seen.axes >= 2, JSON.stringify(seen));
        assert.deepEqual(page.said.filter((line) => !line.includes("willReadFrequently")), []); // our own looks at the pixels
      }
    }
    await page.context().close();
    fs.unlinkSync(scaled);
  },

  // MORE: the folder of the experiment that is chosen: every point of its curves is a row of its gpu.csv, and is drawn.
  async curves(browser, file, folder) {
    const page = await open(browser, file);
    await page.click(`tr[data-id="${path.basename(folder)}"]`);
    const csv = rowsOfCsv(path.join(folder, "energy/gpu.csv"));
    for (const [name, column] of [["power", "power_draw_w"], ["temperature", "temperature_c"], ["utilisation", "utilisation_percent"], ["memory", "memory_used_mib"]]) {
      const drawn = await page.evaluate((wanted) => {
        const plot = document.querySelector(`.chart[data-name="${wanted}"]`).plot;
        const stroke = plot.series[1].stroke(plot, 1), pen = document.createElement("canvas").getContext("2d");
        pen.fillStyle = stroke;
        pen.fillRect(0, 0, 1, 1);
        const colour = [...pen.getImageData(0, 0, 1, 1).data];
        // Is there something of the curve's colour where the point must be?
        const { width, height } = plot.ctx.canvas, all = plot.ctx.getImageData(0, 0, width, height).data;
        const alike = (x, y) => [0, 1, 2].reduce((sum, c) => sum + Math.abs(all[(y * width + x) * 4 + c] - colour[c]), 0) < 60;
        const seen = plot.data[0].map((x, i) => {
          const at = [plot.valToPos(x, "x", true), plot.valToPos(plot.data[1][i], "y", true)].map(Math.round);
          for (let dx = -3; dx <= 3; dx++)
            for (let dy = -3; dy <= 3; dy++) if (alike(at[0] + dx, at[1] + dy)) return true;
          return false;
        });
        return { x: plot.data[0], y: plot.data[1], seen };
      }, name);
      assert.deepEqual(drawn.x, csv.map((row) => Number(row.seconds)), name);
      assert.deepEqual(drawn.y, csv.map((row) => Number(row[column])), name);
      assert.ok(drawn.seen.every(Boolean), `${name}: not drawn where it must be: ${drawn.seen}`);
    }
    assert.deepEqual(page.said, []);
  },

  // Of three experiments repo_net_001 to 003: sorted and filtered by mouse and by keys.
  async table(browser, file) {
    const page = await open(browser, file);
    const all = ["repo_net_001", "repo_net_002", "repo_net_003"];
    assert.deepEqual(await ids(page), all);
    await page.click('th[data-key="number"] button');
    assert.deepEqual(await ids(page), [...all].reverse());
    assert.equal(await page.getAttribute('th[data-key="number"]', "aria-sort"), "descending");
    await page.focus('th[data-key="number"] button');
    await page.keyboard.press("Enter");
    assert.deepEqual(await ids(page), all);
    // By a number, not by its text.
    await page.click('th[data-key="p:n"] button');
    const numbers = await page.$$eval("#table tbody tr", (rows) => rows.map((row) => row.dataset.id));
    const values = await page.evaluate(() => Object.fromEntries(rows.map((row) => [row.id, row.params.n])));
    assert.deepEqual(numbers, [...all].sort((a, b) => values[a] - values[b]));
    await page.fill("#filter", "net_002");
    assert.deepEqual(await ids(page), ["repo_net_002"]);
    assert.match(await page.textContent("#shown"), /1 .* 3/);
    await page.fill("#filter", "there is none such");
    assert.deepEqual(await ids(page), []);
    await page.fill("#filter", "");
    await page.selectOption("#pick-outcome", "failed");
    assert.deepEqual(await ids(page), await page.evaluate(() => rows.filter((row) => row.outcome === "failed").map((row) => row.id)));
    await page.selectOption("#pick-outcome", "");
    await page.click('th[data-key="number"] button');
    // One row is reached by Tab, the others by arrows; the shown experiment goes with it.
    await page.focus('#table tbody tr[tabindex="0"]');
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    assert.match(await page.textContent("#detail h2"), /repo_net_002/);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), "repo_net_002");
    await page.keyboard.press("End");
    assert.match(await page.textContent("#detail h2"), /repo_net_003/);
    assert.deepEqual(page.said, []);
  },

  // What the log and the registry say stays text.
  async text(browser, file, wanted) {
    const page = await open(browser, file);
    await page.click('tr[data-id="repo_net_001"]');
    assert.ok((await page.textContent("#detail pre.log")).includes(wanted));
    assert.equal(await page.evaluate(() => globalThis.planted), undefined);
    assert.equal(await page.$$eval("#detail img", (list) => list.length), 0);
    assert.deepEqual(page.said, []);
  },

  // A thousand experiments: from opening to the answer to a click, the best of three. What counts is the time that the page's thread
  // worked: the wall's is printed, and is longer where other tests run beside.
  async large(browser, file) {
    let best = Infinity, wall = Infinity;
    for (let i = 0; i < 3; i++) {
      const begin = process.hrtime.bigint();
      const page = await open(browser, file);
      assert.match(await page.textContent("#shown"), /1000 .* 1000/);
      await page.click('th[data-key="number"] button');
      await page.waitForFunction(() => document.querySelector("#table tbody tr").dataset.id.endsWith("1000"));
      wall = Math.min(wall, Number(process.hrtime.bigint() - begin) / 1e9);
      const { metrics } = await page.meter.send("Performance.getMetrics");
      best = Math.min(best, metrics.find((metric) => metric.name === "TaskDuration").value);
      // All of them can be reached.
      await page.click('th[data-key="number"] button');
      await page.focus('#table tbody tr[tabindex="0"]');
      await page.keyboard.press("End");
      assert.match(await page.textContent("#detail h2"), /repo_net_1000/);
      assert.equal((await ids(page)).length, 1000);
      assert.deepEqual(page.said, []);
      await page.context().close();
    }
    browser.tell(`# 1000 experiments: a click is answered after ${best.toFixed(2)} s of work, ${wall.toFixed(2)} s in all`);
    assert.ok(best > 0.01 && best < 2, `${best} s`);
  },

  // MORE: the study's folder. Each of its experiments: the curves are its files' rows; what contaminates it is shaded; the run's chart
  // has a band for each experiment in its verdict's colour and a hatched one for each wait between.
  async study(browser, file, folder) {
    const page = await open(browser, file);
    for (const id of await ids(page)) {
      await page.click(`tr[data-id="${id}"]`);
      const seen = await page.evaluate(() => ({
        charts: Object.fromEntries([...document.querySelectorAll("#detail .chart")].map((box) => [box.dataset.name, box.plot.data])),
        start: chosen.row.start / 1000, verdict: chosen.row.verdict, bands: disturbed(chosen.row), links: [...document.querySelectorAll("#detail .files a")].map((a) => decodeURI(a.href)),
      }));
      for (const [name, table, column] of [["power", "gpu_power", "power_draw_w"], ["utilisation", "gpu_utilization", "gpu_util_percent"],
        ["memory_utilisation", "gpu_utilization", "memory_util_percent"], ["temperature", "gpu_temperature", "gpu_temp_c"]]) {
        const csv = path.join(folder, id, "energy", table + ".csv");
        if (!fs.existsSync(csv)) {
          assert.equal(seen.charts[name], undefined, name);
          continue;
        }
        const rows = rowsOfCsv(csv);
        assert.deepEqual(seen.charts[name][0], rows.map((row) => Number(row.timestamp) - seen.start), name);
        assert.deepEqual(seen.charts[name][1], rows.map((row) => Number(row[column])), name);
      }
      assert.equal(seen.charts.memory_temperature, undefined, "N/A is no curve");
      assert.equal(seen.bands.some((band) => band.weight === "contaminated"), seen.verdict === "contaminated", id);
      for (const link of seen.links) assert.ok(fs.existsSync(new URL(link)), link);
      assert.ok(seen.links.length >= 4, id);
    }
    await page.waitForSelector("#timeline-chart canvas");
    const bands = await page.evaluate(() => runBands().map((band) => ({ hatched: Boolean(band.hatch), seconds: band.to - band.from, fill: band.fill, verdict: band.row?.verdict })));
    assert.deepEqual(bands.filter((band) => band.hatched).map((band) => Math.round(band.seconds)), [1740, 1740, 1740, 1740, 1740]);
    const soft = await page.evaluate(() => Object.fromEntries(["clean", "unverified", "suspect", "contaminated", "unjudged"].map((name) => [name, colour(name + "-soft")])));
    assert.deepEqual(bands.filter((band) => !band.hatched).map((band) => band.fill), ["unjudged", "unverified", "unverified", "suspect", "contaminated", "contaminated"].map((name) => soft[name]));
    assert.equal(new Set(Object.values(soft)).size, 5);
    // None of so small a folder can be compared with enough others to be clean: as if one had been.
    const clean = await page.evaluate(() => {
      const row = rows.find((one) => one.id === "demo_net_001"), verdict = row.verdict;
      row.verdict = "clean";
      const fill = runBands().find((band) => band.row === row).fill;
      row.verdict = verdict;
      return fill;
    });
    assert.equal(clean, soft.clean);
    // The clock is that of the machine, eight hours ahead: the first began at 1763425800.
    assert.match(await page.textContent("#top"), /2025-11-18 08:30:00/);
    assert.match(await page.textContent("#verdict .sentence"), /^None of 6 /);
    // The front: each draws more than the one before and is better; the failed and the contaminated are not on it.
    assert.equal(await page.getAttribute("path.front", "data-ids"), "demo_net_001 demo_net_002 demo_net_003");
    assert.deepEqual(page.said, []);
  },

  // Words of four letters and more that are no names: none in what the page itself says.
  async chinese(browser, file) {
    const page = await open(browser, file);
    await page.waitForSelector("#front svg");
    for (const id of await ids(page)) {
      await page.click(`tr[data-id="${id}"]`);
      const own = await page.evaluate(() => {
        const names = new Set([...metricNames, ...rows.flatMap((row) => [row.id, row.model, row.repository, row.label, ...Object.keys(row.params), ...row.evidence.map((item) => item.kind), ...(row.data.files || [])]), ...head.files, head.program]);
        const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode())
          if (!node.parentElement.closest("script, noscript, pre, code, [lang=en], h1, dd, td.error")) texts.push(node.data);
        return texts.concat([...document.querySelectorAll("[aria-label], [placeholder]")].map((e) => e.getAttribute("aria-label") || e.getAttribute("placeholder")))
          .map((text) => [...names].sort((a, b) => b.length - a.length).reduce((rest, name) => rest.split(name).join(""), text))
          .filter((text) => /[a-z]{4}/i.test(text.replace(/summary\.csv|energy\/\*\.csv|export|background_logs|nvidia-smi|MiB/g, "")));
      });
      // What went wrong is told as the training told it; a background by its name.
      assert.deepEqual(own.filter((text) => !/broke|other big/.test(text)), []);
    }
    assert.deepEqual(page.said, []);
  },

  // MORE: the run's folder, and what the last experiment's snapshots lead to: commands, or pages that are there.
  async snapshots(browser, file, folder, ...wanted) {
    const page = await open(browser, file);
    // As it stands in its folder, where its links lead from.
    await page.goto("file://" + path.join(path.resolve(folder), "report.html"));
    const found = await page.$$eval("#detail .snapshot", (list) => list.map((p) => p.querySelector("code")?.textContent ?? p.querySelector("a").href));
    assert.deepEqual(found.map((text) => (text.startsWith("file:") ? path.relative(path.resolve(folder), decodeURI(new URL(text).pathname)) : text.replace(/^\S+/, "tare"))).sort(), [...wanted].sort());
    for (const text of found.filter((text) => text.startsWith("file:"))) assert.ok(fs.existsSync(new URL(text)), text);
    assert.deepEqual(page.said, []);
  },

  // MORE: the run's folder. Each link leads to a file; each experiment's figures are those of its files.
  async links(browser, file, folder) {
    const page = await open(browser, file);
    const top = await page.$$eval("#top a", (list) => list.map((a) => a.href));
    assert.ok(top.some((link) => link.endsWith("summary.csv")), top);
    const csv = rowsOfCsv(path.join(folder, "summary.csv"));
    for (const id of await ids(page)) {
      await page.click(`tr[data-id="${id}"]`);
      const links = await page.$$eval("#detail .files a", (list) => list.map((a) => a.href));
      for (const link of [...top, ...links]) assert.ok(fs.existsSync(new URL(link)), link);
      for (const name of ["energy/gpu.csv", "experiment.json", "training.log"]) assert.ok(links.some((link) => link.endsWith(`${id}/${name}`)), name);
      const own = JSON.parse(fs.readFileSync(path.join(folder, id, "experiment.json"), "utf8")).tare;
      const looked = own.guard.filter((item) => item.phase === "preflight").pop().devices[0];
      const figures = Object.fromEntries(await page.$$eval("#detail dl", (lists) => [...lists[0].querySelectorAll("dt")].map((dt) => [dt.firstChild.title, dt.nextSibling.textContent])));
      assert.equal(figures.temperature_start_c, `${looked.temperature_c} °C`);
      assert.equal(figures.sm_clock_mhz, `${looked.sm_clock_mhz} MHz`);
      const row = csv.find((line) => line.experiment_id === id), shown = await page.evaluate(() => [chosen.row.energy, chosen.row.power, chosen.row.duration, chosen.row.verdict]);
      assert.deepEqual(shown.slice(0, 3).map((n) => n.toPrecision(6)), [row.energy_gpu_total_joules, row.energy_gpu_avg_watts, row.duration_seconds].map((text) => Number(text).toPrecision(6)));
      assert.equal(shown[3], row.verdict || "unjudged");
    }
    assert.deepEqual(page.said, []);
  },

  // The lanes: a bar for each attempt, where and as long as the data says, in its verdict's colour; reached by mouse and keys; no wider
  // than the window, light and dark; the table has a row for each lane.
  async lanes(browser, file) {
    for (const more of [{}, { colorScheme: "dark" }, { viewport: { width: 400, height: 800 } }]) {
      const page = await open(browser, file, more);
      await page.waitForSelector("#lane-table");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "wider than the window");
      const data = await page.evaluate(() => head.lanes.lanes.map((lane) => lane.spans));
      const bars = await page.$$eval("#lanes .lane", (groups) => groups.map((g) => [...g.querySelectorAll("rect.bar")].map((bar) => ({
        from: Number(bar.getAttribute("x")), wide: Number(bar.getAttribute("width")), number: Number(bar.dataset.number), fill: getComputedStyle(bar).fill, verdict: bar.classList[1] }))));
      assert.equal(bars.length, data.length);
      const end = Math.max(...data.flat().map((span) => span[1]));
      const [left, width] = await page.$eval("#lanes svg", (svg) => [Number(svg.querySelector(":scope > line").getAttribute("x1")), svg.viewBox.baseVal.width]);
      const colours = await page.evaluate(() => Object.fromEntries(["clean", "unverified", "suspect", "contaminated", "unjudged"].map((name) => { const i = document.createElement("i"); i.style.color = `var(--${name})`; document.body.append(i); return [name, getComputedStyle(i).color]; })));
      const verdicts = await page.evaluate(() => Object.fromEntries(rows.map((row) => [row.number, row.verdict])));
      data.forEach((spans, n) => {
        const wanted = spans.filter((span) => span[2] === 0);
        assert.deepEqual(bars[n].map((bar) => bar.number), wanted.map((span) => span[3]));
        wanted.forEach((span, i) => {
          const at = (ms) => left + (ms / end) * (width - left - 14), bar = bars[n][i];
          assert.ok(Math.abs(bar.from - at(span[0])) < 1.5, `bar ${i} of lane ${n} at ${bar.from}, not ${at(span[0])}`);
          assert.ok(Math.abs(bar.wide - Math.max(at(span[1]) - at(span[0]), 1)) < 0.1);
          assert.equal(bar.verdict, verdicts[span[3]]);
          assert.equal(bar.fill, colours[bar.verdict]);
        });
      });
      assert.equal(await page.$$eval("#lane-table tbody tr", (list) => list.length), data.length);
      // The run's chart: each GPU's points are those of its experiments' traces, at their times, and no others; of many GPUs it is left out.
      const drawn = await page.evaluate(() => {
        const plot = document.getElementById("timeline-chart")?.plot;
        return plot && gpuNames.map((name, i) => plot.data[0].map((time, k) => [time, plot.data[i + 1][k]]).filter((point) => typeof point[1] === "number"));
      });
      const traced = await page.evaluate(() => gpuNames.length <= 8 && gpuNames.map((name) => rows.flatMap((row) => (row.data.trace || []).filter((trace) => gpuOf(row, trace) === name)
        .flatMap((trace) => trace.seconds.map((second, k) => [row.start / 1000 + second, trace.power_w[k]]))).filter((point) => typeof point[1] === "number").sort((a, b) => a[0] - b[0])));
      if (!traced) assert.ok(!drawn);
      else assert.deepEqual(drawn, traced);
      // One of them is reached by Tab; arrows walk, Enter chooses; a click chooses too.
      assert.equal(await page.$$eval('#lanes .bar[tabindex="0"]', (list) => list.length), 1);
      await page.focus('#lanes .bar[tabindex="0"]');
      await page.keyboard.press("End");
      const focused = () => page.evaluate(() => Number(document.activeElement.dataset.number));
      const first = data.findIndex((spans) => spans.some((span) => span[2] === 0)), bottom = data.findLastIndex((spans) => spans.some((span) => span[2] === 0));
      assert.equal(await focused(), data[first].filter((span) => span[2] === 0).pop()[3]);
      for (let i = 0; i < data.length; i++) await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Home");
      const number = data[bottom].find((span) => span[2] === 0)[3];
      assert.equal(await focused(), number);
      const id = await page.evaluate((wanted) => rows.find((row) => row.number === wanted).id, number);
      assert.ok((await page.textContent('#lanes [role="status"]')).includes(id));
      await page.keyboard.press("Enter");
      assert.ok((await page.textContent("#detail h2")).includes(id));
      await page.$eval(`#lanes .bar[data-number="${data[first].find((span) => span[2] === 0)[3]}"]`, (bar) => bar.dispatchEvent(new MouseEvent("click", { bubbles: true })));
      assert.equal(await page.evaluate(() => chosen.row.number), data[first].find((span) => span[2] === 0)[3]);
      await page.emulateMedia({ media: "print" });
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      assert.equal(await page.evaluate(() => document.querySelector("#lanes svg").viewBox.baseVal.width), 670);
      assert.deepEqual(page.said, []);
      await page.context().close();
    }
  },

  // MORE: a metric, how many of its values are finite and how many are not, and its goal: "high", "low" or "".
  async diverged(browser, file, metric, finite, others, sense) {
    const page = await open(browser, file);
    await page.waitForSelector("#front svg");
    const cells = await page.$$eval("#table tbody tr[data-id]", (rows, name) => {
      const at = [...document.querySelectorAll("#table th")].findIndex((th) => th.dataset.key === "m:" + name);
      return rows.map((row) => row.cells[at].textContent);
    }, metric);
    assert.equal(cells.filter((text) => ["nan", "inf", "-inf"].includes(text)).length, Number(others));
    assert.equal(cells.filter((text) => /^[0-9.]+$/.test(text)).length, Number(finite));
    // What is not finite stands behind what is, whichever way the column is sorted.
    for (let i = 0; i < 2; i++) {
      await page.click(`#table th[data-key="m:${metric}"]`);
      const sorted = await page.$$eval("#table tbody tr[data-id]", (rows, name) => {
        const at = [...document.querySelectorAll("#table th")].findIndex((th) => th.dataset.key === "m:" + name);
        return rows.map((row) => row.cells[at].textContent);
      }, metric);
      assert.ok(sorted.slice(0, Number(finite)).every((text) => /^[0-9.]+$/.test(text)), sorted.join());
    }
    const titles = await page.$$eval("#spread summary", (list) => list.map((one) => one.textContent));
    assert.ok(titles.includes(others === "0" ? metric : `${metric}, ${others} not finite`), titles.join());
    assert.equal(await page.$$eval("#spread details", (list, name) => list.find((one) => one.textContent.startsWith(name)).querySelectorAll("circle").length, metric), Number(finite));
    await page.selectOption("#metric", metric);
    assert.equal(await page.$eval("#sense", (select) => select.value), sense);
    assert.equal(await page.$$eval("#front circle", (list) => list.length), Number(finite));
    assert.equal((await page.$eval("#front path.front", (path) => path.dataset.ids)) === "", sense === "");
    const places = await page.$$eval("#front circle, #spread circle", (list) => list.map((one) => one.getAttribute("cx") + one.getAttribute("cy")));
    assert.ok(places.every((text) => /^[0-9.]+$/.test(text)), places.join());
    assert.deepEqual(page.said, []);
    await page.context().close();
  },

  // MORE: the heading's zone; when the first experiment began, as its part below the table says it, or ""; another fact of the heading.
  async zone(browser, file, zone, started, fact) {
    for (const timezoneId of ["America/New_York", "Asia/Kolkata"]) {
      const page = await open(browser, file, { timezoneId });
      const facts = await page.$$eval("#top .facts span", (list) => list.map((one) => one.textContent));
      assert.ok(facts.includes(zone) && (!fact || facts.includes(fact)), facts.join(" | "));
      await page.click("#table tbody tr[data-id]");
      const shown = await page.$$eval("#detail .facts span", (list) => list.map((one) => one.textContent));
      if (started) assert.ok(shown.includes(started), shown.join(" | "));
      assert.deepEqual(page.said, []);
      await page.context().close();
    }
  },

  // MORE: what "stats --json" says of the same folder. Each effect has a picture: medians, ends of ranges and bounds of intervals lie where
  // one straight scale puts them (upwards) and one straight or logarithmic one (across), and the points are the group's experiments.
  async effects(browser, file, stats) {
    const page = await open(browser, file), groups = JSON.parse(fs.readFileSync(stats, "utf8")).groups.filter((group) => group.effects.length);
    await page.waitForSelector("#effects svg");
    const tried = groups.reduce((all, group) => all + group.effects.length, 0);
    let drawn = 0;
    for (const [g, group] of groups.entries()) {
      if (groups.length > 1) await page.selectOption("#effect-group", String(g));
      assert.equal(await page.$$eval("#effect option", (list) => list.length), group.effects.length);
      const first = group.effects[await page.$eval("#effect", (select) => select.value)];
      assert.equal(first.p_corrected, Math.min(...group.effects.map((effect) => effect.p_corrected)));
      for (const [e, effect] of group.effects.entries()) {
        await page.selectOption("#effect", String(e));
        const seen = await page.evaluate(() => {
          const corners = (path) => [...path.getAttribute("d").matchAll(/[ML]([-0-9.e]+) ([-0-9.e]+)/g)].map((found) => [Number(found[1]), Number(found[2])]);
          const frame = document.querySelector("#effects svg").getBoundingClientRect();
          const cut = [...document.querySelectorAll("#effects svg text")].filter((text) => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
          }).map((text) => text.textContent);
          return { cut, line: corners(document.querySelector("path.effect-curve")), bands: [...document.querySelectorAll("path.effect-band")].map(corners), circles: document.querySelectorAll("#effects circle").length,
            levels: document.querySelectorAll("rect.effect-level").length, told: document.getElementById("effect-told").textContent, texts: [...document.querySelectorAll("#effects svg text")].map((text) => text.lastChild.textContent) };
        });
        const levels = effect.curve, ends = (level) => (level.from === level.to ? [level.from] : [level.from, level.to]);
        const wanted = levels.flatMap((level) => ends(level).map((x) => [x, level.median]));
        const runs = [[]];
        for (const level of levels) level.interval ? runs[runs.length - 1].push(level) : runs.push([]);
        const outlines = runs.filter((list) => list.length).map((list) => [...list.flatMap((l) => [[l.from, l.interval.high], [l.to, l.interval.high]]), ...list.flatMap((l) => [[l.from, l.interval.low], [l.to, l.interval.low]]).reverse()]);
        assert.deepEqual([seen.line.length, ...seen.bands.map((band) => band.length)], [wanted.length, ...outlines.map((band) => band.length)], effect.hyperparameter);
        const pairs = [...wanted.map((want, i) => [want, seen.line[i]]), ...outlines.flatMap((band, b) => band.map((want, i) => [want, seen.bands[b][i]]))];
        const straight = (which, scale) => {
          const list = pairs.map(([want, at]) => [scale(want[which]), at[which]]).sort((a, b) => a[0] - b[0]), [low, high] = [list[0], list[list.length - 1]];
          return list.every(([want, at]) => Math.abs(low[1] + ((want - low[0]) / (high[0] - low[0] || 1)) * (high[1] - low[1]) - at) < 0.01);
        };
        assert.ok(straight(1, (v) => v), `${effect.on} by ${effect.hyperparameter}`);
        assert.ok(straight(0, (v) => v) || straight(0, Math.log), `${effect.on} by ${effect.hyperparameter}, across`);
        assert.ok(seen.line[0][0] < seen.line[seen.line.length - 1][0]);
        assert.equal(seen.levels, levels.length);
        assert.deepEqual(seen.cut, []);
        assert.ok(seen.circles >= effect.runs && seen.circles <= group.n, `${seen.circles} points`);
        assert.ok(seen.texts.includes(effect.hyperparameter), seen.texts.join());
        assert.ok(seen.told.includes(`ρ ${effect.rho.toFixed(2).replace("-", "−")}`) && seen.told.includes(`for ${tried} effects`) && seen.told.includes(`${effect.n} points of ${effect.runs} runs`), seen.told);
        assert.equal(seen.told.startsWith("Cannot be told from chance"), effect.p_corrected >= 0.05, seen.told);
        drawn++;
      }
    }
    assert.ok(drawn > 0);
    // A point leads to its experiment.
    await page.click("#effects circle", { force: true });
    assert.match(await page.textContent("#detail h2"), /_\d+/);
    assert.deepEqual(page.said, []);
    await page.context().close();
  },

  // Learning curves of three experiments: the first is told by its losses 0.8 to 0.5, the second by 0.1 to 0.4, the third failed and had a nan.
  async learning(browser, file) {
    for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 800 }]) {
      const page = await open(browser, file, { viewport });
      await page.waitForSelector("#curves .panel canvas");
      const seen = await page.evaluate(() => ({
        panels: [...document.querySelectorAll("#curves .panel")].map((one) => one.dataset.metric), options: [...document.querySelectorAll("#curve-axis option")].map((one) => one.value),
        lines: document.querySelector("#curves .chart").lines.map((line) => ({ id: line.row.id, x: line.x, y: line.y, at: line.at })), told: document.querySelector("#curves .told").textContent,
        wide: document.documentElement.scrollWidth - innerWidth,
      }));
      // A metric that was told once has no curve, and no empty panel.
      assert.deepEqual(seen.panels, ["loss"]);
      assert.deepEqual(seen.options, ["epoch", "step", "seconds"]);
      assert.deepEqual(seen.lines, [{ id: "repo_net_001", x: [1, 2, 3, 4], y: [0.8, 0.7, 0.6, 0.5], at: null },
        { id: "repo_net_002", x: [1, 2, 3, 4], y: [0.1, 0.2, 0.3, 0.4], at: [1, 0.1] }, { id: "repo_net_003", x: [1, 2, 3, 4], y: [0.5, null, 0.7, 0.8], at: null }]);
      assert.match(seen.told, /repo_net_002.*0\.1/);
      assert.ok(seen.wide <= 1, "wider than the window");
      // What is drawn where: the third's colour is there for the length of a dash only, and not at all in its gap.
      const inked = await page.evaluate(() => {
        const { plot, lines } = document.querySelector("#curves .chart");
        const share = (line, from, to) => {
          let ink = 0, all = 0;
          for (let x = from; x <= to; x += 0.004, all++) {
            const i = Math.min(Math.floor(x) - 1, 2), y = line.y[i] + (line.y[i + 1] - line.y[i]) * (x - 1 - i);
            const { data } = plot.ctx.getImageData(Math.round(plot.valToPos(x, "x", true)), Math.round(plot.valToPos(y, "y", true)) - 2, 1, 5);
            ink += data.some((value, k) => k % 4 === 0 && data[k + 3] > 60 && Math.max(value, data[k + 1], data[k + 2]) - Math.min(value, data[k + 1], data[k + 2]) > 40);
          }
          return ink / all;
        };
        const gap = { y: [0.5, 0.6, 0.7, 0.8] };
        return { whole: share(lines[0], 2.3, 2.7), best: share(lines[1], 2.1, 3.9), dashed: share(lines[2], 3.1, 3.9), gap: share(gap, 1.3, 1.7) };
      });
      assert.ok(inked.whole > 0.95 && inked.best > 0.95, JSON.stringify(inked));
      assert.ok(inked.dashed > 0.2 && inked.dashed < 0.9, JSON.stringify(inked));
      assert.ok(inked.gap < 0.2, JSON.stringify(inked));
      // The pointer names what is under it, and a click chooses it.
      const point = await page.evaluate(() => {
        const { plot } = document.querySelector("#curves .chart");
        plot.over.scrollIntoView({ block: "center" });
        const box = plot.over.getBoundingClientRect();
        return { x: box.left + plot.valToPos(2, "x"), y: box.top + plot.valToPos(0.7, "y") };
      });
      await page.mouse.move(point.x - 1, point.y);
      await page.mouse.move(point.x, point.y);
      await page.waitForFunction(() => /repo_net_001.*0\.7/.test(document.querySelector("#curves .told").textContent));
      await page.mouse.click(point.x, point.y);
      assert.match(await page.textContent("#detail h2"), /repo_net_001/);
      // Over its matches instead of epochs, and in the colours of nothing.
      await page.selectOption("#curve-axis", "seconds");
      assert.ok(await page.evaluate(() => document.querySelector("#curves .chart").lines.every((line) => line.x.every((x, i) => x >= 0 && (i === 0 || x >= line.x[i - 1])))));
      await page.selectOption("#curve-colour", "");
      assert.equal(await page.$$eval("#curves .legend > span", (list) => list.length), 0);
      assert.deepEqual(page.said.filter((line) => !line.includes("willReadFrequently")), []);
      await page.context().close();
    }
  },

  // Whose the peaks of GPU memory are, in the details of an experiment.
  async figures(browser, file, id, ...wanted) {
    const page = await open(browser, file);
    await page.click(`tr[data-id="${id}"]`);
    const figures = await page.$$eval("#detail dt", (list) => list.map((name) => `${name.textContent}: ${name.nextElementSibling.textContent}`));
    for (const one of wanted) assert.ok(figures.includes(one), figures.join("\n"));
    assert.deepEqual(page.said, []);
  },

  async words(browser, file, wanted, safeRows) {
    const page = await open(browser, file);
    assert.equal(await page.textContent("#verdict .sentence"), wanted);
    if (safeRows) assert.equal(await page.textContent("#verdict .safe-rows"), safeRows);
    assert.deepEqual(page.said, []);
  },
};

Object.assign(checks, require("./tools.cjs")({ open, ids, rowsOfCsv }));

module.exports = checks;
