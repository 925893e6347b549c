// The pages beside Explore, on a real server with profiles of forty minutes: by mouse, by keyboard, by address.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { axeSource, PATIENCE, settle } from "./browser.mjs";
import { Skip, test } from "./tap.mjs";
import { fillService, fillShop, pushCompleteness, pushTimed, startServer, stopServer, VESTAL } from "./ui-server.mjs";

const PAINTED = ".pane:not(.callers) canvas";
const text = (page, selector) => page.locator(selector).first().innerText();
const row = (name) => `.functions tbody tr:has(bdi:text-is("${name}"))`;
const query = (page) => Object.fromEntries(new URL(page.url()).searchParams);
const untilText = (page, selector, wanted) => page.waitForFunction(([s, w]) => [...document.querySelectorAll(s)].some((e) => e.textContent?.includes(w)), [selector, wanted]);

async function open(browser, url, { width = 1280, height = 800, scheme = "dark", wait = "#foot", bypassCSP = false, expect = null, before = null, prepare = null } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce", bypassCSP });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const said = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && !m.location().url.includes("/api/v1/source") && said.push(m.text()));
  page.on("pageerror", (e) => said.push(String(e.stack)));
  if (before) await page.addInitScript(before);
  if (prepare) await prepare(page);
  await page.goto(url);
  await page.waitForSelector(wait);
  await settle(page);
  const done = async () => {
    await context.close();
    assert.deepEqual(said.filter((s) => !expect?.test(s)), [], "nothing on the console");
  };
  return { page, done };
}

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

async function drag(page, from, to) {
  const box = await page.locator(".heat canvas").boundingBox();
  await page.mouse.move(box.x + box.width * from[0], box.y + box.height * from[1]);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to[0], box.y + box.height * to[1], { steps: 4 });
  await page.mouse.up();
  await settle(page);
}

