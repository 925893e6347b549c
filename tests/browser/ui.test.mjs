// The served page: a real server with real profiles, a real browser, mouse and keyboard.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { axeSource, PATIENCE, settle } from "./browser.mjs";
import * as samples from "./samples.mjs";
import { Skip, test } from "./tap.mjs";
import { writePprof } from "./pprof-writer.mjs";
import { fillShop, HOSTILE, push, recordNode, startServer, stopServer, VESTAL } from "./ui-server.mjs";

const PAINTED = ".pane:not(.callers) canvas";
const text = (page, selector) => page.locator(selector).first().innerText();
const params = (page) => Object.fromEntries(new URL(page.url()).searchParams);

// Browsers note each 404; text of source files is asked for, and mostly not there.
const MAY_BE_MISSING = /\/api\/v1\/source\b/;

/** Opens an address of the server; `done()` closes it and asserts that nothing was said on the console and nobody else was asked. */
async function open(browser, url, { width = 1440, height = 900, scheme = "dark", wait = PAINTED, expect = null, bypassCSP = false, before = null, context: given = {} } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce", bypassCSP, ...given });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const strangers = [];
  const errors = [];
  const { origin } = new URL(url);
  page.on("request", (r) => !r.url().startsWith(origin) && !/^(blob|data):/.test(r.url()) && strangers.push(r.url()));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && !MAY_BE_MISSING.test(m.location().url) && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e.stack)));
  if (before) await before(page);
  await page.goto(url);
  if (wait) await page.waitForSelector(wait);
  await settle(page);
  const done = async () => {
    await context.close();
    assert.deepEqual(strangers, [], "nobody else is asked");
    assert.deepEqual(errors.filter((e) => !expect || !expect.test(e)), [], "nothing on the console");
  };
  return { page, done };
}

// What is on the screen follows the answer of the server: wait for it, never for a time.
const until = (page, check, arg) => page.waitForFunction(check, arg);
const untilText = (page, selector, wanted) => page.waitForFunction(([s, w]) => document.querySelector(s)?.textContent?.includes(w), [selector, wanted]);

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

async function clickBox(page, share, depth) {
  const box = await page.locator(PAINTED).boundingBox();
  await page.mouse.click(box.x + box.width * share, box.y + 8 + depth * 21 + 8);
  await settle(page);
}

const row = (name) => `.functions tbody tr:has(bdi:text-is("${name}"))`;

