// Bundles test/*.test.ts with esbuild and runs them with node's own test runner (Node 18 knows no TypeScript).
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const out = mkdtempSync(join(tmpdir(), "vestal-web-test-"));
const tests = readdirSync("test").filter((f) => f.endsWith(".test.ts"));
await build({ entryPoints: tests.map((f) => `test/${f}`), bundle: true, platform: "node", format: "esm", outdir: out, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const { status } = spawnSync(process.execPath, ["--test", ...tests.map((f) => join(out, f.replace(/\.ts$/, ".mjs")))], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(status ?? 1);