async function overviewTests(browser, url, empty) {
  await test("Overview ranks the services; a click and Enter open them in Explore", async () => {
    const { page, done } = await open(browser, url, { wait: ".services tbody tr" });
    assert.equal(await page.title(), "Overview · Vestal");
    const names = await page.locator(".services tbody th").allInnerTexts();
    assert.equal(names[0], "shop");
    assert.ok(names.includes("odd") || names.includes("beat"), names.join());
    assert.match(await text(page, ".services tbody tr"), /0\.(4\d|5\d?) cores/);
    assert.match(await text(page, ".overview .big"), /cores( while running · data for [\d.]+ % of the range)? · \d services/);
    await untilText(page, ".changes", "def456");
    await press(page, "ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "shop");
    await press(page, "Enter");
    await page.waitForSelector(PAINTED);
    assert.match(page.url(), /\/explore\?query=shop/);
    await page.goBack();
    await page.waitForSelector(".services");
    await page.click('.services thead button >> text="Service"');
    await page.waitForFunction(() => location.search === "?sort=name");
    assert.deepEqual(await page.locator(".services tbody th").allInnerTexts(), [...names].sort());
    await done();
  });

  await test("from the overview over a spike to the line of source in three clicks", async () => {
    const { page, done } = await open(browser, url, { wait: ".services tbody tr" });
    await page.click('.services a >> text="shop"');
    await page.waitForSelector(".u-over");
    await page.waitForSelector(PAINTED);
    const line = await page.locator(".u-over").boundingBox();
    await page.mouse.move(line.x + line.width * 0.8, line.y + 30);
    await page.mouse.down();
    await page.mouse.move(line.x + line.width * 0.9, line.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => location.search.includes("span="));
    await untilText(page, ".functions tbody tr", "70.");
    // main, http::serve, cart::load, JSON::parse: cart::load is the widest and the first by name.
    const picture = await page.locator(PAINTED).boundingBox();
    await page.mouse.click(picture.x + picture.width * 0.3, picture.y + 8 + 4 * 21 + 8);
    await untilText(page, "section.side h2", "JSON::parse");
    assert.match(await text(page, "section.side"), /json\.cc:9[07]/);
    await done();
  });

  await test("an address that is no page says so and leads on", async () => {
    const { page, done } = await open(browser, `${url}/explroe?from=-5m`, { wait: ".sentence", expect: /404/ });
    assert.match(await text(page, ".sentence"), /no page called “explroe”/);
    await page.click('.sentence a >> text="Overview"');
    await page.waitForSelector(".services tbody tr");
    assert.equal(new URL(page.url()).pathname, "/");
    await done();
  });

  await test("while the sums are on their way the names of the services stand there, and lead on", async () => {
    // Held back until the test has looked.
    let answer;
    const looked = new Promise((r) => (answer = r));
    const hold = (page) => page.route("**/api/v1/overview**", async (route) => {
      await looked;
      await route.continue().catch(() => undefined);
    });
    const { page, done } = await open(browser, url, { wait: ".services.coming tbody tr", prepare: hold });
    assert.match(await text(page, ".overview .big"), /^\d services · computing totals/);
    assert.equal(await page.locator(".services.coming").getAttribute("aria-busy"), "true");
    const names = await page.locator(".services tbody th").allInnerTexts();
    assert.ok(names.includes("shop") && names.includes("odd"), names.join());
    assert.match(await text(page, "#foot"), /asking/);
    assert.equal(await page.locator(".services.coming a").first().getAttribute("href"), `/explore?query=${names[0]}`);
    answer();
    await page.waitForSelector(".services:not(.coming) tbody tr");
    assert.match(await text(page, ".services tbody tr"), /^shop\s/);
    await done();
  });

  await test("an empty server says three ways to get data, and sees it when it is there", async () => {
    const { page, done } = await open(browser, empty.url, { wait: ".ways" });
    const ways = await page.locator(".ways code").allInnerTexts();
    assert.equal(ways.length, 3);
    for (const way of ways) assert.ok(way.includes(empty.url), way);
    await fetch(`${empty.url}/api/v1/profiles?service=first`, { method: "POST", body: "main;work 5\n" });
    await page.click("text=Refresh");
    await page.waitForSelector(".services tbody tr");
    assert.match(await text(page, ".services tbody"), /first/);
    await done();
  });
}

async function diffTests(browser, url) {
  await test("two deployments are compared by one click, and the verdicts are right", async () => {
    const { page, done } = await open(browser, `${url}/diff?query=shop`, { wait: ".picks .pick" });
    await untilText(page, ".pick", "abc123");
    await page.click('.pick:has-text("abc123 → def456")');
    await page.waitForSelector(row("JSON::parse"));
    assert.equal(query(page).base, 'shop{commit="abc123"}');
    assert.equal(query(page).query, 'shop{commit="def456"}');
    await page.waitForFunction((s) => document.querySelector(s) !== null, ".functions td.up");
    assert.equal(await page.locator('.pick[aria-pressed="true"]').innerText(), "commit abc123 → def456", "the pair stays to be chosen from");
    assert.match(await text(page, row("JSON::parse")), /50\.\d\s+70\.\d\s+\+20\.\d pp/);
    assert.match(await text(page, row("malloc")), /−10\.\d pp/);
    assert.match(await text(page, row("http::serve")), /noise/);
    assert.match(await page.locator(".lines").getAttribute("aria-label"), /at most 0\.5\d* cores/);
    assert.match(await text(page, "section.side"), /abc123[^]*def456/, "sides are called by what differs");
    // Twenty minutes each, of the hour that is shown.
    await page.waitForSelector(".compared .big");
    assert.match(await text(page, ".compared .big"), /0\.(49|5)\d* cores → 0\.(49|5)\d* cores[^]*data for \d/, "the rate of each while it ran");
    const address = page.url();
    await page.reload();
    await page.waitForSelector(row("malloc"));
    assert.equal(page.url(), address);
    await press(page, "w");
    assert.match(await text(page, row("JSON::parse")), /70\.\d\s+50\.\d\s+−20\.\d pp/);
    await press(page, "w", "m");
    assert.equal(query(page).norm, "0");
    await page.goBack();
    await press(page, "X");
    await page.waitForFunction(() => new URLSearchParams(location.search).get("query")?.includes("abc123"));
    await page.waitForSelector(row("JSON::parse"));
    await untilText(page, row("JSON::parse").split(":has")[0], "−20");
    await done();
  });

  await test("a diff is taken along as two files and as a command for a terminal", async () => {
    const keepCopies = () => {
      window.copied = [];
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async (t) => void window.copied.push(t) } });
    };
    const { page, done } = await open(browser, `${url}/diff?query=shop&type=cpu&from=-20m`, { wait: row("JSON::parse"), before: keepCopies });
    await press(page, "V");
    const [line] = await page.evaluate(() => window.copied);
    const asked = spawnSync("sh", ["-c", line.replace(/^vestal/, VESTAL)], { encoding: "utf8" });
    assert.equal(asked.status, 0, `${line}\n${asked.stderr}`);
    assert.match(asked.stdout, /JSON::parse/);
    for (const word of ["before", "after"]) {
      await page.click("#share");
      const [file] = await Promise.all([page.waitForEvent("download"), page.click(`.menu button >> text=Download ${word} as pprof`)]);
      assert.equal(file.suggestedFilename(), `shop.${word}.pb.gz`);
      assert.equal(await file.failure(), null);
    }
    await done();
  });

  await test("the time before is the start; where nothing was, a sentence says so and gives a way out", async () => {
    const { page, done } = await open(browser, `${url}/diff?query=shop&from=-20m`, { wait: row("JSON::parse"), expect: /404/ });
    assert.equal(await text(page, "#range-before"), "Previous period");
    assert.match(await text(page, row("JSON::parse")), /\+\d\d\.\d pp/);
    await page.click('.pick >> text="Last week"');
    await page.waitForSelector(".sentence");
    assert.equal(query(page).vs, "7d");
    assert.equal(await text(page, "#range-before"), "A week earlier");
    await page.click(".sentence >> text=Previous period");
    await page.waitForSelector(row("JSON::parse"));
    await press(page, "b");
    assert.equal(await page.evaluate(() => document.activeElement.id), "selector-before");
    await done();
  });
}