async function exploreTests(browser, url) {
  const shop = `${url}/explore?query=shop`;

  await test("Explore opens under the server's policy, says its numbers, and asks nobody else", async () => {
    const { page, done } = await open(browser, shop);
    assert.match(await page.title(), /shop · Explore · Vestal/);
    await untilText(page, ".big", "cores");
    assert.match(await text(page, ".big"), /^0\.5 cores/);
    await page.waitForSelector(".uplot canvas");
    await untilText(page, ".big", "since def456");
    assert.match(await text(page, row("JSON::parse")), /JSON::parse\s+60\.\d\s+60\.\d/);
    assert.match(await text(page, "#foot"), /boxes · nothing pruned/);
    await done();
  });

  await test("a zoom, a selection and a view are the address; reload, back and forward", async () => {
    const { page, done } = await open(browser, shop);
    await clickBox(page, 0.5, 2);
    assert.match(page.url(), /zoom=\d+/);
    const zoomed = await text(page, ".trail [aria-current]");
    const address = page.url();
    await page.reload();
    await page.waitForSelector(".trail [aria-current]");
    assert.equal(await text(page, ".trail [aria-current]"), zoomed);
    await press(page, "i");
    assert.equal(params(page).view, "bottom-up");
    await page.goBack();
    await until(page, () => !location.search.includes("bottom-up"));
    assert.equal(page.url(), address);
    await page.goForward();
    await until(page, () => location.search.includes("bottom-up"));
    await settle(page);
    assert.equal(await page.locator('.seg [aria-pressed="true"] >> text=Bottom-up').count(), 1);
    await done();
  });

  await test("dragging on the time line chooses a range, back gives it up, the keyboard does the same", async () => {
    const { page, done } = await open(browser, shop);
    await page.waitForSelector(".u-over");
    const before = await text(page, "#foot");
    const box = await page.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.95, box.y + 20, { steps: 6 });
    await page.mouse.up();
    await until(page, () => location.search.includes("span="));
    const { from, until: to, span } = params(page);
    assert.equal(span, "-1h~now");
    assert.ok(Math.abs(Number(to) - Number(from) - 0.2 * 3600e3) < 60e3, `${from} ${to}`);
    await until(page, (old) => document.querySelector(".functions bdi") && document.querySelector("#foot").textContent !== old, before);
    await untilText(page, row("JSON::parse").split(":has")[0], "70.");
    await page.goBack();
    await until(page, () => !location.search.includes("span="));
    await page.locator(".timeline").focus();
    await press(page, "ArrowLeft");
    await until(page, () => location.search.includes("span="));
    await press(page, "Escape");
    await until(page, () => !location.search.includes("span="));
    await done();
  });

  await test("types are switched by click and key; the time line is stacked by a label", async () => {
    const { page, done } = await open(browser, shop);
    await page.click('.types button >> text="Samples"');
    await until(page, () => location.search.includes("type="));
    await untilText(page, ".big", "/s");
    await press(page, "[");
    await untilText(page, ".big", "cores");
    await page.selectOption(".by select >> nth=0", "commit");
    await until(page, () => document.querySelectorAll(".key").length === 2);
    assert.match(await text(page, ".strip .legend"), /abc123[\s\S]*def456|def456[\s\S]*abc123/);
    await page.selectOption(".by select >> nth=1", "pod");
    await untilText(page, ".stage .sr", "web-0");
    await page.locator(".stage").focus();
    await press(page, "ArrowDown", "ArrowDown");
    assert.match(await text(page, "section.side h2"), /^web-\d$/);
    await page.click('.key >> text=def456');
    await until(page, () => new URLSearchParams(location.search).get("query") === 'shop{commit="def456"}');
    await done();
  });

  await test("the selector is completed by keyboard alone; a hostile label value stays text", async () => {
    const { page, done } = await open(browser, `${url}/explore`);
    await press(page, "e");
    await page.keyboard.type("od");
    await page.waitForSelector("#selector-list li");
    await press(page, "ArrowDown", "Enter");
    await until(page, () => new URLSearchParams(location.search).get("query") === "odd");
    await press(page, "End");
    await page.keyboard.type("{cust");
    await page.waitForSelector("#selector-list li >> text=customer");
    // The list may be drawn anew while one reads it.
    const choose = async () => {
      await press(page, "ArrowDown");
      await page.waitForSelector('#selector-list li[aria-selected="true"]');
      await press(page, "Enter");
    };
    await choose();
    await page.waitForSelector("#selector-list li >> text=script");
    assert.equal(await text(page, "#selector-list li"), HOSTILE);
    await choose();
    await until(page, () => new URLSearchParams(location.search).get("query").includes("customer="));
    await untilText(page, ".functions", "idle");
    assert.equal(await page.evaluate(() => window.injected), undefined);
    const address = page.url();
    await page.reload();
    await untilText(page, ".functions", "idle");
    assert.equal(page.url(), address);
    await page.selectOption(".by select >> nth=0", "customer");
    await untilText(page, ".strip .legend", "onerror");
    assert.equal(await page.evaluate(() => window.injected), undefined);
    await done();
  });

  await test("a choice one walked to stays chosen when the list comes anew", async () => {
    let held = 0;
    let answer;
    const pressed = new Promise((r) => (answer = r));
    // The first list comes at once, the one for the next letter after the choice was made.
    const hold = (p) => p.route("**/api/v1/services**", async (route) => {
      if (held++ > 1) await pressed;
      await route.continue().catch(() => undefined);
    });
    const { page, done } = await open(browser, `${url}/explore`, { before: hold });
    await press(page, "e");
    await page.keyboard.type("o");
    await page.waitForSelector("#selector-list li >> text=odd");
    await page.keyboard.type("d");
    const at = await page.locator("#selector-list li").allInnerTexts();
    for (let i = 0; i <= at.indexOf("odd"); i++) await press(page, "ArrowDown");
    assert.equal(await text(page, '#selector-list li[aria-selected="true"]'), "odd");
    const came = page.waitForResponse("**/api/v1/services**");
    answer();
    await came;
    await settle(page);
    await press(page, "Enter");
    await until(page, () => new URLSearchParams(location.search).get("query") === "odd");
    await done();
  });

  await test("every view is there, driven by one selection, by keys", async () => {
    const { page, done } = await open(browser, shop);
    await page.click(row("JSON::parse"));
    await press(page, "s");
    assert.match(await text(page, ".middle"), /JSON::parse/);
    await press(page, "4");
    assert.match(await text(page, ".tree-row.sel"), /JSON::parse/);
    await page.locator(".calltree").focus();
    await press(page, "ArrowLeft");
    await press(page, "ArrowLeft");
    assert.match(await text(page, "section.side h2"), /cart::load|pricing::apply/);
    await press(page, "5");
    await page.waitForSelector(".gnode.sel");
    assert.ok((await page.locator(".gnode").count()) >= 8);
    await page.locator(".graph-scroll").focus();
    const before = await text(page, "section.side h2");
    await press(page, "ArrowUp");
    assert.notEqual(await text(page, "section.side h2"), before);
    await press(page, "6");
    await page.click(row("JSON::parse"));
    await untilText(page, ".source", "JSON::parse");
    assert.match(await text(page, ".source table"), /90[\s\S]*97/);
    assert.match(await text(page, ".source"), /json\.cc/);
    await press(page, "1");
    await page.selectOption(".graph .by select", "tree");
    await page.waitForSelector(".calltree");
    assert.equal(await page.locator(PAINTED).isVisible(), true);
    assert.equal(params(page).beside, "tree");
    await done();
  });

  await test("a call graph beside another view begins where the calls begin; a narrow window shows one of the two", async () => {
    const { page, done } = await open(browser, `${shop}&view=tree&beside=graph`, { wait: ".gnode" });
    const sight = await page.evaluate(() => {
      const room = document.querySelector(".graph-scroll").getBoundingClientRect();
      const box = [...document.querySelectorAll(".gnode")].map((n) => n.getBoundingClientRect()).sort((a, b) => a.top - b.top)[0];
      return { left: box.left - room.left, right: room.right - box.right };
    });
    assert.ok(sight.left >= 0 && sight.right >= 0, JSON.stringify(sight));
    await page.setViewportSize({ width: 600, height: 900 });
    await settle(page);
    assert.equal(await page.locator(".calltree").isVisible(), true);
    assert.equal(await page.locator(".graph-scroll").isVisible(), false);
    await done();
  });

  await test("threads are divided by what they do and turns of loops by their length, unless one says otherwise", async () => {
    const profile = (type, unit) => writePprof([{ stack: [{ name: "main" }, { name: "wait" }], values: [7] }], { types: [[type, unit]], timeMs: Date.now() - 120e3, durationMs: 60e3 });
    for (const state of ["sleep", "running"]) await push(url, profile("threads", "count"), [["service", "many"], ["label", `state=${state}`]]);
    for (const turn of ["1-2 ms", "64-128 ms"]) await push(url, profile("lag", "nanoseconds"), [["service", "many"], ["label", `loop.turn=${turn}`]]);
    for (const [type, label, values] of [["threads", "state", ["running", "sleep"]], ["lag", "loop.turn", ["1-2 ms", "64-128 ms"]]]) {
      const { page, done } = await open(browser, `${url}/explore?query=many&type=${type}`);
      await until(page, () => document.querySelectorAll(".strip .key").length === 2);
      assert.equal(await page.inputValue(".by select >> nth=0"), label);
      assert.deepEqual((await page.locator(".strip .key").allInnerTexts()).sort(), values);
      assert.equal(params(page).by, undefined, "what is usual is not in the address");
      await page.selectOption(".by select >> nth=0", "");
      await until(page, () => document.querySelectorAll(".strip .key").length === 0);
      const address = page.url();
      await page.reload();
      await page.waitForSelector(PAINTED);
      assert.equal(page.url(), address);
      assert.equal(await page.inputValue(".by select >> nth=0"), "");
      await done();
    }
  });

  await test("filters are chips that ask again; sets of them are kept", async () => {
    const { page, done } = await open(browser, shop);
    await page.click(row("JSON::parse"));
    await press(page, "F");
    assert.equal(params(page).focus, "^JSON::parse$");
    await until(page, () => !document.querySelector(".functions").textContent.includes("malloc"));
    assert.match(await text(page, ".chip"), /focus\s+JSON::parse/);
    await press(page, "x");
    await page.fill('[aria-label="Name of the set"]', "only JSON");
    await page.click('text="Save set"');
    await press(page, "Escape");
    await page.click('[aria-label^="Remove"]');
    await until(page, () => document.querySelector(".functions").textContent.includes("malloc"));
    await page.reload();
    await page.waitForSelector(PAINTED);
    await press(page, "x");
    await page.click('.saved >> text=only JSON');
    await until(page, () => location.search.includes("focus="));
    await press(page, "x");
    await page.selectOption('[aria-label="Action"]', "ignore");
    await page.fill('input[aria-label="Regular expression"]', "(");
    await page.click('text="Add filter"');
    await page.waitForSelector('.sentence[role="alert"]');
    assert.equal(await page.locator(".chip").count(), 0, "the failure stands where the picture was");
    await page.goBack();
    await page.waitForSelector(".chip");
    await done().catch((e) => assert.match(String(e.actual), /400/));
  });

  await test("search is a substring or a regular expression and says its share", async () => {
    const { page, done } = await open(browser, shop);
    await press(page, "/");
    await page.keyboard.type("json::");
    await untilText(page, ".match", "60.");
    assert.equal(params(page).q, "json::");
    await press(page, "Enter");
    assert.match(await text(page, "section.side h2"), /JSON::parse/);
    await press(page, "Escape");
    assert.equal(await page.inputValue("#search"), "");
    await press(page, "r", "/");
    await page.keyboard.type("(");
    await untilText(page, ".match", "not a regular expression");
    await done();
  });

  await test("the view is shared as link, files, picture and command", async () => {
    const { page, done } = await open(browser, `${shop}&focus=JSON`, { before: (p) => p.addInitScript(() => {
      window.copied = [];
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async (t) => void window.copied.push(t) } });
    }) });
    await press(page, "L", "V");
    await page.click(row("JSON::parse"));
    await press(page, "c", "C");
    const copied = await page.evaluate(() => window.copied);
    assert.equal(copied[0], page.url());
    assert.equal(copied[1], `vestal query shop --type cpu --from -1h --focus JSON --server ${url}`);
    assert.equal(copied[2], "JSON::parse");
    assert.match(copied[3], /^main\nhttp::serve\n(cart::load|pricing::apply)\nJSON::parse$/);
    const [, ...words] = copied[1].split(" ");
    const asked = spawnSync(VESTAL, words, { encoding: "utf8" });
    assert.equal(asked.status, 0, asked.stderr);
    assert.match(asked.stdout, /JSON::parse/);
    for (const [item, name] of [["pprof", "shop.pb.gz"], ["folded stacks", "shop.folded"], ["speedscope", "shop.speedscope.json"], ["one HTML file", "shop.html"], ["SVG", "shop.svg"], ["PNG", "shop.png"]]) {
      await page.click("#share");
      const [file] = await Promise.all([page.waitForEvent("download"), page.click(`.menu button >> text=${item}`)]);
      assert.equal(file.suggestedFilename(), name);
      assert.equal(await file.failure(), null);
    }
    await done();
  });

  await test("palette and help know every command; the theme is turned and kept", async () => {
    const { page, done } = await open(browser, shop, { scheme: "light" });
    await press(page, "?");
    assert.match(await text(page, "dialog.help"), /Zoom to the selected box/);
    await press(page, "Escape");
    assert.equal(await page.locator("dialog").count(), 0);
    await press(page, "Control+k");
    await page.keyboard.type("dark or");
    await press(page, "Enter");
    await until(page, () => document.documentElement.dataset.theme === "dark");
    await page.reload();
    await page.waitForSelector(PAINTED);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await press(page, "Control+k");
    await page.keyboard.type("explore odd");
    await page.waitForSelector("dialog li >> text=Explore odd");
    await press(page, "Enter");
    await until(page, () => location.search.includes("odd"));
    await done();
  });

  await test("arrow keys walk, the screen reader's tree follows", async () => {
    const { page, done } = await open(browser, shop);
    await press(page, "ArrowDown", "ArrowDown", "ArrowDown");
    assert.equal(await text(page, "section.side h2"), "http::serve");
    const active = await page.locator(".stage").getAttribute("aria-activedescendant");
    assert.match(await page.locator(`#${active}`).textContent(), /http::serve, Total/);
    await press(page, "Enter");
    assert.equal(await text(page, ".trail [aria-current]"), "http::serve");
    await press(page, "Escape", "Escape");
    assert.doesNotMatch(page.url(), /zoom/);
    await done();
  });

  await test("320 pixels are enough, and 4K is not too much", async () => {
    for (const [width, height] of [[320, 640], [3840, 2160]]) {
      const { page, done } = await open(browser, shop, { width, height });
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      if (width === 320) {
        await page.click('.tabs >> text="Functions"');
        await page.waitForSelector(row("JSON::parse"));
      }
      await done();
    }
  });
}

