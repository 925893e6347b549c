// A real Chromium that may not talk to anybody, and helpers to look at a report in it.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

// The same letters everywhere, whatever fonts are installed besides.
const FONTS = fileURLToPath(new URL("./fonts.conf", import.meta.url));
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

// Chosen so that it matches one visible element: the graph, or the sentence instead of it.
export const READY = ".pane:not(.callers) canvas, .alone p";

// How long an event may take on a machine that has other things to do: it only ends a test that hangs.
export const PATIENCE = 90_000;

export async function launch() {
  if (!existsSync(CHROMIUM)) return { skip: `no browser at ${CHROMIUM}` };
  // 1.61 is the last one for the Node.js 18 of Debian 12.
  let playwright;
  try {
    playwright = await import("playwright-core");
  } catch {
    return { skip: "playwright-core is not installed (npm ci in tests/browser)" };
  }
  return { browser: await playwright.chromium.launch({ executablePath: CHROMIUM, args: FLAGS, env: { ...process.env, FONTCONFIG_FILE: FONTS } }) };
}

/** Opens a file or what a server has at an address; `done()` closes it and asserts that it was silent. */
export async function open(browser, file, { width = 1280, height = 800, scheme = "dark", hash = "", ratio = 1, bypassCSP = false, before = null, expect = null } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, deviceScaleFactor: ratio, reducedMotion: "reduce", bypassCSP });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const requests = [];
  const errors = [];
  const url = /^https?:/.test(file) ? file : pathToFileURL(file).href;
  if (before) await page.addInitScript(before);
  page.on("request", (r) => r.url().split("#")[0] !== url && requests.push(r.url()));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e.stack)));
  await page.goto(url + hash);
  await page.waitForSelector(READY);
  await settle(page);
  const done = async () => {
    await context.close();
    assert.deepEqual(requests, [], "no network request");
    assert.deepEqual(errors.filter((e) => !expect || !expect.test(e)), [], "no console error");
  };
  return { page, done };
}

// Two frames: one to apply, one to have painted.
export const settle = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(0)))));

export async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

/** Colour of the picture at a CSS pixel of the canvas; read from a copy, the page's own canvas is for writing. */
export const pixel = (page, x, y) =>
  page.evaluate(([px, py]) => {
    const canvas = document.querySelector(".pane:not(.callers) canvas");
    const ratio = canvas.width / canvas.clientWidth;
    const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, -Math.round(px * ratio), -Math.round(py * ratio));
    return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
  }, [x, y]);

export const canvasBox = (page) => page.locator(".pane:not(.callers) canvas").boundingBox();

export const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash.slice(1)));

/** Number of different colours on the canvas. */
export const colours = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".pane:not(.callers) canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });

/** Zooms in and out again with the wheel for some frames; milliseconds of script per frame and between frames. */
export const frameTimes = (page) =>
  page.evaluate(async () => {
    const canvas = document.querySelector(".pane:not(.callers) canvas");
    const box = canvas.getBoundingClientRect();
    const script = [];
    const between = [];
    let last = 0;
    for (let i = 0; i < 90; i++) {
      const deltaY = i < 45 ? -22 : 22;
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ctrlKey: true, clientX: box.x + box.width * 0.4, clientY: box.y + 40, bubbles: true, cancelable: true }));
      const now = await new Promise((r) => requestAnimationFrame(r));
      if (last) between.push(now - last);
      last = now;
      script.push(parseFloat(document.querySelector("#foot > span:last-child").textContent));
    }
    const at = (list, q) => [...list].sort((a, b) => a - b)[Math.floor(list.length * q)];
    return { p50: at(script, 0.5), p95: at(script, 0.95), interval95: at(between, 0.95) };
  });

/** The accessibility checker as text, or "" when it is not installed. */
export async function axeSource() {
  try {
    return await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  } catch {
    return "";
  }
}