async function heatTests(browser, url, end) {
  const range = `from=${end - 11_000}&until=${end + 1000}`;
  await test("cells of the heat map show their stacks, a second block what differs", async () => {
    const { page, done } = await open(browser, `${url}/heatmap?query=beat&${range}`, { wait: ".heat canvas" });
    // The lower half of the map is the first half of every second.
    await drag(page, [0.3, 0.55], [0.6, 0.85]);
    await page.waitForSelector(row("early"));
    assert.equal(await page.locator(row("late")).count(), 0);
    assert.ok(query(page).cells);
    await page.reload();
    await page.waitForSelector(row("early"));
    await page.keyboard.down("Control");
    await drag(page, [0.3, 0.05], [0.6, 0.4]);
    await page.keyboard.up("Control");
    await page.waitForSelector(row("late"));
    assert.match(await text(page, row("late")), /pp new/);
    assert.match(await text(page, row("early")), /pp gone/);
    await page.click("text=Clear");
    await page.waitForFunction(() => !location.search.includes("cells"));
    await done();
  });

  await test("the heat map by keyboard alone", async () => {
    const { page, done } = await open(browser, `${url}/heatmap?query=beat&${range}`, { wait: ".heat canvas" });
    await press(page, "h");
    await press(page, "ArrowLeft");
    await untilText(page, ".heat-at", " ms: ");
    for (let i = 0; i < 8; i++) await page.keyboard.press("Shift+ArrowDown");
    await press(page, "Shift+ArrowLeft", "Enter");
    await page.waitForSelector(row("early"));
    await page.locator(".heat").focus();
    for (let i = 0; i < 20; i++) await page.keyboard.press("ArrowUp");
    await press(page, "x");
    await page.waitForFunction(() => location.search.includes("cells2"));
    await page.waitForSelector(".bench.diff");
    await press(page, "Escape");
    await page.waitForFunction(() => !location.search.includes("cells"));
    await done();
  });

  await test("profiles without times say so instead of an empty map", async () => {
    const { page, done } = await open(browser, `${url}/heatmap?query=odd`, { wait: ".sentence, .heat canvas" });
    await done();
  });
}

