// The UI in other time zones, around a change of clocks: the same numbers as in UTC, and every label says the
// moment at which it stands. What a zone's clocks show is node's Intl, not the page's own functions.
import assert from "node:assert/strict";
import { join } from "node:path";
import { PATIENCE, settle } from "./browser.mjs";
import { writePprof } from "./pprof-writer.mjs";
import { test } from "./tap.mjs";
import { push, startServer, stopServer } from "./ui-server.mjs";

const HOUR = 3600e3;
const EVERY = HOUR / 4;
const ZONES = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Europe/Berlin"];

/** "2026-11-01 01:30:00", as clocks of the zone show it. */
const clock = (zone, ms) => new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" }).format(ms);
const offset = (zone, ms) => (Date.parse(`${clock(zone, ms).replace(" ", "T")}Z`) - Math.floor(ms / 1e3) * 1e3) / 60e3;
const utc = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;

function offsetText(zone, ms) {
  const minutes = offset(zone, ms);
  const two = (n) => String(n).padStart(2, "0");
  return `${minutes < 0 ? "−" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

/** The last hour at which clocks of a zone were changed; without one, five days ago. */
function lastChange(zone) {
  const last = Math.floor(Date.now() / HOUR) * HOUR - 5 * 24 * HOUR;
  for (let ms = last; ms > last - 300 * 24 * HOUR; ms -= HOUR) if (offset(zone, ms) !== offset(zone, ms - HOUR)) return ms;
  return last;
}

/** What a range says in words. */
function rangeText(zone, from, until, seconds = false) {
  const end = seconds ? 19 : 16;
  const [a, b] = [clock(zone, from).slice(0, end), clock(zone, until).slice(0, end)];
  const last = a.slice(0, 10) === b.slice(0, 10) ? b.slice(11) : b;
  return offset(zone, from) === offset(zone, until) ? `${a} – ${last}` : `${a} ${offsetText(zone, from)} – ${last} ${offsetText(zone, until)}`;
}

/** Three days around a moment, a profile for every quarter of an hour; no two days have the same sum. */
const coresAt = (ms) => 0.2 + (Math.floor(ms / EVERY) % 97) / 100;
async function fill(url, service, middle) {
  for (let at = middle - 72 * HOUR; at < middle + 72 * HOUR; at += EVERY)
    await push(url, writePprof([{ stack: [{ name: "main" }, { name: "work" }], values: [Math.round(coresAt(at) * EVERY * 1e6)] }], { types: [["cpu", "nanoseconds"]], timeMs: at, durationMs: EVERY }), [["service", service]]);
}

function truth(from, until) {
  let total = 0;
  for (let at = from; at < until; at += EVERY) total += coresAt(at) * EVERY;
  return total;
}

const figure = (value) => (value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

/** Everything that is written on a canvas, with where. */
const RECORD = () => {
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const box = this.canvas.getBoundingClientRect();
    window.written.push({ text: String(text), x: x * (this.canvas === undefined || this.canvas.closest(".heat") ? 1 : 1 / devicePixelRatio), width: box.width, heat: Boolean(this.canvas.closest?.(".heat")) });
    return write.call(this, text, x, y);
  };
};

async function open(browser, zone, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", timezoneId: zone });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.addInitScript(RECORD);
  await page.goto(url);
  return page;
}

async function textOf(page, selector, wanted) {
  await page.locator(selector).first().waitFor();
  await page.waitForFunction(([s, w]) => document.querySelector(s)?.innerText.includes(w), [selector, wanted], { timeout: 20_000 }).catch(() => undefined);
  await settle(page);
  return (await page.locator(selector).first().innerText()).replace(/\s+/g, " ");
}

/** Every mark under an axis stands where its zone's clocks show it. */
function checkMarks(zone, marks, timeAt, form) {
  assert.ok(marks.length >= 3, `${marks.length} marks`);
  for (const { text, x } of marks) {
    const ms = timeAt(x);
    // A pixel is some minutes, and marks stand at whole quarters of an hour.
    const shown = clock(zone, Math.round(ms / EVERY) * EVERY);
    assert.ok(form(shown).includes(text), `${text} stands at ${shown} (${utc(ms)})`);
  }
  assert.equal(new Set(marks.map((m) => m.text)).size > 1, true, "all marks say the same");
}

const TIME_OR_DAY = /^(\d\d:\d\d|\d{4}-\d\d-\d\d)$/;

const checks = {
  async "the total and the range of days"({ zone, middle, service, go }) {
    const [from, until] = [middle - 24 * HOUR, middle + 24 * HOUR];
    const p = await go(`explore?query=${service}&type=cpu&from=${from}&until=${until}`);
    const cores = `${figure(truth(from, until) / (until - from))} cores`;
    assert.ok((await textOf(p, ".strip .big", cores)).includes(cores), `${cores} is not in ${await textOf(p, ".strip .big", cores)}`);
    assert.ok((await textOf(p, "#range", "–")).startsWith(rangeText(zone, from, until)), await textOf(p, "#range", "–"));
    assert.equal(await p.locator("#range").getAttribute("title"), `Time range: ${utc(from)} – ${utc(until)}`);
  },
  async "a date without an offset is UTC, as for the server"({ middle, service, go }) {
    const [from, until] = [middle - 6 * HOUR, middle + 3 * HOUR];
    const plain = (ms) => new Date(ms).toISOString().slice(0, 16);
    for (const path of ["explore", "function", "heatmap", "diff"]) {
      const p = await go(`${path}?query=${service}&type=cpu&name=work&from=${plain(from)}&until=${plain(until).replace("T", " ")}`);
      await p.locator("#range").waitFor();
      assert.equal(await p.locator("#range").getAttribute("title"), `Time range: ${utc(from)} – ${utc(until)}`, path);
      const cores = `${figure(truth(from, until) / (until - from))} cores`;
      if (path === "explore" || path === "function") assert.ok((await textOf(p, ".big", cores)).includes(cores), path);
      if (path === "diff") assert.ok((await textOf(p, ".compared .big", `→ ${cores}`)).includes(`→ ${cores}`), "both sides are those of the server");
    }
  },
  async "marks under the time line"({ zone, middle, service, go }) {
    for (const days of [0.5, 1, 3, 6]) {
      const [from, until] = [middle - days * 12 * HOUR, middle + days * 12 * HOUR];
      const p = await go(`explore?query=${service}&type=cpu&from=${from}&until=${until}`);
      await p.locator(".timeline .u-over").waitFor();
      await settle(p);
      const box = await p.locator(".timeline .u-over").boundingBox();
      const outer = await p.locator(".timeline canvas").first().boundingBox();
      const marks = (await p.evaluate(() => window.written)).filter((w) => !w.heat && TIME_OR_DAY.test(w.text));
      const places = marks.map((m) => ({ ...m, x: m.x + outer.x - box.x }));
      checkMarks(zone, places, (x) => from + (x / box.width) * (until - from), (shown) => (days > 2 && shown.slice(11, 16) === "00:00" ? [shown.slice(0, 10)] : [shown.slice(11, 16)]));
      const sorted = [...new Map(places.map((m) => [m.x, m])).values()].sort((a, b) => a.x - b.x);
      sorted.slice(1).forEach((m, i) => assert.ok(m.x - sorted[i].x > 6 * (m.text.length + sorted[i].text.length) / 2, `${sorted[i].text} and ${m.text} overlap`));
    }
  },
  async "marks under the heat map"({ zone, middle, service, go }) {
    const [from, until] = [middle - 36 * HOUR, middle + 36 * HOUR];
    const p = await go(`heatmap?query=${service}&type=cpu&from=${from}&until=${until}`);
    await p.locator(".heat canvas").waitFor();
    await settle(p);
    const box = await p.locator(".heat canvas").boundingBox();
    const marks = (await p.evaluate(() => window.written)).filter((w) => w.heat && /^\d\d-\d\d \d\d:\d\d$/.test(w.text));
    const label = 52;
    checkMarks(zone, marks, (x) => from + ((x - label) / (box.width - label - 1)) * (until - from), (shown) => [shown.slice(5, 16)]);
    for (const { text } of marks) assert.match(text, / \d\d:00$/, "marks stand at whole hours");
  },
  async "what the pointer shows of a point"({ zone, middle, service, go }) {
    const [from, until] = [middle - 72 * HOUR, middle + 72 * HOUR];
    const p = await go(`explore?query=${service}&type=cpu&from=${from}&until=${until}`);
    const over = p.locator(".timeline .u-over");
    await over.waitFor();
    await settle(p);
    const box = await over.boundingBox();
    for (const part of [0.1, 0.45, 0.5, 0.9]) {
      await p.mouse.move(box.x + box.width * part, box.y + box.height / 2);
      const tip = p.locator(".timeline .tip");
      await tip.waitFor({ state: "visible" });
      const said = (await tip.innerText()).replace(/\s+/g, " ");
      const start = Date.parse(said.match(/(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC/)[1].replace(" ", "T") + "Z");
      const step = [0.5, 1, 2, 6].map((h) => h * HOUR).find((s) => said.startsWith(rangeText(zone, start, start + s, true)));
      assert.ok(step, `${said} is no point from ${utc(start)}`);
      assert.ok(start <= from + part * (until - from) + 60e3 && start + step >= from + part * (until - from) - 60e3, said);
      const cores = truth(start, start + step) / step;
      assert.ok(Math.abs(Number(said.match(/([\d.]+) cores?$/)?.[1]) - cores) < 0.0051, `${cores} cores are not in ${said}`);
    }
  },
  async "a range that nobody edits stays what it is"({ middle, service, go }) {
    const [from, until] = [middle - 30 * 60e3 + 250, middle + 30 * 60e3 + 750];
    const p = await go(`explore?query=${service}&type=cpu&from=${from}&until=${until}`);
    await p.locator("#range").click();
    await p.locator(".custom button").click();
    await settle(p);
    const now = new URL(p.url()).searchParams;
    assert.deepEqual([now.get("from"), now.get("until")], [String(from), String(until)]);
    await p.goto(p.url().replace("/explore", "/diff"));
    await p.locator("#range-before").click();
    await p.locator(".menu .custom button").click();
    await settle(p);
    const compared = new URL(p.url()).searchParams;
    assert.deepEqual([compared.get("bfrom"), compared.get("buntil")], [String(from - (until - from)), String(from)]);
  },
};

export async function zonesTests(browser, dir) {
  const server = await startServer(join(dir, "zones"), { memory: true, args: ["--retention", "0", "--max-age", "400d"] });
  try {
    const middles = new Map(ZONES.map((zone) => [zone, lastChange(zone)]));
    for (const zone of ZONES) await fill(server.url, zone.replace(/\W/g, "-").toLowerCase(), middles.get(zone));
    for (const [name, check] of Object.entries(checks))
      await test(`zones: ${name} in ${ZONES.length} time zones`, async () => {
        const wrong = [];
        for (const zone of ZONES) {
          const page = await open(browser, zone, "about:blank");
          const go = async (path) => {
            await page.goto(`${server.url}/${path}`);
            return page;
          };
          await check({ zone, middle: middles.get(zone), service: zone.replace(/\W/g, "-").toLowerCase(), go }).catch((e) => wrong.push(`${zone}: ${e.message}`));
          await page.context().close();
        }
        assert.deepEqual(wrong, []);
      });
  } finally {
    await stopServer(server);
  }
}