async function stateTests(browser, url, dir) {
  await test("what is not there is said in one sentence with one way on", async () => {
    for (const [query, words] of [["?query=nobody", "No profile fits this selector"], ["?query=shop&from=-2d&until=-1d", "No data of this type"], ["?query=shop&type=nope", "no type called"]]) {
      const { page, done } = await open(browser, `${url}/explore${query}`, { wait: ".sentence .btn", expect: /404|400/ });
      assert.ok((await text(page, ".sentence")).includes(words), `${query}: ${await text(page, ".sentence")}`);
      await done();
    }
  });

  await test("a server without data explains how to get some", async () => {
    const empty = await startServer(dir, { memory: true });
    try {
      const { page, done } = await open(browser, `${empty.url}/explore`, { wait: ".ways" });
      assert.match(await text(page, ".ways"), /vestal agent[\s\S]*curl --data-binary/);
      assert.ok((await text(page, ".ways")).includes(empty.url));
      await push(empty.url, "main;work 5\n", [["service", "first"]]);
      await page.click('text="Refresh"');
      await untilText(page, ".functions", "work");
      await done();
    } finally {
      await stopServer(empty);
    }
  });

  await test("a server that wants tokens is given one", async () => {
    mkdirSync(`${dir}/tokens/data`, { recursive: true });
    const made = spawnSync(VESTAL, ["token", "create", "--data", `${dir}/tokens/data`, "--name", "test"], { encoding: "utf8" });
    const token = `${made.stdout}${made.stderr}`.match(/vst_\w+/)?.[0];
    if (!token) throw new Skip(`no token: ${made.stderr}`);
    const server = await startServer(`${dir}/tokens`);
    try {
      const body = { method: "POST", body: "main;work 5\n", headers: { Authorization: `Bearer ${token}` } };
      assert.equal((await fetch(`${server.url}/api/v1/profiles?service=secret`, body)).status, 200);
      const { page, done } = await open(browser, `${server.url}/explore?query=secret`, { wait: ".token", expect: /401/ });
      await page.fill('[aria-label="Token"]', token);
      await page.click('text="Use"');
      await untilText(page, ".functions", "work");
      await done();
    } finally {
      await stopServer(server);
    }
  });

  await test("a slow answer shows that it is coming; a stale one is given up", async () => {
    let slow = true;
    const { page, done } = await open(browser, `${url}/explore?query=shop`, {
      wait: ".loading",
      before: (p) => p.route("**/api/v1/tree**", async (route) => {
        if (slow) await new Promise((r) => setTimeout(r, 1500));
        await route.continue().catch(() => undefined);
      }),
    });
    await page.waitForSelector(PAINTED);
    await page.click('.types button >> text="Samples"');
    await page.waitForSelector(".bench.stale");
    slow = false;
    await page.click('.types button >> text="CPU"');
    await until(page, () => !document.querySelector(".bench.stale"));
    assert.match(await text(page, ".functions"), /min|s/);
    await done();
  });

  await test("a server that goes away is said, and everything comes back with it", async () => {
    let server = await startServer(`${dir}/away`);
    await push(server.url, "main;work 5\n", [["service", "shop"]]);
    const { page, done } = await open(browser, `${server.url}/explore?query=shop`, { expect: /ERR_CONNECTION|Failed to load/ });
    await stopServer(server);
    await press(page, "R");
    await page.waitForSelector(".away");
    assert.match(await text(page, ".away"), /server went away/);
    assert.match(await text(page, ".functions"), /work/, "the last answer stays");
    server = await startServer(`${dir}/away`, { port: server.port });
    try {
      await until(page, () => !document.querySelector(".away"));
      await untilText(page, ".functions", "work");
      await done();
    } finally {
      await stopServer(server);
    }
  });

  await test("a page that is loaded again while the server restarts shows the same view", async () => {
    let server = await startServer(`${dir}/again`);
    await push(server.url, "main;work 5\nmain;rest 3\n", [["service", "shop"]]);
    const { page, done } = await open(browser, `${server.url}/explore?query=shop&view=bottom-up&q=work`, { expect: /ERR_CONNECTION|Failed to load/ });
    const address = page.url();
    await stopServer(server);
    // The browser's own page says that nobody is there.
    await page.reload().catch(() => undefined);
    server = await startServer(`${dir}/again`, { port: server.port });
    try {
      // The browser's own page tries again by itself and may interrupt this one.
      for (let tries = 1; ; tries++) {
        const failed = await page.goto(address).then(() => null, (e) => e);
        if (!failed) break;
        if (tries === 20 || !/interrupted by another navigation/.test(failed.message)) throw failed;
        await page.waitForLoadState("load").catch(() => undefined);
        await page.waitForTimeout(100 * tries);
      }
      await page.waitForSelector(PAINTED);
      assert.equal(page.url(), address);
      assert.equal(await page.inputValue("#search"), "work");
      assert.equal(await page.locator('.seg [aria-pressed="true"] >> text=Bottom-up').count(), 1);
      // While it is away a page that was never opened cannot come; with it, it does.
      await stopServer(server);
      await press(page, "g", "s");
      await page.waitForSelector('main [role="alert"] >> text=could not be loaded');
      server = await startServer(`${dir}/again`, { port: server.port });
      await page.click('text="Reload"');
      await page.waitForSelector(".flow");
      await done();
    } finally {
      await stopServer(server);
    }
  });

  await test("a browser whose clock is wrong shows the server's times", async () => {
    const { page, done } = await open(browser, `${url}/explore?query=shop`, { before: (p) => p.clock.install({ time: Date.now() + 5 * 3600e3 }).then(() => p.clock.resume()) });
    await untilText(page, ".big", "cores");
    assert.match(await text(page, ".big"), /^0\.5 cores/);
    await done();
  });
}