async function functionTests(browser, url) {
  await test("a function's page: over time, neighbours, labels; links lead on", async () => {
    const { page, done } = await open(browser, `${url}/function?query=shop&name=JSON::parse`, { wait: ".bars li" });
    assert.equal(await text(page, "h2.name"), "JSON::parse");
    await page.waitForSelector(".lines svg path");
    const parts = await page.locator(".part").allInnerTexts();
    assert.match(parts[0], /Called by[^]*cart::load[^]*pricing::apply/);
    await untilText(page, ".part", "def456");
    assert.match(await text(page, ".function-page .big"), /6\d\.\d % of all/);
    // 60 % of half a core: profiles of a minute are no spikes of half a minute.
    assert.match(await text(page, ".function-page .big"), /^0\.(29|3\d?) cores/);
    assert.match(await page.locator(".lines").getAttribute("aria-label"), /at most 0\.3\d* cores/);
    await page.click('.part a >> text="cart::load"');
    await page.waitForFunction(() => document.querySelector("h2.name")?.textContent === "cart::load");
    await untilText(page, ".part", "JSON::parse");
    await press(page, "s");
    await page.waitForSelector(".stage.sandwich");
    assert.equal(query(page).fn, "cart::load");
    await page.goBack();
    await page.waitForSelector("h2.name");
    await page.goto(`${url}/function?query=shop&name=nobody_calls_me`);
    await page.waitForSelector(".sentence");
    assert.match(await text(page, ".sentence"), /did not run/);
    await page.goto(`${url}/function?query=shop`);
    await page.waitForSelector(".choose a");
    await done();
  });
}

const folded = (name, lines) => ({ name, mimeType: "text/plain", buffer: Buffer.from(lines) });

async function fileTests(browser, url) {
  await test("a file is opened, compared with another and with what is stored, and stored when asked", async () => {
    const { page, done } = await open(browser, `${url}/files`, { wait: ".drop-zone" });
    await page.setInputFiles("input[type=file]", folded("one.folded", "main;f 10\nmain;g 30\n"));
    await page.waitForSelector(row("g"));
    assert.match(await text(page, row("g")), /75\.0/);
    assert.match(await text(page, ".against"), /not stored/);
    await page.setInputFiles("input[type=file]", folded("two.folded", "main;f 30\nmain;g 10\n"));
    await page.waitForFunction(() => location.search.includes("two.folded"));
    await page.selectOption(".against select", "file:one.folded");
    await page.waitForSelector(".bench.diff");
    assert.match(await text(page, row("f")), /25\.0\s+75\.0\s+\+50\.0 pp/);
    const before = await (await fetch(`${url}/api/v1/services`)).json();
    assert.ok(!before.services.includes("two"));
    await page.click("text=Store it");
    await page.click("text=Store two.folded");
    await page.waitForSelector("text=Explore two");
    const after = await (await fetch(`${url}/api/v1/services`)).json();
    assert.ok(after.services.includes("two"));
    await page.selectOption(".against select", "stored");
    await page.fill("#selector", "two");
    await press(page, "Enter");
    await page.waitForSelector(".bench.diff");
    await untilText(page, ".functions td", "noise");
    await done();
  });

  await test("dropped files are taken; what is no profile is refused in words", async () => {
    const { page, done } = await open(browser, `${url}/files`, { wait: ".drop-zone", expect: /status of 4\d\d/ });
    const drop = (name, body) => page.evaluate(([n, b]) => {
      const data = new DataTransfer();
      data.items.add(new File([b], n));
      for (const type of ["dragover", "drop"]) document.querySelector("main").dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    }, [name, body]);
    await drop("nonsense.bin", "\u0000\u0001 this is no profile at all");
    await page.waitForSelector(".file-note.bad");
    assert.match(await text(page, ".file-note.bad"), /nonsense\.bin/);
    await drop("good.folded", "main;h 5\n");
    await page.waitForSelector(row("h"));
    await page.click("text=Dismiss");
    assert.equal(await page.locator(".file-note").count(), 0);
    await page.click('[aria-label="Close good.folded"]');
    await page.waitForSelector(".drop-zone");
    await done();
  });
}

