// Measures the served page (make bench-web): what a user waits for. Times are of this machine; run it
// when nothing else does.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { launch } from "./browser.mjs";
import { large } from "./samples.mjs";
import { fillShop, push, startServer, stopServer, VESTAL } from "./ui-server.mjs";

const PAINTED = ".pane:not(.callers) canvas";
const at = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];
const rows = [];
const say = (what, value, target) => {
  rows.push([what, value, target]);
  console.log(`${what.padEnd(58)} ${value.padEnd(34)} ${target}`);
};

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
  say("all assets, gzip", `${(files.reduce((n, f) => n + gzipSync(readFileSync(f), { level: 9 }).length, 0) / 1000).toFixed(1)} kB`, "≤ 150 kB");
}

async function firstView(browser, url) {
  const times = [];
  for (let i = 0; i < 7; i++) {
    const { page, close } = await tab(browser, `${url}/explore?query=shop&type=cpu`);
    times.push(await page.evaluate(() => window.painted));
    await close();
  }
  say("first view, warm server, to a painted flame graph", `median ${at(times, 0.5).toFixed(0)} ms, best ${at(times, 0).toFixed(0)} ms`, "≤ 300 ms");
}

async function frames(browser, url, ratio) {
  const { page, close } = await tab(browser, `${url}/explore?query=huge&nodes=1048576`, { ratio });
  const boxes = await page.evaluate(() => document.querySelector("#foot").textContent.match(/of ([\d,]+) boxes/)[1]);
  const between = await page.evaluate(async (painted) => {
    const canvas = document.querySelector(painted);
    const box = canvas.getBoundingClientRect();
    const list = [];
    let last = 0;
    for (let i = 0; i < 120; i++) {
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i < 60 ? -22 : 22, ctrlKey: true, clientX: box.x + box.width * 0.4, clientY: box.y + 40, bubbles: true, cancelable: true }));
      const now = await new Promise((r) => requestAnimationFrame(r));
      if (last) list.push(now - last);
      last = now;
    }
    // One dropped frame at the start is allowed.
    return list.slice(1);
  }, PAINTED);
  say(`zoom at ${boxes} boxes, DPR ${ratio}, between frames`, `p50 ${at(between, 0.5).toFixed(1)}, p95 ${at(between, 0.95).toFixed(1)} ms`, "p95 ≤ 16.7 ms");
  if (ratio === 1) {
    const keys = await page.evaluate(() => {
      const input = document.getElementById("search");
      return ["f", "fu", "fun", "func", "funct", "functi", "functio", "function", "function_", "function_1", "function_12", "ns1", "ns12"].map((text) => {
        const start = performance.now();
        input.value = text;
        input.dispatchEvent(new Event("input"));
        return performance.now() - start;
      });
    });
    say(`search over ${boxes} boxes, per key`, `p50 ${at(keys, 0.5).toFixed(0)}, worst ${at(keys, 1).toFixed(0)} ms`, "≤ 50 ms");
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
      if (text !== before || performance.now() - start > 5000) done(performance.now() - start);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }), [now - 3600e3 + (i % 50) * 20e3, now - (i % 7) * 30e3]);
  for (let i = 0; i < 10; i++) await change(i);
  const before = await heap();
  const times = [];
  for (let i = 10; i < 110; i++) times.push(await change(i));
  const after = await heap();
  say("a range is chosen → new flame graph, 1 h of a service", `median ${at(times, 0.5).toFixed(0)}, p95 ${at(times, 0.95).toFixed(0)} ms`, "≤ 100 ms");
  say("memory after 100 range changes", `${(after - before).toFixed(1)} MB more (${after.toFixed(1)} MB)`, "≤ 10 MB more");
  await close();
}

const { browser, skip } = await launch();
if (skip || !existsSync(VESTAL)) {
  console.error(skip ?? `${VESTAL} is not built`);
  process.exit(1);
}
const dir = mkdtempSync(join(tmpdir(), "vestal-bench-web-"));
const server = await startServer(dir);
try {
  assets();
  await fillShop(server.url);
  await firstView(browser, server.url);
  await ranges(browser, server.url);
  const lines = large(1_000_000).map((s) => `${s.stack.map((f) => f.name).join(";")} ${s.values[0]}`);
  await push(server.url, `${lines.join("\n")}\n`, [["service", "huge"]]);
  for (const ratio of [1, 2]) await frames(browser, server.url, ratio);
} finally {
  await stopServer(server);
  await browser.close();
  rmSync(dir, { recursive: true });
}
