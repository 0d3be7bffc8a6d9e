// One browser for all tests that look at pages, since starting one costs more than most looks: node browser.cjs FOLDER. FOLDER/NAME.ask
// says what to look at, as words that each end with NUL: what URL, TOKEN and RUN are, "page", "live" or "memory", which check of that file, and
// what that takes. FOLDER/NAME.said is then "held" or "failed" and, on further lines, what there is to tell. Ends once FOLDER is gone.
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require(path.join(__dirname, "../../node_modules/playwright-core"));

const checks = { page: require("./page.cjs"), live: require("./live.cjs"), memory: require("./memory.cjs") };
const folder = process.argv[2];
// The shell without a window takes a third of the time.
const executablePath = [process.env.CHROMIUM, "/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((file) => file && fs.existsSync(file));

// The browser, once for all who ask meanwhile; another where that one has ended or did not start.
let launched;
function launch() {
  if (!launched) {
    // As root, which tests in containers are, Chromium does not start with its sandbox.
    launched = chromium.launch({ executablePath, args: ["--no-sandbox"] });
    const over = () => { launched = undefined; };
    launched.then((browser) => browser.on("disconnected", over), over);
  }
  return launched;
}

// What a check has of the browser: contexts that are closed behind it, who asks, and a way to tell something.
async function look([URL, TOKEN, RUN, kind, what, ...more]) {
  const contexts = [], told = [];
  let how = "held";
  try {
    const browser = await launch();
    const newContext = async (options) => { const context = await browser.newContext(options); contexts.push(context); return context; };
    await checks[kind][what]({ newContext, URL, TOKEN, RUN, tell: (line) => told.push(line) }, ...more);
  } catch (error) {
    how = "failed";
    told.push(error.stack);
  }
  await Promise.allSettled(contexts.map((context) => context.close()));
  return [how, ...told, ""].join("\n");
}

const asked = new Set();
async function answer() { // whenever the folder has changed
  if (!fs.existsSync(folder)) {
    await (await launched?.catch(() => undefined))?.close();
    process.exit(0);
  }
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".ask") && !asked.has(name))) {
    asked.add(file);
    const place = path.join(folder, file.slice(0, -".ask".length));
    look(fs.readFileSync(`${place}.ask`, "utf8").split("\0").slice(0, -1)).then((said) => {
      if (!fs.existsSync(folder)) return;
      fs.writeFileSync(`${place}.new`, said);
      fs.renameSync(`${place}.new`, `${place}.said`);
    });
  }
}
fs.watch(folder, answer);
answer();