async function sizeTests(browser, url, dir, large) {
  await test("a stack of 2,000 frames is walked to its end", async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `f${i}`);
    await push(url, `${names.join(";")} 100\n`, [["service", "deep"]]);
    const { page, done } = await open(browser, `${url}/explore?query=deep`);
    await page.waitForSelector(PAINTED);
    await press(page, "/");
    await page.keyboard.type("f1999");
    await press(page, "Enter");
    assert.equal(await text(page, "section.side h2"), "f1999");
    await page.locator(".stage").focus();
    await press(page, "Enter");
    await page.reload();
    await page.waitForSelector(".trail [aria-current]");
    assert.equal(await text(page, ".trail [aria-current]"), "f1999");
    await press(page, "4");
    await page.waitForSelector(".tree-row");
    await press(page, "5");
    await page.waitForSelector(".gnode");
    await done();
  });

  await test("a table of 10,000 functions has only the rows one sees, and all of them are reached", async () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => `main;work_${String(i).padStart(5, "0")} ${20_000 - i}`);
    await push(url, `${lines.join("\n")}\n`, [["service", "wide"]]);
    const { page, done } = await open(browser, `${url}/explore?query=wide&nodes=20000`);
    await untilText(page, ".functions .bar", "10,001");
    assert.ok((await page.locator(".functions tbody tr").count()) < 100);
    assert.match(await text(page, ".functions tbody th"), /work_00000/);
    await page.evaluate(() => document.querySelector(".functions .rows").scrollTo(0, 1e9));
    await untilText(page, ".functions tbody", "main");
    await untilText(page, ".functions tbody", "work_09999");
    await page.click('.functions thead button >> text="Function"');
    await until(page, () => location.search.includes("sort=name"));
    await until(page, () => document.querySelector(".functions tbody th")?.textContent === "main");
    await press(page, "/");
    await page.keyboard.type("work_07777");
    await until(page, () => document.querySelectorAll(".functions tbody tr").length === 1);
    await untilText(page, ".functions tbody", "work_07777");
    await done();
  });

  await test("a profile that a real program left is pushed and opened in every view", async () => {
    const file = recordNode(dir);
    const done1 = spawnSync(VESTAL, ["push", file, "--service", "node-job", "--server", url], { encoding: "utf8" });
    assert.equal(done1.status, 0, done1.stderr);
    for (const view of ["flame", "bottom-up", "tree", "graph", "source"]) {
      const { page, done } = await open(browser, `${url}/explore?query=node-job&view=${view}`, { wait: ".functions tbody tr" });
      await untilText(page, ".functions", "spin");
      await done();
    }
  });

  const count = large ? 1_000_000 : 100_000;
  const pushHuge = async () => {
    const lines = samples.large(count).map((s) => `${s.stack.map((f) => f.name).join(";")} ${s.values[0]}`);
    await push(url, `${lines.join("\n")}\n`, [["service", "huge"]]);
  };

  await test("what the first picture leaves out is said, and follows; who zoomed in meanwhile stays there", async () => {
    await pushHuge();
    // The second answer waits until the test has looked at the first.
    let answer;
    const looked = new Promise((r) => (answer = r));
    const hold = (p) => p.route(/max_nodes=1048576/, async (route) => {
      await looked;
      await route.continue().catch(() => undefined);
    });
    const { page, done } = await open(browser, `${url}/explore?query=huge`, { before: hold });
    await untilText(page, "#foot", "% of value pruned, more boxes are coming");
    const boxes = () => page.evaluate(() => Number(document.querySelector("#foot").textContent.match(/of ([\d,]+) boxes/)[1].replace(/,/g, "")));
    assert.ok((await boxes()) <= 16384);
    await clickBox(page, 0.5, 2);
    const zoomed = await text(page, ".trail [aria-current]");
    answer();
    await until(page, () => !document.querySelector("#foot").textContent.includes("more boxes are coming"));
    await until(page, (n) => Number(document.querySelector("#foot").textContent.match(/of ([\d,]+) boxes/)?.[1].replace(/,/g, "")) > n, 16384);
    if (count < 1048576 / 2) await untilText(page, "#foot", "nothing pruned");
    assert.equal(await text(page, ".trail [aria-current]"), zoomed);
    // Bottom-up has boxes of its own: never more on the screen than there are.
    await press(page, "0", "i");
    await untilText(page, "#foot", "shown:");
    const [shown, of] = await page.evaluate(() => document.querySelector("#foot").textContent.match(/shown: ([\d,]+) of ([\d,]+) boxes/).slice(1).map((n) => Number(n.replace(/,/g, ""))));
    assert.ok(shown > 0 && shown <= of, `${shown} of ${of}`);
    await done();
  });

  await test(`${large ? "a million" : "100,000"} boxes`, async () => {
    await pushHuge();
    const started = Date.now();
    const { page, done } = await open(browser, `${url}/explore?query=huge&nodes=1048576`);
    const ready = Date.now() - started;
    await untilText(page, "#foot", "boxes");
    assert.ok((await page.evaluate(() => Number(document.querySelector("#foot").textContent.match(/of ([\d,]+) boxes/)[1].replace(/,/g, "")))) >= count * 0.9);
    await press(page, "/");
    const per = await page.evaluate(async () => {
      const input = document.getElementById("search");
      const times = [];
      for (const t of ["f", "fu", "fun", "func", "funct", "functi", "function_1", "function_12"]) {
        const start = performance.now();
        input.value = t;
        input.dispatchEvent(new Event("input"));
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b)[4];
    });
    await press(page, "Escape", "i", "i", "4", "1");
    await done();
    return `${count.toLocaleString("en-US")} boxes: ready after ${ready} ms, search ${per.toFixed(0)} ms per key`;
  });
}

