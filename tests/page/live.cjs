// Looks at the live pages of a server as a person would. A check takes (browser, ...more); browser's URL, TOKEN and RUN say where (browser.cjs).
const assert = require("node:assert/strict");
const fs = require("node:fs");

const address = (browser, path = "") => `${browser.URL}${path}?token=${browser.TOKEN}`;
const runAddress = (browser) => address(browser, "run/" + encodeURIComponent(browser.RUN));

// A page of which everything that it says to the console, and asks of another host, is kept.
async function open(browser, url, more = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...more });
  const page = await context.newPage();
  page.said = [];
  page.asked = [];
  page.on("console", (message) => page.said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.said.push(`error: ${error.stack}`));
  page.on("dialog", (dialog) => { page.said.push(`dialog: ${dialog.message()}`); dialog.accept(); });
  page.on("request", (request) => { page.asked.push(request.url()); if (!request.url().startsWith(browser.URL) && !request.url().startsWith("data:")) page.said.push(`asked for ${request.url()}`); });
  await page.goto(url);
  return page;
}
const isLive = (page) => page.waitForSelector("#link.live", { timeout: 30000 });
const streams = (page) => page.asked.filter((url) => /\/events(\?|$)/.test(url));
const narrowEnough = (page) => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);

// How many times longer than its CPU time something takes now, since other programs use the processors.
function slowdown() {
  const cpu = process.cpuUsage(), begin = process.hrtime.bigint();
  let used;
  do used = process.cpuUsage(cpu); while (used.user + used.system < 100000);
  return Math.max(1, Number(process.hrtime.bigint() - begin) / 1000 / (used.user + used.system));
}

