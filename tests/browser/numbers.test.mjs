// Every page says the number that is true, to the last digit it shows. The profiles and their truth are
// those of tests/e2e/test_same_numbers.py, which asks the API and the command line for the same.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { settle } from "./browser.mjs";
import { test } from "./tap.mjs";
import { startServer, stopServer } from "./ui-server.mjs";

const SITUATIONS = fileURLToPath(new URL("../e2e/support/situations.py", import.meta.url));

function fill(url) {
  const done = spawnSync("python3", [SITUATIONS, url], { encoding: "utf8", maxBuffer: 1 << 26 });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout);
}

/** Opens a page of the UI and gives the text of what `wait` finds, once it contains `until`. */
async function read(page, url, path, params, wait, until) {
  await page.goto(`${url}/${path}?${new URLSearchParams(params)}`);
  await page.waitForSelector(wait);
  await page.waitForFunction(([s, w]) => document.querySelector(s)?.innerText.includes(w), [wait, until], { timeout: 20_000 }).catch(() => undefined);
  await settle(page);
  return (await page.locator(wait).first().innerText()).replace(/\s+/g, " ");
}

const range = (side) => ({ from: side.from_ns, until: side.until_ns });

function says(text, wanted, where) {
  assert.ok(text.includes(wanted), `${where}: “${wanted}” is not in “${text}”`);
}

const coverage = (side) => (side.coverage !== null && side.coverage < 0.95 ? "while running" : "");

const WORDS = { noise: "No significant change", unknown: "Too little data to tell", no_earlier_data: "No earlier data", no_later_data: "No data now" };

/** What an arrow says of a change: "+322 %" is "▲ 322 %". */
const arrow = (share) => share.replace("+", "▲ ").replace("−", "▼ ");

const pages = {
  async overview(page, url, truth) {
    const side = truth.after;
    const row = await read(page, url, "", { query: side.query, ...range(side) }, ".services tbody tr", side.rate_text);
    says(row, side.rate_text, "the row");
    if (truth.gauge) return;
    says(await read(page, url, "", { query: side.query, ...range(side) }, ".overview .big", side.rate_text), side.rate_text, "the sum of all rows");
    if (truth.before.query !== side.query) return;
    const change = { noise: "noise", unknown: "–", no_earlier_data: "new" }[truth.verdict] ?? arrow(truth.share_text);
    says(row, change, "the change");
    if (truth.verdict === "no_earlier_data") says(await page.locator(".changes").innerText(), "No earlier data", "what changed");
  },
  async explore(page, url, truth) {
    const side = truth.after;
    const big = await read(page, url, "explore", { query: side.query, type: truth.type, ...range(side) }, ".strip .big", side.rate_text);
    says(big, side.rate_text, "the headline");
    if (!truth.gauge) says(big, `${side.total_text} total`, "the total");
    assert.equal(big.includes("while running"), coverage(side) !== "", `coverage ${side.coverage} in “${big}”`);
    const rows = await read(page, url, "explore", { query: side.query, type: truth.type, ...range(side) }, ".functions tbody", side.functions.idle.total_text);
    says(rows, side.functions.idle.total_text, "the table");
  },
  async diff(page, url, truth) {
    const params = { query: truth.after.query, type: truth.type, ...range(truth.after), base: truth.before.query, bfrom: truth.before.from_ns, buntil: truth.before.until_ns };
    if (truth.verdict === "no_earlier_data") {
      says(await read(page, url, "diff", params, ".sentence", "No data"), "No data of this type before", "instead of a difference");
      return;
    }
    const sum = await read(page, url, "diff", params, ".compared .big", truth.after.rate_text);
    says(sum, `${truth.before.rate_text} → ${truth.after.rate_text}`, "both rates");
    if (!truth.gauge) says(sum, `${truth.before.total_text} → ${truth.after.total_text}`, "both totals");
    says(sum, WORDS[truth.verdict] ?? arrow(truth.share_text), "the verdict");
  },
  async function(page, url, truth) {
    const side = truth.after;
    const work = side.functions.work;
    const big = await read(page, url, "function", { name: "work", query: side.query, type: truth.type, ...range(side) }, ".function-page .big", work.rate_text);
    says(big, work.rate_text, "the headline");
    says(big, "90.0 % of all", "the share");
    says(big, "30.0 % self", "the share of its own");
    says(big, `${work.total_text} total`, "the total");
  },
};

/** The situations in which every moment has the rate of the whole. */
const STEADY = ["interval", "edges", "units", "first"];

