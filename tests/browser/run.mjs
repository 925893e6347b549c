// node run.mjs                 the report on known profiles (needs web/dist/flame.html)
// node run.mjs --html FILE...  what must hold for any report
// node run.mjs --ui            Explore, served
// node run.mjs --pages         the other pages
// node run.mjs --numbers       every page says the numbers that are true
// node run.mjs --zones         the same numbers and true times in other time zones
// node run.mjs --shots         every page as a picture; with --renew the pictures of shots/ are made anew
// ONLY=words node run.mjs ...  the tests whose name contains the words
// --large adds frame times at a million boxes. Output: TAP.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { genericTests } from "./generic.test.mjs";
import { reportTests } from "./report.test.mjs";
import { servedTests } from "./served.test.mjs";
import * as samples from "./samples.mjs";
import { finish, Skip, test } from "./tap.mjs";
import { numbersTests } from "./numbers.test.mjs";
import { pagesTests } from "./pages.test.mjs";
import { shotTests } from "./shots.test.mjs";
import { uiTests } from "./ui.test.mjs";
import { fillTemplate, writeVft } from "./vft-writer.mjs";
import { zonesTests } from "./zones.test.mjs";

const args = process.argv.slice(2);
const files = args.includes("--html") ? args.slice(args.indexOf("--html") + 1) : [];
const template = fileURLToPath(new URL("../../web/dist/flame.html", import.meta.url));

function makePages(dir) {
  const html = readFileSync(template, "utf8");
  const write = (name, text) => {
    const file = join(dir, `${name}.html`);
    writeFileSync(file, text);
    return file;
  };
  const page = (name, vft, title = name) => write(name, fillTemplate(html, vft, title));
  const data = (name, base64) => write(name, html.replace("<!--VESTAL-DATA-->", `<script type="application/octet-stream" id="vestal-data">${base64}</script>`));
  const small = writeVft(samples.small, samples.smallOptions);
  const base64 = fillTemplate("<!--VESTAL-DATA-->", small, "").match(/>(.*)</)[1];
  const marked = (bytes) => {
    const copy = small.slice();
    copy.set(bytes);
    return copy;
  };
  return {
    small: page("small", small, "small & <fine>"),
    diff: page("diff", writeVft(samples.diff, samples.diffOptions)),
    deep: page("deep", writeVft(samples.deep(2000))),
    nothing: page("nothing", writeVft([{ stack: ["main"], values: [0] }])),
    empty: write("empty", html),
    injected: write("injected", fillTemplate(html, small, "x").replace("</title>", "</title><script>window.injected = 1</script>")),
    cut: data("cut", base64.slice(0, 400)),
    text: data("text", "this is !! not base64"),
    magic: page("magic", marked([0x50, 0x4b])),
    version: page("version", marked([0x56, 0x46, 0x54, 0x39])),
    large: page("large", writeVft(samples.large(100_000))),
    ...(args.includes("--large") ? { huge: page("huge", writeVft(samples.large(1_000_000))), full: page("full", writeVft(samples.large(1_000_000, true))) } : {}),
  };
}

const { browser, skip } = await launch();
const dir = mkdtempSync(join(tmpdir(), "vestal-browser-"));
try {
  const missing = skip ?? (files.length === 0 && !existsSync(template) ? "web/dist/flame.html is not built (npm run build in web)" : "");
  if (missing) await test("report in a browser", () => Promise.reject(new Skip(missing)));
  else if (files.length > 0) for (const file of files) await genericTests(browser, file);
  else if (args.includes("--ui")) await uiTests(browser, dir, args.includes("--large"));
  else if (args.includes("--pages")) await pagesTests(browser, dir);
  else if (args.includes("--numbers")) await numbersTests(browser, dir);
  else if (args.includes("--zones")) await zonesTests(browser, dir);
  else if (args.includes("--shots")) await shotTests(browser, dir, args.includes("--renew"));
  else {
    await reportTests(browser, makePages(dir));
    await servedTests(browser, dir);
    await uiTests(browser, dir, args.includes("--large"));
    await pagesTests(browser, dir);
    await numbersTests(browser, dir);
    await zonesTests(browser, dir);
    await shotTests(browser, dir);
  }
} finally {
  await browser?.close();
  rmSync(dir, { recursive: true });
}
process.exitCode = finish();
