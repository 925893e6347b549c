// Every page as a picture, in both themes, compared with the one that somebody looked at and kept in
// shots/. Data and clock are the same in every run, and the letters are those of fonts.conf. `make shots`
// keeps new pictures: look at them before they are committed.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PATIENCE, settle } from "./browser.mjs";
import { Skip, test } from "./tap.mjs";
import { fillService, pushTimed, startServer, stopServer, VESTAL } from "./ui-server.mjs";

const FOLDER = fileURLToPath(new URL("./shots", import.meta.url));
const NEEDS = "fonts-dejavu-core is missing (tools/install-deps test), or the browser draws it anew (make shots)";
const row = (name) => `.functions tbody tr:has(bdi:text-is("${name}"))`;
// A pixel differs when a channel is this far off; a picture when more than this share of its pixels are.
const CHANNEL = 28;
const SHARE = 0.002;

// Yesterday at eleven, and the page believes it is a little later: no date is on the screen.
const END = Math.floor(Date.now() / 86400e3) * 86400e3 - 13 * 3600e3;
const RANGE = `from=${END - 2400e3}&until=${END}`;

const PAGES = [
  { name: "overview", route: `?${RANGE}`, wait: ".services tbody tr" },
  { name: "explore", route: `explore?query=shop&type=cpu&${RANGE}`, wait: row("JSON::parse"), ready: ".uplot canvas" },
  { name: "diff", route: `diff?query=shop&type=cpu&from=${END - 1200e3}&until=${END}`, wait: row("malloc") },
  { name: "heatmap", route: `heatmap?query=beat&from=${END - 11_000}&until=${END + 1000}&cells=${END - 5000}+3000:0-400`, wait: row("early") },
  { name: "function", route: `function?query=shop&type=cpu&name=JSON::parse&${RANGE}`, wait: ".lines svg path", ready: ".part" },
  { name: "files", route: "files", wait: ".drop-zone", act: openFile },
  { name: "status", route: "status", wait: ".flow" },
];

async function openFile(page) {
  await page.setInputFiles("input[type=file]", { name: "cart.folded", mimeType: "text/plain", buffer: Buffer.from("main;http::serve;cart::load;JSON::parse 50\nmain;http::serve;pricing::apply;malloc 20\nmain;http::serve;tcp_sendmsg 25\nmain;epoll_wait 5\n") });
  await page.waitForSelector(row("malloc"));
}

// What differs from run to run: how long something took, what the disk holds, who asked before.
const VOLATILE = "#foot, .flow svg, .flow td, .status .big, .status dd";

/** Opens a page with its clock standing still, and takes its picture. */
async function shoot(browser, url, { route, wait, ready, act }, scheme) {
  const context = await browser.newContext({ viewport: { width: 1024, height: 600 }, colorScheme: scheme, reducedMotion: "reduce", timezoneId: "UTC", locale: "en-US", bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.clock.setFixedTime(END + 60e3);
  await page.goto(`${url}/${route}`);
  await page.waitForSelector(wait);
  if (ready) await page.waitForSelector(ready);
  if (act) await act(page);
  await page.waitForLoadState("networkidle");
  await page.addStyleTag({ content: `${VOLATILE} { visibility: hidden !important } * { caret-color: transparent !important; transition: none !important }` });
  await page.mouse.move(0, 0);
  await settle(page);
  const png = await page.screenshot();
  await context.close();
  return png;
}

/** Widths of some letters: the same fonts have the same. */
const lettersOf = (tab) =>
  tab.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d");
    return ["12px system-ui, sans-serif", "12px ui-monospace, monospace"].map((font) => {
      context.font = font;
      return ["Flame graph 0123", "JSON::parse_string", "wörk ▲ → −"].map((t) => Math.round(context.measureText(t).width * 100) / 100);
    }).flat();
  });

/** Share of pixels that differ; as a picture, the new one with what differs in red. */
const compare = (tab, a, b) =>
  tab.evaluate(async ([one, two, channel]) => {
    const load = async (text) => createImageBitmap(await (await fetch(`data:image/png;base64,${text}`)).blob());
    const [x, y] = await Promise.all([load(one), load(two)]);
    if (x.width !== y.width || x.height !== y.height) return { share: 1, sizes: `${x.width}×${x.height}, not ${y.width}×${y.height}` };
    const pixels = (image) => {
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d", { willReadFrequently: true });
      context.drawImage(image, 0, 0);
      return { context, data: context.getImageData(0, 0, image.width, image.height) };
    };
    const [p, q] = [pixels(x), pixels(y)];
    let n = 0;
    for (let i = 0; i < p.data.data.length; i += 4) {
      if ([0, 1, 2].every((c) => Math.abs(p.data.data[i + c] - q.data.data[i + c]) <= channel)) continue;
      n++;
      q.data.data.set([255, 0, 0, 255], i);
    }
    q.context.putImageData(q.data, 0, 0);
    const bytes = new Uint8Array(await (await q.context.canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
    return { share: n / (p.data.data.length / 4), marked: btoa(Array.from(bytes, (v) => String.fromCharCode(v)).join("")) };
  }, [a.toString("base64"), b.toString("base64"), CHANNEL]);

async function checkShot(tab, name, png, { renew, fonts, out }) {
  const file = join(FOLDER, `${name}.png`);
  if (renew) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, png);
    return "kept";
  }
  if (!existsSync(file)) throw new Skip("there is no picture yet: make shots");
  assert.ok(fonts, `letters have other widths than when the pictures were made: ${NEEDS}`);
  const { share, marked, sizes } = await compare(tab, readFileSync(file), png);
  if (share > SHARE && marked) writeFileSync(join(out, `${name}.png`), Buffer.from(marked, "base64"));
  assert.ok(share <= SHARE, sizes ?? `${(share * 100).toFixed(2)} % of the pixels differ, red in ${out}/${name}.png`);
  return `${(share * 100).toFixed(3)} % differ`;
}

export async function shotTests(browser, dir, renew = false) {
  if (!existsSync(VESTAL)) return test("pictures of the pages", () => Promise.reject(new Skip(`${VESTAL} is not built`)));
  const server = await startServer(join(dir, "shots"));
  const out = join(process.env.TMPDIR ?? "/tmp", "vestal-shots");
  mkdirSync(out, { recursive: true });
  const context = await browser.newContext({ bypassCSP: true });
  const tab = await context.newPage();
  const letters = JSON.stringify(await lettersOf(tab));
  const kept = join(FOLDER, "letters.json");
  const fonts = existsSync(kept) && readFileSync(kept, "utf8").trim() === letters;
  try {
    if (!/id="app"/.test(await (await fetch(server.url)).text())) return test("pictures of the pages", () => Promise.reject(new Skip("this program was built without npm")));
    await fillService(server.url, "shop", END);
    await fillService(server.url, "checkout", END, (i) => 0.6 + 0.2 * Math.sin(i / 4));
    await fillService(server.url, "search", END, (i) => (i < 30 ? 0.3 : 0.9));
    await pushTimed(server.url, END);
    for (const scheme of ["dark", "light"])
      for (const page of PAGES)
        await test(`${page.name}, ${scheme}, looks as it did`, async () => checkShot(tab, `${page.name}-${scheme}`, await shoot(browser, server.url, page, scheme), { renew, fonts, out }));
    if (renew) writeFileSync(kept, `${letters}\n`);
  } finally {
    await context.close();
    await stopServer(server);
  }
}