const checks = {
  // Both pages, wide and narrow, light and dark: nothing wider than the window, no message, nothing from elsewhere, one stream a tab.
  async quiet(browser) {
    for (const more of [{}, { colorScheme: "dark" }, { viewport: { width: 390, height: 844 } }, { viewport: { width: 390, height: 844 }, colorScheme: "dark" }])
      for (const url of [address(browser), runAddress(browser)]) {
        const page = await open(browser, url, more);
        await isLive(page);
        await page.waitForTimeout(1500);
        assert.match(await page.textContent("#foot"), /ssh -L (\d+):localhost:\1 HOST/);
        const [wide, room] = await narrowEnough(page);
        assert.ok(wide <= room, `${url} is ${wide} wide where there is room for ${room}`);
        assert.deepEqual(page.said, []);
        assert.equal(streams(page).length, 1);
        await page.context().close();
      }
  },

  // A run under way: slots, curves and rows change as it goes on; what runs is never clean; a dash where nothing was read.
  async follows(browser, go) {
    const page = await open(browser, runAddress(browser));
    await isLive(page);
    await page.waitForSelector(".slot .badge.under_way");
    const text = (selector) => page.$eval(selector, (one) => one.textContent);
    assert.match(await text(".slot"), /repo_net_002/);
    assert.doesNotMatch(await text(".slot"), /clean/);
    assert.equal(await text('tr[data-number="2"] td:nth-child(4)'), "no evidence");
    assert.equal(await text('tr[data-number="3"] td:nth-child(4)'), "–");
    await page.waitForFunction(() => /\d W/.test(document.querySelector(".slot dd").textContent), null, { timeout: 30000 });
    await page.waitForFunction(() => document.querySelector("#power .chart")?.plot?.data[1].filter(Number.isFinite).length > 2, null, { timeout: 30000 });
    await page.waitForFunction(() => document.querySelector("#detail .log")?.textContent.includes("the second waits"), null, { timeout: 30000 });
    fs.writeFileSync(go, "");
    await page.waitForFunction(() => /3 of 3/.test(document.querySelector("#summary").textContent), null, { timeout: 60000 });
    await page.waitForFunction(() => document.querySelector("#facts .badge").textContent === "ended", null, { timeout: 30000 });
    assert.equal(await page.$eval("#slots", (one) => one.hidden), true);
    assert.deepEqual(page.said, []);
  },

  // Keys alone: to the rows, along them, and into one.
  async keys(browser) {
    const page = await open(browser, runAddress(browser));
    await isLive(page);
    for (let i = 0; i < 60 && !(await page.evaluate(() => document.activeElement.tagName === "TR")); i++) await page.keyboard.press("Tab");
    const number = () => page.evaluate(() => Number(document.activeElement.dataset.number));
    const first = await number();
    await page.keyboard.press("End");
    assert.equal(await number(), 3);
    await page.keyboard.press("Home");
    assert.equal(await number(), 1);
    await page.keyboard.press("ArrowDown");
    assert.equal(await number(), 2);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#detail h2")?.textContent.includes("repo_net_002"));
    assert.ok(first >= 1);
    assert.deepEqual(page.said, []);
  },

  // LOST: a file that is made when the page says that its server, PID, is gone; then the server is started again at the same port. The page comes
  // back by itself, and is whole.
  async reconnect(browser, pid, lost) {
    const page = await open(browser, runAddress(browser));
    await isLive(page);
    process.kill(Number(pid), "SIGTERM");
    await page.waitForSelector("#link.lost", { timeout: 30000 });
    const rows = await page.$$eval("#table tbody tr", (list) => list.length);
    assert.equal(rows, 3);
    fs.writeFileSync(lost, "");
    await page.waitForSelector("#link.live", { timeout: 40000 });
    assert.equal(await page.$$eval("#table tbody tr", (list) => list.length), 3);
    assert.ok(streams(page).length >= 2 && streams(page).length < 12, `${streams(page).length} tries`);
    assert.match(streams(page).at(-1), /\?since=/);
    assert.deepEqual(page.said.filter((line) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(line)), []);
  },

  // A hidden tab has no stream; shown again, it goes on behind what it saw.
  async hidden(browser) {
    const page = await open(browser, runAddress(browser));
    await isLive(page);
    const hide = (hidden) => page.evaluate((is) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await hide(true);
    assert.equal(await page.$eval("#link", (one) => one.className), "link-state hidden");
    assert.equal(await page.evaluate(() => link.source), null);
    const before = streams(page).length;
    await page.waitForTimeout(3000);
    assert.equal(streams(page).length, before);
    await hide(false);
    await isLive(page);
    assert.equal(streams(page).length, before + 1);
    assert.match(streams(page).at(-1), /\?since=[0-9a-f]{16}-\d+&token=/);
    assert.deepEqual(page.said, []);
  },

  // COUNT experiments: painted soon, and usable: found, sorted, walked to the end.
  async many(browser, count) {
    const slower = slowdown(), begin = Date.now(), page = await open(browser, runAddress(browser));
    await page.waitForSelector("#table tbody tr[data-number]", { timeout: 120000 });
    const took = Date.now() - begin;
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity);
    browser.tell(`first paint after ${Math.round(paint)} ms, rows after ${took} ms`);
    const limit = Math.max(slower, slowdown());
    assert.ok(paint < 3000 * limit, `first paint after ${paint} ms, others slow this down ${limit} times`);
    assert.ok(took < 10000 * limit, `rows after ${took} ms, others slow this down ${limit} times`);
    assert.ok((await page.$$eval("#table tbody tr", (list) => list.length)) <= 400);
    const busy = await page.evaluate(async () => {
      const from = performance.now();
      document.getElementById("filter").value = "contaminated";
      document.getElementById("filter").dispatchEvent(new Event("input"));
      document.querySelector('#table th[data-key="duration"] button').click();
      await new Promise(requestAnimationFrame);
      return performance.now() - from;
    });
    assert.ok(busy < 2000 * Math.max(limit, slowdown()), `${busy} ms for a search and a sort`);
    assert.ok((await page.$$eval("#table tbody td:nth-child(4)", (list) => list.slice(0, 100).every((cell) => cell.textContent === "contaminated"))));
    await page.fill("#filter", "");
    await page.click('#table th[data-key="number"] button');
    await page.focus("#table tbody tr");
    await page.keyboard.press("End");
    assert.equal(await page.evaluate(() => Number(document.activeElement.dataset.number)), Number(count));
    assert.deepEqual(page.said, []);
  },

  // Names that would be elements, scripts or addresses are text: nothing runs, nothing is asked for.
  async hostile(browser) {
    for (const url of [address(browser), runAddress(browser)]) {
      const page = await open(browser, url);
      await isLive(page);
      await page.waitForTimeout(1500);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.$$eval("img, iframe, object, embed, script:not([src]):not([type])", (list) => list.length), 0);
      assert.match(await page.textContent("body"), /<img src=x onerror=/);
      const [wide, room] = await narrowEnough(page);
      assert.ok(wide <= room, `${url} is ${wide} wide`);
      assert.deepEqual(page.said, []);
      await page.context().close();
    }
  },

  // PID's server ends once the file LOST is made, and another one with a new token takes its port: the page says that its access ended.
  async denied(browser, pid, lost) {
    const page = await open(browser, address(browser));
    await isLive(page);
    process.kill(Number(pid), "SIGTERM");
    await page.waitForSelector("#link.lost", { timeout: 30000 });
    fs.writeFileSync(lost, "");
    await page.waitForSelector("#link.denied", { timeout: 40000 });
  },

  // From the overview to a run, to its report and back to all runs by links alone: each address has the token, and the report's another one.
  async walks(browser) {
    const page = await open(browser, address(browser));
    await isLive(page);
    await page.click(".run-card");
    await isLive(page);
    assert.equal(page.url().split("#")[0], runAddress(browser));
    await page.click("#facts a");
    await page.waitForSelector("#experiments table");
    assert.match(page.url(), /report\.html\?token=[0-9a-f]{40}$/);
    assert.doesNotMatch(page.url(), new RegExp(browser.TOKEN));
    assert.equal(await page.evaluate(() => document.referrer), "");
    await page.goBack();
    await isLive(page);
    await page.click(".way a");
    await page.waitForSelector(".run-card");
    assert.equal(page.url(), address(browser));
    assert.ok(page.asked.every((url) => url.startsWith("data:") || /[?&]token=[0-9a-f]{40}/.test(url)), page.asked.join("\n"));
    assert.equal(await page.evaluate(() => document.cookie), "");
    assert.deepEqual(page.said, []);
  },
};

module.exports = checks;
