// A real server filled with profiles, for the tests of the served page.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { writePprof } from "./pprof-writer.mjs";

export const VESTAL = process.env.VESTAL ?? fileURLToPath(new URL("../../build/vestal", import.meta.url));
export const HOSTILE = `"><script>window.injected=1</script><img src=x onerror="window.injected=2">`;

/** Starts a server; `port` 0 takes a free one. */
export async function startServer(dir, { port = 0, args = [], memory = false } = {}) {
  mkdirSync(dir, { recursive: true });
  const where = memory ? ["--memory"] : ["--data", join(dir, "data")];
  const child = spawn(VESTAL, ["server", ...where, "--listen", `127.0.0.1:${port}`, "--otlp-grpc", "none", "--otlp-http", "none", ...args], { cwd: dir, stdio: ["ignore", "ignore", "pipe"] });
  const lines = createInterface({ input: child.stderr });
  for await (const line of lines) {
    const found = line.match(/server on (\S+),/);
    if (!found) throw new Error(line);
    child.stderr.resume();
    return { child, url: found[1], port: Number(new URL(found[1]).port) };
  }
  throw new Error("the server ended");
}

export async function stopServer({ child }) {
  if (child.exitCode !== null) return;
  const ended = new Promise((r) => child.once("exit", r));
  child.kill("SIGTERM");
  await ended;
}

const frame = (name, module, file, line) => ({ name, module, file, line });
const FRAMES = {
  main: frame("main", "shop", "/src/shop/main.cc", 12), serve: frame("http::serve", "libhttp.so", "/src/http/serve.cc", 88),
  load: frame("cart::load", "shop", "/src/shop/cart.cc", 31), apply: frame("pricing::apply", "shop", "/src/shop/price.cc", 7),
  parse: frame("JSON::parse", "libjson.so", "/src/json/json.cc", 90), parse2: frame("JSON::parse", "libjson.so", "/src/json/json.cc", 97),
  malloc: frame("malloc", "libc.so.6", "", 0), send: frame("tcp_sendmsg", "[kernel]", "", 0), wait: frame("epoll_wait", "libc.so.6", "", 0),
};
/** Half a core; JSON::parse holds 50 % before and 70 % after the deployment. */
const stacks = (after) => [
  [["main", "serve", "load", "parse"], after ? 50 : 30], [["main", "serve", "load", "parse2"], 10], [["main", "serve", "apply", "parse"], 10],
  [["main", "serve", "apply", "malloc"], after ? 10 : 20], [["main", "serve", "send"], after ? 15 : 25], [["main", "wait"], 5],
];

export async function push(url, body, params) {
  const reply = await fetch(`${url}/api/v1/profiles?${new URLSearchParams(params)}`, { method: "POST", body });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
}

export const MINUTES = 40;

/** Forty minutes of a service that end at `now`, a profile a minute, with a deployment in the middle; one pod after the other. */
export async function fillService(url, service, now, factor = () => 1) {
  for (let i = 0; i < MINUTES; i++) {
    const after = i >= MINUTES / 2;
    const timeMs = now - (MINUTES - i) * 60e3;
    const samples = stacks(after).map(([names, share]) => ({ stack: names.map((n) => FRAMES[n]), values: [share * 30, share * 3e8].map((v) => Math.round(v * factor(i))) }));
    const profile = writePprof(samples, { types: [["samples", "count"], ["cpu", "nanoseconds"]], timeMs, durationMs: 60e3 });
    await push(url, profile, [["service", service], ["label", `commit=${after ? "def456" : "abc123"}`], ["label", `pod=web-${Math.floor((i * 3) / MINUTES)}`]]);
  }
}

/** The last forty minutes of "shop". */
export async function fillShop(url, now = Date.now()) {
  await fillService(url, "shop", now);
  await push(url, "main;idle 5\n", [["service", "odd"], ["label", `customer=${HOSTILE}`]]);
}