async function statusTests(browser, url, dir) {
  await test("Status says what is kept and what comes in", async () => {
    const { page, done } = await open(browser, `${url}/status`, { wait: ".flow" });
    assert.match(await text(page, ".status .big"), /samples/);
    assert.match(await text(page, ".parts"), /Retention\s+14 d/);
    await page.waitForFunction(() => /\d.*\/s/.test(document.querySelector(".flow td:last-child")?.textContent ?? ""));
    await page.click('.settings button >> text="Light"');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
    await press(page, "g", "o");
    await page.waitForSelector(".services");
    await done();
  });

  await test("a server with tokens asks for one, refuses a wrong one and opens with the right one", async () => {
    const folder = join(dir, "guarded");
    const server = await startServer(folder);
    await stopServer(server);
    const create = (...words) => {
      const made = spawnSync(VESTAL, ["token", "create", "--data", join(folder, "data"), ...words], { encoding: "utf8" });
      const token = (made.stdout + made.stderr).match(/vst_[\w-]+/)?.[0];
      assert.ok(token, made.stderr);
      return token;
    };
    const token = create("--read", "--name", "reader");
    const admin = create("--admin", "--name", "owner");
    const guarded = await startServer(folder);
    try {
      const { page, done } = await open(browser, `${guarded.url}/status`, { wait: ".token input", expect: /401/ });
      await page.fill(".token input", "vst_wrong");
      await press(page, "Enter");
      await page.waitForSelector(".token input");
      await page.fill(".token input", token);
      await press(page, "Enter");
      await page.waitForSelector(".flow");
      assert.equal(await page.locator('h2:text-is("Tokens")').count(), 0, "who may only read sees no list");
      await page.click("text=Remove");
      await page.waitForSelector(".token input");
      await page.fill(".token input", admin);
      await press(page, "Enter");
      await page.waitForSelector('[aria-label="Tokens"] tbody tr >> nth=1');
      assert.match(await text(page, '[aria-label="Tokens"]'), /reader\s+read[^]*owner · this page's\s+read, write, admin/);
      await done();
    } finally {
      await stopServer(guarded);
    }
  });
}

async function everywhereTests(browser, url, end, empty) {
  const beat = `heatmap?query=beat&from=${end - 11_000}&until=${end + 1000}`;
  const routes = [
    ["", ".services"], ["diff?query=shop&from=-20m", row("malloc")], ["diff?query=nobody", ".sentence"], [beat, ".heat canvas"], [`${beat}&cells=${end - 5000}+3000:0-400`, row("early")],
    ["function?query=shop&name=JSON::parse", ".lines svg"], ["function?query=shop", ".choose"], ["files", ".drop-zone"], ["status", ".flow"],
  ];
  const source = await axeSource();
  for (const scheme of ["dark", "light"])
    for (const [route, wait] of routes)
      await test(`axe finds nothing: /${route.split("?")[0]} ${scheme}`, async () => {
        if (!source) throw new Skip("axe-core is not installed (npm ci in tests/browser)");
        const { page, done } = await open(browser, `${url}/${route}`, { scheme, wait, bypassCSP: true });
        await page.evaluate(source);
        const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).slice(0, 3).join(" | ")}`), []);
        await done();
      });

  await test("no page is wider than the window, from 320 pixels to 4K", async () => {
    for (const [width, height] of [[320, 640], [3840, 2160]])
      for (const [route, wait] of routes) {
        const { page, done } = await open(browser, `${url}/${route}`, { width, height, wait: width < 900 && wait.startsWith(".functions") ? PAINTED : wait });
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${route} at ${width}`);
        const cut = await page.evaluate(() => [...document.querySelectorAll("main button, main a.btn, main select")].filter((e) => e.getClientRects().length && !e.closest(".table-scroll, .rows, .panes, nav") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.textContent));
        assert.deepEqual(cut, [], `${route} at ${width}`);
        await done();
      }
  });

  await test("function names have room beside their numbers in every window", async () => {
    for (const route of ["diff?query=shop&from=-20m", "explore?query=shop"])
      for (const width of [900, 1024, 1180, 1280, 1920]) {
        const { page, done } = await open(browser, `${url}/${route}`, { width, wait: row("malloc") });
        const wide = await page.evaluate(() => document.querySelector(".functions tbody th").getBoundingClientRect().width);
        assert.ok(wide >= 110, `${route} at ${width}: ${wide}`);
        await done();
      }
  });

  await test("every page says so when there is nothing, on an empty server", async () => {
    for (const route of ["diff", "heatmap", "function", "explore"]) {
      const { page, done } = await open(browser, `${empty}/${route}`, { wait: ".ways" });
      await done();
    }
  });
}

