// The report as people get it: from a server, under the policy it sends along, and from disk as
// `vestal flame` wrote it. A violation of a policy is an error on the console, and none may be there.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { open } from "./browser.mjs";
import { genericTests } from "./generic.test.mjs";
import { Skip, test } from "./tap.mjs";

const VESTAL = process.env.VESTAL ?? fileURLToPath(new URL("../../build/vestal", import.meta.url));
const STACKS = ["main;http::serve;cart::load;JSON::parse_object 50", "main;http::serve;cart::load 20", "main;http::serve;pricing::apply 15", "main;idle 8", "main;<script>alert(1)</script> 5", ""].join("\n");

async function startServer(dir) {
  const server = spawn(VESTAL, ["server", "--memory", "--listen", "127.0.0.1:0", "--otlp-grpc", "none", "--otlp-http", "none"], { cwd: dir, stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: server.stderr })) {
    const found = line.match(/server on (\S+),/);
    if (found) return { server, url: found[1] };
    throw new Error(line);
  }
  throw new Error("the server ended");
}

export async function servedTests(browser, dir) {
  if (!existsSync(VESTAL)) return test("a report from a server", () => Promise.reject(new Skip(`${VESTAL} is not built`)));
  const { server, url } = await startServer(dir);
  server.stderr.resume();
  try {
    const reply = await fetch(`${url}/api/v1/profiles?service=shop`, { method: "POST", body: STACKS });
    assert.equal(reply.status, 200);
    const report = `${url}/api/v1/export?query=shop&format=html`;
    await test("the server sends a policy with a report, and it is not a wide one", async () => {
      const policy = (await fetch(report)).headers.get("content-security-policy");
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /sandbox allow-scripts/);
      assert.doesNotMatch(policy, /unsafe-eval|https?:|\*/);
    });
    await test("a policy that is violated would be noticed", async () => {
      const { page, done } = await open(browser, report);
      await page.evaluate(() => fetch("/ready").catch(() => 0));
      await assert.rejects(done, (e) => /Content Security Policy/i.test(String(e.actual)));
    });
    await genericTests(browser, report);
    await test("the first page of the server violates nothing", async () => {
      const context = await browser.newContext();
      const first = await context.newPage();
      const errors = [];
      first.on("console", (m) => ["error", "warning"].includes(m.type()) && errors.push(m.text()));
      first.on("pageerror", (e) => errors.push(String(e)));
      await first.goto(url);
      assert.ok((await first.title()).length > 0);
      await context.close();
      assert.deepEqual(errors, []);
    });
  } finally {
    server.kill("SIGTERM");
  }
  const folded = join(dir, "shop.folded");
  const file = join(dir, "shop.html");
  writeFileSync(folded, STACKS);
  const done = spawnSync(VESTAL, ["flame", "-f", folded, "-o", file], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  await genericTests(browser, file);
}