async function axeTests(browser, url) {
  const source = await axeSource();
  const routes = ["explore?query=shop&by=commit", "explore?query=shop&view=bottom-up", "explore?query=shop&view=tree&beside=graph", "explore?query=shop&view=source&q=JSON", "explore?query=shop&focus=JSON&view=sandwich&fn=JSON::parse&in=libjson.so", "explore?query=nobody",
    "", "diff", "diff?query=shop{commit=\"def456\"}&base=shop{commit=\"abc123\"}", "heatmap?query=shop", "function?query=shop&name=JSON::parse", "files", "status"];
  for (const scheme of ["dark", "light"])
    for (const route of routes)
      await test(`axe finds nothing: ${route} ${scheme}`, async () => {
        if (!source) throw new Skip("axe-core is not installed (npm ci in tests/browser)");
        const { page, done } = await open(browser, `${url}/${route}`, { scheme, bypassCSP: true, wait: ".functions tbody tr, .sentence, main .page", expect: /404/ });
        await page.locator(".functions tbody tr").first().click({ timeout: 2000 }).catch(() => undefined);
        await settle(page);
        await page.evaluate(source);
        const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).slice(0, 3).join(" | ")}`), []);
        await done();
      });
  await test("axe finds nothing in menus and dialogs", async () => {
    if (!source) throw new Skip("axe-core is not installed (npm ci in tests/browser)");
    for (const scheme of ["dark", "light"])
      for (const key of ["?", "Control+k", "T", "x"]) {
        const { page, done } = await open(browser, `${url}/explore?query=shop`, { scheme, bypassCSP: true });
        await press(page, key);
        await page.evaluate(source);
        const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(found.violations.map((v) => `${key} ${v.id}: ${v.nodes.map((n) => n.target).slice(0, 3).join(" | ")}`), []);
        await done();
      }
  });
}

export async function uiTests(browser, dir, large = false) {
  const skip = (why) => test("the served page", () => Promise.reject(new Skip(why)));
  if (!existsSync(VESTAL)) return skip(`${VESTAL} is not built`);
  const server = await startServer(dir);
  try {
    const first = await fetch(`${server.url}/explore`);
    if (!(await first.text()).includes("/assets/")) return skip("the server was built without the page (npm)");
    await fillShop(server.url);
    await test("the page and its files come compressed, cached and under a strict policy", async () => {
      const policy = first.headers.get("content-security-policy");
      assert.match(policy, /default-src 'none'/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
      const html = await (await fetch(server.url)).text();
      const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((m) => m[1]);
      assert.ok(files.length >= 2);
      for (const file of files) {
        const reply = await fetch(server.url + file);
        assert.match(reply.headers.get("cache-control"), /immutable/);
        assert.equal(reply.headers.get("content-encoding"), "gzip");
      }
    });
    await exploreTests(browser, server.url);
    await stateTests(browser, server.url, dir);
    await axeTests(browser, server.url);
    await sizeTests(browser, server.url, dir, large);
  } finally {
    await stopServer(server);
  }
}