async function completenessTests(browser, dir) {
  const server = await startServer(join(dir, "lossy"), { memory: true });
  const now = Math.floor(Date.now() / 60e3) * 60e3;
  const lost = "98.2% of samples kept; 1.8% lost: ring full, queue full";
  const off = "not measured 25% of the time: cpu budget; sampled less often 50% of the time: cpu budget";
  const minute = (i, said) => Promise.all(["lossy", "whole"].map((service) => pushCompleteness(server.url, service, now - i * 60e3, [["all;watched", 0, 60e9], ["cpu;kept", 2946, 29.46e9], ...(service === "lossy" ? said : [])])));
  try {
    for (const service of ["lossy", "whole", "silent"]) await fillService(server.url, service, now);
    for (let i = 1; i <= 20; i++) await minute(i, [["cpu;lost: ring full", 45, 0.45e9], ["cpu;lost: queue full", 9, 0.09e9]]);
    for (let i = 21; i <= 40; i++) await minute(i, [["cpu;off: cpu budget", 0, 15e9], ["cpu;lowered: cpu budget", 0, 30e9]]);
    const range = (from, until) => `from=${now - from * 60e3}&until=${now - until * 60e3}`;
    await test("What did not arrive stands beside the number in Explore, and nothing where all arrived or nobody says", async () => {
      for (const [service, from, until, wanted] of [["lossy", 20, 0, lost], ["lossy", 40, 20, off], ["whole", 40, 0, ""], ["silent", 40, 0, ""]]) {
        const { page, done } = await open(browser, `${server.url}/explore?query=${service}&type=cpu&${range(from, until)}`, { wait: ".strip .big" });
        await untilText(page, ".strip .big", "total");
        assert.deepEqual(await page.locator(".strip .lacks").allInnerTexts(), wanted ? [wanted] : [], service);
        await done();
      }
    });
    await test("A picture in groups and the page of a function say it too", async () => {
      for (const [path, where] of [["explore?group=pod&", ".strip .lacks"], ["function?name=JSON::parse&", ".function-page .big .lacks"]]) {
        const { page, done } = await open(browser, `${server.url}/${path}query=lossy&type=cpu&${range(20, 0)}`, { wait: where });
        assert.equal(await text(page, where), lost, path);
        await done();
      }
    });
    await test("Diff says it of either side", async () => {
      const { page, done } = await open(browser, `${server.url}/diff?query=lossy&type=cpu&${range(20, 0)}`, { wait: ".compared .lacks" });
      assert.equal(await text(page, ".compared .lacks"), `before: ${off} · after: ${lost}`);
      await page.goto(`${server.url}/diff?query=whole&type=cpu&${range(20, 0)}`);
      await untilText(page, ".compared .big", "total");
      assert.equal(await page.locator(".lacks").count(), 0);
      await done();
    });
    await test("The overview marks the services that lack something, and says what", async () => {
      const { page, done } = await open(browser, `${server.url}/?${range(20, 0)}`, { wait: ".services tbody tr" });
      const marks = await page.locator(".services tbody tr").evaluateAll((rows) => rows.map((r) => [r.querySelector("th").textContent, r.querySelector(".lacks-mark")?.getAttribute("aria-label") ?? ""]));
      assert.deepEqual(Object.fromEntries(marks), { lossy: lost, whole: "", silent: "" });
      await done();
    });
  } finally {
    await stopServer(server);
  }
}

export async function pagesTests(browser, dir) {
  if (!existsSync(VESTAL)) return test("the other pages", () => Promise.reject(new Skip(`${VESTAL} is not built`)));
  const server = await startServer(join(dir, "pages"));
  const empty = await startServer(join(dir, "empty"), { memory: true });
  const bare = await startServer(join(dir, "bare"), { memory: true });
  const { url } = server;
  const end = Math.floor(Date.now() / 1000) * 1000 - 5000;
  try {
    if (!/id="app"/.test(await (await fetch(url)).text())) return test("the other pages", () => Promise.reject(new Skip("this program was built without npm")));
    await fillShop(url);
    await pushTimed(url, end);
    await overviewTests(browser, url, empty);
    await diffTests(browser, url);
    await heatTests(browser, url, end);
    await functionTests(browser, url);
    await fileTests(browser, url);
    await statusTests(browser, url, dir);
    await completenessTests(browser, dir);
    await everywhereTests(browser, url, end, bare.url);
  } finally {
    for (const s of [server, empty, bare]) await stopServer(s);
  }
}
