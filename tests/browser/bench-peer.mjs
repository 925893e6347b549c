// The same interactions in speedscope, fetched by npm into build/bench/peers: a local copy of its page,
// the same folded file.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CHROMIUM } from "./browser.mjs";
import { moveAround, typeKeys } from "./bench-moves.mjs";

const FOLDER = fileURLToPath(new URL("../../build/bench/peers", import.meta.url));
const PACKAGE = join(FOLDER, "node_modules/speedscope");
const MIME = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

function fetchPeer() {
  if (existsSync(PACKAGE)) return true;
  mkdirSync(FOLDER, { recursive: true });
  return spawnSync("npm", ["install", "--prefix", FOLDER, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "speedscope"], { encoding: "utf8" }).status === 0 && existsSync(PACKAGE);
}

function serve(folded) {
  const release = join(PACKAGE, "dist/release");
  const server = createServer((request, reply) => {
    const path = new URL(request.url, "http://x").pathname;
    if (path === "/profile.txt") return reply.writeHead(200, { "Content-Type": "text/plain" }).end(folded);
    const file = join(release, path === "/" ? "index.html" : path);
    if (!file.startsWith(release) || !existsSync(file)) return reply.writeHead(404).end();
    reply.writeHead(200, { "Content-Type": MIME[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() })));
}

async function open(browser, url, ratio) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, deviceScaleFactor: ratio });
  const page = await context.newPage();
  page.setDefaultTimeout(180_000);
  await page.addInitScript(() => {
    const look = () => {
      if (document.querySelectorAll("canvas").length >= 2) requestAnimationFrame(() => requestAnimationFrame(() => (window.opened = performance.now())));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(`${url}/#profileURL=${encodeURIComponent(`${url}/profile.txt`)}`);
  await page.waitForFunction(() => window.opened);
  // The view that merges equal stacks, as a flame graph does.
  await page.keyboard.press("2");
  await page.waitForTimeout(1000);
  return { page, close: () => context.close() };
}

// The flame chart is what lies under a point in the middle of the page.
async function markChart(page) {
  await page.evaluate(() => document.elementFromPoint(innerWidth / 2, innerHeight / 2).setAttribute("data-chart", ""));
  return "[data-chart]";
}

/** Numbers of the peer, or why there are none. */
export async function measurePeer(folded, keys) {
  if (!fetchPeer()) return "npm could not fetch it";
  const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"] });
  const { url, stop } = await serve(folded);
  const found = { version, opened: 0, frames: [], keys: [] };
  try {
    for (const ratio of [1, 2]) {
      const { page, close } = await open(browser, url, ratio);
      if (ratio === 1) found.opened = await page.evaluate(() => window.opened);
      found.frames.push({ ratio, between: await moveAround(page, await markChart(page)) });
      if (ratio === 1) {
        await page.keyboard.press("Control+f");
        if (await page.waitForSelector("input", { timeout: 5000 }).catch(() => null)) found.keys = await typeKeys(page, "input", keys);
      }
      await close();
    }
  } catch (e) {
    return `it could not be measured: ${String(e.message).split("\n")[0]}`;
  } finally {
    stop();
    await browser.close();
  }
  return found;
}