const others = {
  async heatmap(page, url, truth) {
    if (truth.gauge) return;
    const side = truth.after;
    const [from, until] = [side.from_ns / 1e6, side.until_ns / 1e6];
    const params = { query: side.query, type: truth.type, ...range(side), cells: `${from}+${until - from}:0-1000` };
    says(await read(page, url, "heatmap", params, ".heat-chosen", side.total_text), side.total_text, "the sum of all cells");
  },
  async "tooltip of the flame graph"(page, url, truth) {
    const side = truth.after;
    await read(page, url, "explore", { query: side.query, type: truth.type, ...range(side) }, ".functions tbody", side.functions.idle.total_text);
    const box = await page.locator(".pane:not(.callers) canvas").first().boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 10);
    const tip = page.locator(".tip:not(.inside)").first();
    await tip.waitFor({ state: "visible" });
    says((await tip.innerText()).replace(/\s+/g, " "), `Total ${side.total_text} · 100.0 %`, "the root");
  },
  async "tooltip of the time line"(page, url, truth) {
    if (!STEADY.includes(truth.name)) return;
    const side = truth.after;
    await read(page, url, "explore", { query: side.query, type: truth.type, ...range(side) }, ".strip .big", side.rate_text);
    const box = await page.locator(".timeline .u-over").boundingBox();
    await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
    const tip = page.locator(".timeline .tip");
    await tip.waitFor({ state: "visible" });
    says(await tip.innerText(), side.rate_text, "a moment");
  },
  async "a range without data"(page, url, truth) {
    const begin = truth.before.from_ns - 7200e9;
    const params = { query: truth.after.query, type: truth.type, from: begin, until: begin + 600e9 };
    await page.goto(`${url}/explore?${new URLSearchParams(params)}`);
    await page.locator(".sentence").first().waitFor();
    await settle(page);
    const text = (await page.locator("main, body").first().innerText()).replace(/\s+/g, " ");
    assert.ok(!/\b0 (cores|s|B)\b/.test(text), `nothing is not 0: “${text}”`);
  },
  async "since the last version"(page, url, truth) {
    if (truth.name !== "shorter") return;
    const params = { query: truth.service, type: truth.type, from: truth.before.from_ns, until: truth.after.until_ns };
    const text = await read(page, url, "explore", params, ".strip .big", "since");
    says(text.toLowerCase(), "no significant change since", "the note");
    const title = await page.locator(".strip .big small span[title]").last().getAttribute("title");
    says(title, `${truth.before.rate_text} → ${truth.after.rate_text}`, "its rates");
  },
};

/** Three figures, thousands grouped; from 10,000 on with a letter. */
function shortCount(n) {
  assert.ok(n < 10_000, `${n} samples: this test groups thousands alone`);
  return n.toLocaleString("en-US");
}

/** The status page counts what was sent. */
async function statusIsTrue(page, url, truths) {
  const sum = (key) => truths.reduce((total, truth) => total + truth.stored[key], 0);
  const samples = shortCount(sum("samples"));
  says(await read(page, url, "status", {}, ".status .head .big", samples), `${samples} samples`, "the headline");
  const facts = new Map(await page.locator(".status dl").first().evaluate((dl) => [...dl.querySelectorAll("dt")].map((dt) => [dt.innerText, { text: dt.nextElementSibling.innerText, title: dt.nextElementSibling.title }])));
  const wanted = { Services: truths.length, Series: sum("series"), Profiles: sum("profiles"), Samples: sum("samples"), Spans: 0 };
  for (const [word, count] of Object.entries(wanted)) assert.equal(facts.get(word)?.text, shortCount(count), word);
  for (const [word, ns] of [["Oldest", Math.min(...truths.map((t) => t.stored.oldest_ns))], ["Newest", Math.max(...truths.map((t) => t.stored.newest_ns))]])
    says(facts.get(word).title, new Date(ns / 1e6).toISOString().slice(0, 19).replace("T", " "), word);
}

export async function numbersTests(browser, dir) {
  const server = await startServer(join(dir, "numbers"), { memory: true });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  try {
    const truths = fill(server.url);
    for (const [name, check] of Object.entries({ ...pages, ...others }))
      await test(`numbers: ${name} says what is true in ${truths.length} situations`, async () => {
        const wrong = [];
        for (const truth of truths) await check(page, server.url, truth).catch((e) => wrong.push(`${truth.name}: ${e.message}`));
        assert.deepEqual(wrong, []);
      });
    await test("numbers: the status page counts what was sent", () => statusIsTrue(page, server.url, truths));
  } finally {
    await context.close();
    await stopServer(server);
  }
}
