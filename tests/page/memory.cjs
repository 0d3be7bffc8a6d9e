// Looks at the page of a memory snapshot as a person would. A check takes (browser, file, ...more).
const assert = require("node:assert/strict");
const fs = require("node:fs");

async function open(browser, file, more = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...more });
  const page = await context.newPage();
  page.said = [];
  page.on("console", (message) => page.said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.said.push(`error: ${error.stack}`));
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) page.said.push(`asked for ${request.url()}`); });
  await page.goto("file://" + file);
  return page;
}
const headed = (page, text) => page.waitForFunction((one) => document.querySelector("#state h2")?.textContent.startsWith(one), text);
const tiles = (page) => page.$$eval("#state .tile", (list) => Object.fromEntries(list.map((tile) => [tile.querySelector("span").textContent, tile.querySelector("b").textContent])));
const kinds = (page) => page.$$eval("#state table", ([first]) => Object.fromEntries([...first.querySelectorAll("tbody tr")].map((row) => [row.cells[3].textContent, [row.cells[1].textContent, Number(row.cells[2].textContent)]])));

module.exports = {
  // Light and dark, wide and narrow: no message, nothing wider than the window.
  async quiet(browser, file) {
    for (const more of [{}, { colorScheme: "dark" }, { viewport: { width: 400, height: 800 } }]) {
      const page = await open(browser, file, more);
      await page.waitForSelector("#flame-graph button");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "wider than the window");
      assert.doesNotMatch(await page.innerText("main"), /\bnull\b|undefined|NaN/);
      assert.deepEqual(page.said, []);
    }
  },

  // TRUTH: a file, {"peak": event, "states": {event: {"alive": text, "count": n, "reserved": text, "kinds": {kind: [text, n]}}}}. The page opens at
  // the peak; the arrow keys go from one event to the next.
  async states(browser, file, truth) {
    const { peak, states } = JSON.parse(fs.readFileSync(truth, "utf8"));
    const page = await open(browser, file), check = async (event) => {
      await headed(page, `State after event ${event}`);
      const { alive, count, reserved, kinds: wanted } = states[event], found = await tiles(page);
      assert.deepEqual([found.alive, found.allocations, found.reserved], [alive, String(count), reserved], `event ${event}`);
      if (wanted) assert.deepEqual(await kinds(page), wanted, `event ${event}`);
    };
    await check(peak);
    await page.focus("canvas.timeline");
    await page.keyboard.press("Home");
    await check(0);
    for (let event = 1; states[event]; event++) {
      await page.keyboard.press("ArrowRight");
      await check(event);
    }
    await page.keyboard.press("p");
    await check(peak);
    await page.keyboard.press("ArrowLeft");
    await headed(page, `State after event ${peak - 1}`);
    assert.deepEqual(page.said, []);
  },

  // TEXT: of the tooltip of the largest allocation that is alive at the peak. A click sets the event, zooming shows less, the slider draws fewer,
  // and what is not drawn by itself stays in the sum.
  async tools(browser, file, text) {
    const page = await open(browser, file), canvas = page.locator("canvas.timeline");
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    const at = (event, share) => page.evaluate(([event, share]) => {
      const i = aliveAt(event).sort((a, b) => sizes[b] - sizes[a])[0], points = view.layout.at.get(i);
      let k = points.length - 2;
      while (k > 0 && points[k] > event) k -= 2;
      return [xOf(event + 0.5), yOf(points[k + 1] + sizes[i] * share)];
    }, [event, share]);
    const peak = await page.evaluate(() => memory.peak), [x, y] = await at(peak, 0.5);
    await page.mouse.move(box.x + x, box.y + y);
    assert.ok((await page.textContent(".tip")).includes(text), await page.textContent(".tip"));
    // A pixel is several events of a long record.
    const [wanted, pixel, left] = await page.evaluate(() => [Math.floor(memory.events / 3), memory.events / (width() - PAD.left - PAD.right), xOf(Math.floor(memory.events / 3) + 0.5)]);
    await page.mouse.click(box.x + left, box.y + 100);
    await page.waitForFunction((event) => view.cursor !== event, peak);
    const cursor = await page.evaluate(() => view.cursor);
    assert.ok(Math.abs(cursor - wanted) <= Math.ceil(pixel), `${cursor} is not ${wanted}`);
    await headed(page, `State after event ${cursor}`);
    const all = await page.evaluate(() => [view.layout.at.size, Math.max(...view.layout.sum.filter((value, k) => k % 3 === 1)), view.to - view.from]);
    await page.click('button[title="zoom in"]');
    assert.ok(await page.evaluate(() => view.to - view.from) <= Math.max(10, all[2] / 2));
    await page.click('button[title="the whole record"]');
    await page.fill("#detail", "30");
    const fewer = await page.evaluate(() => [view.layout.at.size, Math.max(...view.layout.sum.filter((value, k) => k % 3 === 1))]);
    assert.ok(fewer[0] < all[0] && fewer[0] > 0, `${fewer} after ${all}`);
    assert.equal(fewer[1], all[1]);
    // The widest bar of a call becomes the whole.
    await page.click("#flame-graph button:nth-child(3)");
    assert.match(await page.$eval("#flame-graph button", (one) => one.style.width), /^100%/);
    assert.ok(await page.$$eval("#segment-map rect", (list) => list.length) > 0);
    assert.deepEqual(page.said, []);
  },

  // TRUTH: as of states, for the peak alone; ALLOCATIONS: all of the record. Those that are merged are counted.
  async merged(browser, file, truth, allocations, bytes) {
    const { peak, states } = JSON.parse(fs.readFileSync(truth, "utf8")), page = await open(browser, file);
    await headed(page, `State after event ${peak}`);
    const found = await tiles(page);
    assert.deepEqual([found.alive, found.allocations], [states[peak].alive, String(states[peak].count)]);
    const [kept, merged, sum] = await page.evaluate(() => [born.length, memory.merged.reduce((n, one) => n + one[1], 0), memory.merged.reduce((n, one) => n + one[2], 0) + sizes.reduce((n, size) => n + size, 0)]);
    assert.ok(merged > 0);
    assert.equal(kept + merged, Number(allocations));
    assert.equal(sum, Number(bytes));
    assert.match(await page.textContent("#merged"), new RegExp(`\\b${merged} small or short-lived allocations`));
    assert.deepEqual(page.said, []);
  },
};