/** Ten seconds of "beat" that end at `end`: `early` in the first half of every second, `late` in the other. */
export async function pushTimed(url, end) {
  const strings = ["", "main", "early", "late", "cpu", "nanoseconds"];
  const start = end - 10_000;
  const times = (offset) => Array.from({ length: 10 }, (_, s) => Array.from({ length: 20 }, (_, i) => `${start + s * 1000 + offset + i * 20}000000`)).flat();
  const sample = (stackIndex, offset) => ({ stackIndex, values: times(offset).map(() => "20000000"), timestampsUnixNano: times(offset) });
  const body = {
    resourceProfiles: [{ resource: { attributes: [{ key: "service.name", value: { stringValue: "beat" } }] }, scopeProfiles: [{ scope: {}, profiles: [{
      sampleType: { typeStrindex: 4, unitStrindex: 5 }, periodType: { typeStrindex: 4, unitStrindex: 5 }, period: "20000000", timeUnixNano: `${start}000000`, durationNano: "10000000000", samples: [sample(1, 0), sample(2, 500)],
    }] }] }],
    dictionary: {
      mappingTable: [{}], linkTable: [{}], attributeTable: [{}], stringTable: strings, functionTable: [{}, ...[1, 2, 3].map((nameStrindex) => ({ nameStrindex }))],
      locationTable: [{}, ...[1, 2, 3].map((functionIndex) => ({ lines: [{ functionIndex }] }))], stackTable: [{}, { locationIndices: [2, 1] }, { locationIndices: [3, 1] }],
    },
  };
  const reply = await fetch(`${url}/v1development/profiles`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
}

/** What a sender says of `service` in a minute that begins at `timeMs`: [text, count, ns] as "cpu;lost: ring full". */
export async function pushCompleteness(url, service, timeMs, said) {
  const strings = ["", "completeness", "count", "completeness_samples", "completeness_time", "nanoseconds", ...new Set(said.flatMap(([text]) => text.split(";")))];
  const profile = (type, unit, at) => ({
    sampleType: { typeStrindex: type, unitStrindex: unit }, periodType: { typeStrindex: 1, unitStrindex: 2 }, period: "1", timeUnixNano: `${timeMs}000000`, durationNano: "60000000000",
    samples: said.flatMap((one, i) => (one[at] ? [{ stackIndex: i + 1, values: [String(one[at])] }] : [])),
  });
  const body = {
    resourceProfiles: [{ resource: { attributes: [{ key: "service.name", value: { stringValue: service } }] }, scopeProfiles: [{ scope: {}, profiles: [profile(3, 2, 1), profile(4, 5, 2)] }] }],
    dictionary: {
      mappingTable: [{}], linkTable: [{}], attributeTable: [{}], stringTable: strings, functionTable: [{}, ...strings.slice(6).map((_, i) => ({ nameStrindex: i + 6 }))],
      locationTable: [{}, ...strings.slice(6).map((_, i) => ({ lines: [{ functionIndex: i + 1 }] }))],
      stackTable: [{}, ...said.map(([text]) => ({ locationIndices: text.split(";").reverse().map((name) => strings.indexOf(name) - 5) }))],
    },
  };
  const reply = await fetch(`${url}/v1development/profiles`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
}

/** A profile that a real program left: node's own, of a small job. */
export function recordNode(dir) {
  const folder = mkdtempSync(join(dir, "node-"));
  const job = join(folder, "job.js");
  writeFileSync(job, "let n = 0; function spin(k) { return k === 0 ? 0 : 1 + spin(k - 1); } while (process.cpuUsage().user < 400e3) { for (let i = 0; i < 5000; i++) n += spin(30); JSON.parse(JSON.stringify({ n, a: Array(50).fill(n) })); }");
  const done = spawnSync(process.execPath, ["--cpu-prof", "--cpu-prof-dir", folder, job], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  return join(folder, readdirSync(folder).find((f) => f.endsWith(".cpuprofile")));
}
