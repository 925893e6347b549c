// The report on profiles whose answers are known.
import assert from "node:assert/strict";
import { axeSource, canvasBox, colours, frameTimes, hash, open, pixel, press, READY, settle } from "./browser.mjs";
import { Skip, test } from "./tap.mjs";

const ROW = 21;
const PAD = 8;
// Middle of row `depth`, near the bottom edge of the boxes so that no letter is in the way.
const rowY = (depth) => PAD + depth * ROW + 18;
const text = (page, selector) => page.locator(selector).innerText();
const detailName = (page) => text(page, "#detail h2");
const near = (a, b, by = 2) => a.every((v, i) => Math.abs(v - b[i]) <= by);

async function clickBox(page, share, depth) {
  const box = await canvasBox(page);
  await page.mouse.click(box.x + box.width * share, box.y + PAD + depth * ROW + 8);
  await settle(page);
}

export async function reportTests(browser, pages) {
  await test("a report opens without a request and says its numbers", async () => {
    const { page, done } = await open(browser, pages.small);
    assert.equal(await page.title(), "small & <fine>");
    assert.match(await text(page, ".big"), /^1 s · 0\.03 cores over 30 s · 100 samples · 2024-11-15 16:00:00 UTC$/);
    assert.match(await text(page, "#foot"), /shown: 15 boxes · in the file: 15 · pruned: 3 boxes, 0\.02 % of value/);
    assert.match(await text(page, "#foot"), /12 stacks were cut/);
    assert.equal(await page.locator("#functions tbody tr").count(), 13);
    assert.match(await text(page, "#functions tbody tr >> nth=0"), /JSON::parse_object\s+30\.0\s+50\.0\s+300 ms/);
    await done();
  });

  await test("boxes are where the values say", async () => {
    const { page, done } = await open(browser, pages.small);
    const { width } = await canvasBox(page);
    const background = await pixel(page, width - 1, rowY(2));
    assert.ok(near(background, [20, 18, 15]), `background ${background}`);
    const edge = async (share, depth) => [await pixel(page, width * share - 4, rowY(depth)), await pixel(page, width * share + 4, rowY(depth))];
    // main is all; http::serve ends at 90 %, idle at 98 %; cart::load at 50 %, pricing::apply at 75 %.
    const [serve, idle] = await edge(0.9, 2);
    assert.ok(!near(serve, idle, 1), "serve and idle differ");
    const [, gap] = await edge(0.98, 2);
    assert.ok(near(gap, background), "nothing right of idle");
    const [apply, none] = await edge(0.75, 4);
    assert.ok(!near(apply, background) && near(none, background), "pricing::apply ends at 75 %");
    const [parse, malloc] = await edge(0.6, 5);
    assert.ok(!near(parse, malloc, 8), "modules have colours of their own");
    assert.ok(near(await pixel(page, 4, rowY(9)), background), "nothing below the deepest box");
    await done();
  });

  await test("a click zooms, Esc and the breadcrumb go back, the address follows", async () => {
    const { page, done } = await open(browser, pages.small);
    await clickBox(page, 0.6, 4);
    assert.equal(await detailName(page), "pricing::apply");
    assert.match(await hash(page), /^zoom=\d+$/);
    const { width } = await canvasBox(page);
    assert.ok(!near(await pixel(page, width - 3, PAD + ROW + 4 * ROW + rowY(0) - rowY(0)), [20, 18, 15]), "fills the width");
    assert.equal(await text(page, ".trail [aria-current]"), "pricing::apply");
    const zoomed = await hash(page);
    await press(page, "Escape");
    assert.equal(await hash(page), "");
    await page.goBack();
    await settle(page);
    assert.equal(await hash(page), zoomed);
    await page.click(".trail button >> text=http::serve");
    assert.equal(await text(page, ".trail [aria-current]"), "http::serve");
    await press(page, "0");
    assert.equal(await page.locator(".trail").isVisible(), false);
    await done();
  });

  await test("search paints the hits, counts nested ones once, n and N visit them", async () => {
    const { page, done } = await open(browser, pages.small);
    await press(page, "Control+f");
    await page.keyboard.type("json::PARSE");
    await settle(page);
    assert.match(await text(page, ".match"), /match json::PARSE 60\.0 %\s*4 boxes/);
    assert.ok(near(await pixel(page, 4, rowY(5)), [255, 176, 102]), "hits are the brightest");
    assert.match(await text(page, "#functions .bar"), /3 of 13/);
    await press(page, "Enter");
    assert.equal(await detailName(page), "JSON::parse");
    await press(page, "Escape");
    assert.equal(await page.inputValue("#search"), "", "Esc clears");
    await press(page, "/");
    await page.keyboard.type("^JSON::parse$");
    await page.click(".mini-button");
    assert.match(await text(page, ".match"), /60\.0 %\s*2 boxes/);
    await page.evaluate(() => document.activeElement.blur());
    await press(page, "n", "n");
    assert.match(await text(page, ".match"), /2 of 2 boxes/);
    await press(page, "N");
    assert.match(await text(page, ".match"), /1 of 2 boxes/);
    await press(page, "/");
    await page.keyboard.type("(");
    await settle(page);
    assert.match(await text(page, ".match"), /not a regular expression/);
    await done();
  });

  await test("arrow keys walk the boxes as they lie on the screen", async () => {
    const { page, done } = await open(browser, pages.small);
    await press(page, "ArrowDown", "ArrowDown");
    assert.equal(await detailName(page), "main");
    await press(page, "ArrowDown");
    assert.equal(await detailName(page), "http::serve");
    await press(page, "ArrowRight");
    assert.equal(await detailName(page), "idle");
    await press(page, "ArrowLeft", "ArrowUp");
    assert.equal(await detailName(page), "main");
    await press(page, "f", "ArrowUp");
    assert.equal(await detailName(page), "http::serve", "flipped: up is towards the leaves");
    await press(page, "Enter");
    assert.equal(await text(page, ".trail [aria-current]"), "http::serve");
    await done();
  });

  await test("flip puts the root at the bottom", async () => {
    const { page, done } = await open(browser, pages.small);
    const { width, height } = await canvasBox(page);
    await press(page, "f");
    assert.ok(near(await pixel(page, width / 2, 12), [20, 18, 15]), "top is empty");
    assert.ok(!near(await pixel(page, width / 2, height - PAD - 6), [20, 18, 15]), "root at the bottom");
    assert.equal(await hash(page), "flip=1");
    await done();
  });

  await test("bottom-up shows what ran, sandwich its callers and callees", async () => {
    const { page, done } = await open(browser, pages.small);
    assert.equal(await page.locator(".callers").isVisible(), false);
    await press(page, "i");
    assert.equal(await hash(page), "view=bottom-up");
    await clickBox(page, 0.1, 1);
    const leaf = await detailName(page);
    assert.ok(["JSON::parse", "JSON::parse_object", "epoll_wait"].includes(leaf), leaf);
    await press(page, "0", "i");
    await page.click("#functions tbody tr >> text=malloc");
    assert.equal(await detailName(page), "malloc");
    await press(page, "s");
    assert.equal(await hash(page), "view=sandwich&fn=malloc&in=libc.so.6");
    assert.match(await text(page, ".middle"), /malloc/);
    assert.equal(await page.locator(".callers").isVisible(), true);
    assert.equal(await page.locator(".pane canvas").count(), 2);
    await press(page, "Escape");
    assert.equal(await hash(page), "");
    await done();
  });

  await test("type switch, order and table have keys and round-trip in the address", async () => {
    const { page, done } = await open(browser, pages.small);
    await press(page, "]");
    assert.match(await text(page, ".big"), /^100 samples/);
    await press(page, "o", "t");
    const before = await hash(page);
    assert.equal(before, "type=samples&order=weight&table=0");
    assert.equal(await page.locator("#functions").isVisible(), false);
    await clickBox(page, 0.6, 4);
    const [zoom] = (await hash(page)).match(/zoom=\d+/);
    const again = await open(browser, pages.small, { hash: `#${before}&q=malloc&${zoom}` });
    assert.match(await text(again.page, ".big"), /^100 samples/);
    assert.equal(await again.page.inputValue("#search"), "malloc");
    assert.equal(await again.page.locator(".trail").isVisible(), true);
    await again.done();
    await page.goBack();
    await settle(page);
    assert.match(await hash(page), /^type=samples/);
    await done();
  });

  await test("? opens the help and gives the focus back", async () => {
    const { page, done } = await open(browser, pages.small);
    await press(page, "?");
    assert.equal(await page.locator("dialog").isVisible(), true);
    await press(page, "Escape");
    assert.equal(await page.locator("dialog").isVisible(), false);
    await done();
  });

  await test("name, stack and folded text can be copied", async () => {
    const { page, done } = await open(browser, pages.small);
    await page.evaluate(() => {
      window.copied = "";
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async (t) => void (window.copied = t) } });
    });
    await clickBox(page, 0.6, 4);
    await press(page, "c");
    assert.equal(await page.evaluate(() => window.copied), "pricing::apply");
    await press(page, "C");
    assert.equal(await page.evaluate(() => window.copied), "main\nhttp::serve\nhttp::handle_request\npricing::apply");
    await page.click("text=Copy folded");
    assert.match(await page.evaluate(() => window.copied), /^main;http::serve;http::handle_request;pricing::apply;JSON::parse 100000000\n/);
    assert.match(await text(page, "[role=status]"), /Copied 2 stacks/);
    await done();
  });

  await test("dark and light follow the system until d is pressed", async () => {
    const { page, done } = await open(browser, pages.small, { scheme: "light" });
    const { width } = await canvasBox(page);
    assert.ok(near(await pixel(page, width - 1, rowY(2)), [247, 244, 239]));
    await press(page, "d");
    assert.ok(near(await pixel(page, width - 1, rowY(2)), [20, 18, 15]));
    await page.reload();
    await page.waitForSelector(READY);
    await settle(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "remembered");
    await done();
  });

  await test("the hidden tree follows the selection", async () => {
    const { page, done } = await open(browser, pages.small);
    await clickBox(page, 0.6, 4);
    const stage = page.locator(".stage");
    assert.equal(await stage.getAttribute("role"), "tree");
    const active = await stage.getAttribute("aria-activedescendant");
    const item = page.locator(`#${active}`);
    assert.equal(await item.getAttribute("role"), "treeitem");
    assert.equal(await item.getAttribute("aria-level"), "5");
    assert.match(await item.innerText(), /pricing::apply, Total 250 ms · 25\.0 %/);
    const names = await page.locator("[role=treeitem]").allInnerTexts();
    assert.equal(names.length, 7, "the way of five, and two children");
    assert.match(await text(page, "[role=status]"), /Zoomed to pricing::apply/);
    const controls = await page.evaluate(() => [...document.querySelectorAll("button, input")].filter((b) => b.offsetParent && !b.textContent && !b.getAttribute("aria-label")).length);
    assert.equal(controls, 0, "every control has a name");
    await done();
  });

  for (const [name, scheme, width, keys] of [
    ["small", "dark", 1440, []], ["small", "light", 1440, ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]], ["small", "dark", 1440, ["ArrowDown", "ArrowDown", "ArrowDown", "s"]],
    ["small", "light", 320, []], ["diff", "dark", 1440, ["ArrowDown", "ArrowDown"]], ["diff", "light", 1440, []],
  ])
    await test(`axe finds nothing: ${name}, ${scheme}, ${width} px ${keys.join(" ")}`, async () => {
      const axe = await axeSource();
      if (!axe) throw new Skip("axe-core is not installed");
      const { page, done } = await open(browser, pages[name], { scheme, width, bypassCSP: true });
      await press(page, ...keys);
      await page.addScriptTag({ content: axe });
      const found = await page.evaluate(async () => (await window.axe.run()).violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 100)}`));
      assert.deepEqual(found, []);
      await done();
    });

  await test("every button above the table can be reached by Tab", async () => {
    const { page, done } = await open(browser, pages.small);
    const wanted = await page.evaluate(() => [...document.querySelectorAll("button, input, .stage, .rows")].filter((b) => b.offsetParent && b.tabIndex >= 0 && !b.disabled).length);
    const reached = new Set();
    for (let i = 0; i < wanted + 5; i++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => [...document.querySelectorAll("*")].indexOf(document.activeElement)));
    }
    assert.ok(reached.size >= wanted, `${reached.size} of ${wanted}`);
    await done();
  });

  await test("the pointer gets a tooltip", async () => {
    const { page, done } = await open(browser, pages.small);
    const box = await canvasBox(page);
    await page.mouse.move(box.x + box.width * 0.6, box.y + PAD + 4 * ROW + 8);
    await settle(page);
    const tip = await text(page, ".tip");
    assert.match(tip, /pricing::apply\s+shop · price\.cc:7\s+Total\s+250 ms · 25\.0 %\s+Self\s+0 · 0 %\s+Of parent\s+33\.3 %/);
    await done();
  });

  await test("320 pixels are enough", async () => {
    const { page, done } = await open(browser, pages.small, { width: 320, height: 640 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 320, `page is ${wide} wide`);
    assert.ok((await colours(page)) > 5);
    await page.click("#tabs >> text=Functions");
    assert.equal(await page.locator("#functions").isVisible(), true);
    assert.equal(await page.locator("#graph").isVisible(), false);
    await page.click("#functions tbody tr >> text=malloc");
    await page.click("#tabs >> text=Detail");
    assert.equal(await detailName(page), "malloc");
    await done();
  });

  await test("hi-DPI pictures are sharp", async () => {
    const { page, done } = await open(browser, pages.small, { ratio: 2 });
    const [pixels, wide] = await page.evaluate(() => {
      const c = document.querySelector(".pane:not(.callers) canvas");
      return [c.width, c.clientWidth];
    });
    assert.equal(pixels, wide * 2);
    await done();
  });

  await test("2,000 rows scroll in a canvas of the size of the screen", async () => {
    const { page, done } = await open(browser, pages.deep);
    const size = await page.evaluate(() => {
      const pane = document.querySelector(".pane:not(.callers)");
      pane.scrollTop = 1e9;
      return { canvas: pane.querySelector("canvas").height, pane: pane.clientHeight, all: pane.scrollHeight };
    });
    assert.equal(size.canvas, size.pane);
    assert.ok(size.all > 2000 * ROW);
    await settle(page);
    const { height } = await canvasBox(page);
    assert.ok(!near(await pixel(page, 10, height - PAD - 5), [20, 18, 15]), "the deepest row is drawn");
    await press(page, "f");
    assert.ok(!near(await pixel(page, 10, height - PAD - 5), [20, 18, 15]), "flipped, the root is at the bottom");
    await done();
  });

  await test("a difference shows more, less, new and gone", async () => {
    const { page, done } = await open(browser, pages.diff);
    assert.match(await text(page, ".big"), /^70 s → 80 s · ▲ 14\.3 % · shares compared$/);
    const { width } = await canvasBox(page);
    // Widths are before + after/8*7: cache::get gone, cart::load more, idle less.
    const [r1, , b1] = await pixel(page, width * 0.2, rowY(4));
    assert.ok(r1 > b1 + 40, "cart::load is orange");
    const [r2, , b2] = await pixel(page, width - 30, rowY(2));
    assert.ok(b2 > r2 + 20, "idle is blue");
    assert.match(await text(page, "#functions tbody"), /cache::get\s+17\.1\s+0\.0\s+−17\.1 pp gone/);
    assert.match(await text(page, "#functions tbody"), /rules::reload\s+0\.0\s+11\.3\s+\+11\.3 pp new/);
    assert.match(await text(page, "#functions tbody"), /main\s+100\.0\s+100\.0\s+noise/);
    await press(page, "w");
    assert.match(await text(page, ".big"), /^80 s → 70 s/);
    assert.match(await text(page, "#functions tbody"), /cache::get\s+0\.0\s+17\.1\s+\+17\.1 pp new/);
    await press(page, "m");
    assert.equal(await hash(page), "norm=0&swap=1");
    await done();
  });

  await test("paper gets the whole graph, light, and nothing else", async () => {
    const { page, done } = await open(browser, pages.small);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("#page").isVisible(), false);
    assert.equal(await page.locator("#paper canvas").isVisible(), true);
    const corner = await page.evaluate(() => [...document.querySelector("#paper canvas").getContext("2d").getImageData(2799, 100, 1, 1).data]);
    assert.deepEqual(corner, [255, 255, 255, 255]);
    await done();
  });

  for (const [name, words] of [
    ["empty", /empty template/], ["cut", /damaged or cut off/], ["text", /damaged on the way/], ["magic", /does not begin like a flame tree/], ["version", /version 9/],
  ])
    await test(`a page with ${name} data says so in one sentence`, async () => {
      const { page, done } = await open(browser, pages[name]);
      assert.match(await text(page, ".alone"), words);
      await done();
    });

  await test("a profile without samples is shown without a fuss", async () => {
    const { page, done } = await open(browser, pages.nothing);
    assert.match(await text(page, ".big"), /^0\b/);
    assert.equal(await text(page, ".nothing"), "No data of type cpu.");
    await press(page, "ArrowDown", "i", "i", "Enter", "Escape");
    await done();
  });

  await test("a browser that cannot unpack is told which can", async () => {
    const { page, done } = await open(browser, pages.small, { before: () => delete window.DecompressionStream });
    assert.match(await text(page, ".alone"), /no DecompressionStream.*Chrome 80, Firefox 113, Safari 16\.4/);
    await done();
  });

  await test("a script that came in with the data does not run", async () => {
    const { page, done } = await open(browser, pages.injected, { expect: /Content Security Policy/ });
    assert.equal(await page.evaluate(() => window.injected), undefined);
    assert.match(await text(page, ".big"), /^1 s/);
    await done();
  });

  for (const [name, title] of [["large", "100 k"], ["huge", "1 M"], ["full", "1 M in full rows"]]) {
    if (!pages[name]) continue;
    await test(`frame time at ${title} boxes`, async () => {
      const started = Date.now();
      const { page, done } = await open(browser, pages[name], { width: 1600, height: 900 });
      const ready = Date.now() - started;
      const t = await frameTimes(page);
      const shown = (await text(page, "#foot")).match(/in the file: ([\d,]+)/)[1];
      await done();
      return `${shown} boxes: ready after ${ready} ms, script p50 ${t.p50} ms, p95 ${t.p95} ms, between frames p95 ${t.interval95.toFixed(1)} ms`;
    });
  }
}
