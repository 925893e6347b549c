// Measures the served page (make bench-web): what a user waits for, beside what we want, and beside
// speedscope on the same profile where npm can fetch it. Times are of this machine; run it when nothing
// else does.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { moveAround, typeKeys } from "./bench-moves.mjs";
import { measurePeer } from "./bench-peer.mjs";
import { launch } from "./browser.mjs";
import { large } from "./samples.mjs";
import { fillShop, push, startServer, stopServer, VESTAL } from "./ui-server.mjs";

const BOXES = 1_000_000;
const PAINTED = ".pane:not(.callers) canvas";
const KEYS = ["f", "fu", "fun", "func", "funct", "functi", "functio", "function", "function_", "function_1", "function_12", "ns1", "ns12"];
const at = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];

const rows = [];
/** A row of the table: what was measured in words, the number that counts, the number we want, the peer's words. */
function say(what, words, value, target, unit) {
  rows.push({ what, words, ratio: value / target, target: `≤ ${target} ${unit}` });
  console.log(`${what.padEnd(52)} ${words.padEnd(44)} ${rows.at(-1).target.padEnd(11)} ${(value / target).toFixed(2)} of it`);
}

async function tab(browser, url, { ratio = 1 } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, deviceScaleFactor: ratio });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  // When the first picture with boxes is on the canvas, by the page's own clock.
  await page.addInitScript(() => {
    const look = () => {
      if (/shown: [1-9]/.test(document.querySelector("#foot")?.textContent ?? "")) window.painted = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(url);
  await page.waitForFunction(() => window.painted);
  return { page, close: () => context.close() };
}

function assets() {
  const dist = fileURLToPath(new URL("../../web/dist/ui", import.meta.url));
  const files = [join(dist, "index.html"), ...readdirSync(join(dist, "assets")).map((f) => join(dist, "assets", f))];
  const kB = files.reduce((n, f) => n + gzipSync(readFileSync(f), { level: 9 }).length, 0) / 1000;
  say("all assets, gzip", `${kB.toFixed(1)} kB`, kB, 150, "kB");
}

async function firstView(browser, url) {
  const times = [];
  const ends = [];
  for (let i = 0; i < 9; i++) {
    const { page, close } = await tab(browser, `${url}/explore?query=shop&type=cpu`);
    times.push(await page.evaluate(() => window.painted));
    ends.push(await page.evaluate(() => {
      const end = (part) => Math.max(0, ...performance.getEntriesByType("resource").filter((e) => e.name.includes(part)).map((e) => e.responseEnd));
      return [performance.getEntriesByType("navigation")[0].responseEnd, end("/assets/"), end("/api/v1/tree")];
    }));
    await close();
  }
  say("first view, warm server, to a painted flame graph", `median ${at(times, 0.5).toFixed(0)}, best ${at(times, 0).toFixed(0)} ms`, at(times, 0.5), 300, "ms");
  const [page, code, tree] = [0, 1, 2].map((k) => at(ends.map((e) => e[k]), 0.5).toFixed(0));
  console.log(`  of it: page here after ${page} ms, code after ${code} ms, the tree's answer after ${tree} ms`);
}

async function frames(browser, url, ratio) {
  const { page, close } = await tab(browser, `${url}/explore?query=huge&nodes=1048576`, { ratio });
  const boxes = await page.evaluate(() => document.querySelector("#foot").textContent.match(/of ([\d,]+) boxes/)[1]);
  const between = await moveAround(page, PAINTED);
  say(`zoom and pan at ${boxes} boxes, DPR ${ratio}`, `p50 ${at(between, 0.5).toFixed(1)}, p95 ${at(between, 0.95).toFixed(1)}, worst ${at(between, 1).toFixed(0)} ms`, at(between, 0.95), 16.7, "ms");
  if (ratio === 1) {
    const keys = await typeKeys(page, "#search", KEYS);
    say(`search over ${boxes} boxes, key to picture`, `p50 ${at(keys, 0.5).toFixed(0)}, worst ${at(keys, 1).toFixed(0)} ms`, at(keys, 1), 50, "ms");
  }
  await close();
}

async function ranges(browser, url) {
  const { page, close } = await tab(browser, `${url}/explore?query=shop&type=cpu`);
  const client = await page.context().newCDPSession(page);
  const heap = async () => {
    await client.send("HeapProfiler.collectGarbage");
    return (await client.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  const now = Date.now();
  const change = (i) => page.evaluate(([from, until]) => new Promise((done) => {
    const before = document.querySelector("#foot").textContent;
    const start = performance.now();
    history.pushState(null, "", `/explore?query=shop&type=cpu&from=${from}&until=${until}&span=-1h~now`);
    dispatchEvent(new PopStateEvent("popstate"));
    const look = () => {
      const text = document.querySelector("#foot").textContent;
      if (text !== before || performance.now() - start > 5000) requestAnimationFrame(() => done(performance.now() - start));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }), [now - 3600e3 + (i % 50) * 20e3, now - (i % 7) * 30e3]);
  for (let i = 0; i < 10; i++) await change(i);
  const before = await heap();
  const times = [];
  for (let i = 10; i < 110; i++) times.push(await change(i));
  const after = await heap();
  say("a range is chosen → new flame graph, 1 h of a service", `median ${at(times, 0.5).toFixed(0)}, p95 ${at(times, 0.95).toFixed(0)} ms`, at(times, 0.5), 100, "ms");
  say("memory after 100 range changes", `${(after - before).toFixed(1)} MB more (${after.toFixed(1)} MB)`, Math.max(0, after - before), 10, "MB");
  await close();
}

async function peer(folded) {
  const found = await measurePeer(folded, KEYS);
  if (typeof found === "string") return console.log(`speedscope: ${found}`);
  const line = (what, words) => console.log(`${`speedscope ${found.version}: ${what}`.padEnd(52)} ${words}`);
  line("file opened and drawn", `${found.opened.toFixed(0)} ms`);
  for (const { ratio, between } of found.frames) line(`zoom and pan, DPR ${ratio}`, `p50 ${at(between, 0.5).toFixed(1)}, p95 ${at(between, 0.95).toFixed(1)}, worst ${at(between, 1).toFixed(0)} ms`);
  line("search, key to picture", found.keys.length ? `p50 ${at(found.keys, 0.5).toFixed(0)}, worst ${at(found.keys, 1).toFixed(0)} ms` : "–");
  console.log("  speedscope draws with WebGL, which has no GPU here; its times are those of this machine, not of a desk.");
}

const { browser, skip } = await launch();
if (skip || !existsSync(VESTAL)) {
  console.error(skip ?? `${VESTAL} is not built`);
  process.exit(1);
}
const only = process.argv.slice(2);
const wanted = (part) => only.length === 0 || only.includes(part);
const dir = mkdtempSync(join(tmpdir(), "vestal-bench-web-"));
const server = await startServer(dir);
try {
  assets();
  await fillShop(server.url);
  if (wanted("first")) await firstView(browser, server.url);
  if (wanted("ranges")) await ranges(browser, server.url);
  if (wanted("frames") || wanted("peer")) {
    const folded = `${large(BOXES).map((s) => `${s.stack.map((f) => f.name).join(";")} ${s.values[0]}`).join("\n")}\n`;
    await push(server.url, folded, [["service", "huge"]]);
    if (wanted("frames")) for (const ratio of [1, 2]) await frames(browser, server.url, ratio);
    if (wanted("peer")) await peer(folded);
  }
} finally {
  await stopServer(server);
  await browser.close();
  rmSync(dir, { recursive: true });
}
// The time of a frame is rounded to a tenth of a millisecond: 16.8 is the pace of the screen, too.
const over = rows.filter((r) => r.ratio > 1.01);
console.log(over.length ? `above the target: ${over.map((r) => `${r.what} (${r.ratio.toFixed(2)})`).join(", ")}` : "everything is within its target");
