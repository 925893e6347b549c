import assert from "node:assert/strict";
import { test } from "node:test";
import { change, decodeVft, diffOf, judged, Model } from "../src/flame";
import { areaPath, linePath, mostOf } from "../src/ui/charts/paths";
import { completenessOf, lacks, lacksOfBoth } from "../src/ui/completeness";
import { finest, rangeAround, sideNames, sidesOf, versionPairs, whenLabel, whenOf } from "../src/ui/diff/sides";
import { serviceName } from "../src/ui/files/opened";
import { around, orderedBy } from "../src/ui/function/near";
import { aligned, blockOf, blockText, cellsParam, columnFor, cornersOf, readBlock, strengthOf, sumOf, toHeat } from "../src/ui/heatmap/grid";
import { changed, ordered, toOverview, usageIn } from "../src/ui/overview/data";
import { counter, flowOf, parseMetrics, perSecond } from "../src/ui/status/data";
import { START, type View } from "../src/ui/view";
import { prunedText, wantsMore } from "../src/ui/whole";
import { writeVft } from "../../tests/browser/vft-writer.mjs";
import { baseTree, lines, modelOf } from "./helpers";

const amount = (rate: number | null) => ({ total: 1, rate, average: rate, covered_ns: 60e9, coverage: 1 });
const usage = (id: string, rate: number, verdict = "noise", before = 1, after = 1) => ({
  type: id, name: null, sample_type: id.split(":")[1], unit: "nanoseconds", aggregate: "sum", ...amount(rate), points: [1, null, 2], covered: [1e9, 0, 2e9],
  change: { before: amount(before), after: amount(after), change: after - before, share: after / before - 1, verdict: verdict as "noise", p_value: 0.5, test: "time_line" },
});

test("services are ranked by what they use, and what changed is said once for each", () => {
  const { services } = toOverview({ step_ms: 60e3, cpu: { total: 3, rate: 3, average: 3, covered_ns: 1e9, coverage: 1 }, services: [
    { service: "a", last_seen: 5, types: [usage("process_cpu:cpu:nanoseconds:cpu:nanoseconds", 1), usage("off_cpu:off_cpu:nanoseconds::", 9, "more", 1, 4)] },
    { service: "b", last_seen: 5, types: [usage("process_cpu:cpu:nanoseconds:cpu:nanoseconds", 3, "less", 5, 3), usage("off_cpu:off_cpu:nanoseconds::", 2, "more", 1, 9)] },
    { service: "c", types: [] },
  ] });
  assert.deepEqual(ordered(services, "cpu").map((s) => s.name), ["b", "a", "c"]);
  assert.deepEqual(ordered(services, "waiting").map((s) => s.name), ["a", "b", "c"]);
  assert.deepEqual(ordered(services, "name").map((s) => s.name), ["a", "b", "c"]);
  assert.equal(usageIn(services[0], "waiting")?.amount.rate, 9);
  assert.equal(usageIn(services[0], "memory"), undefined);
  assert.ok(isNaN(services[2].lastSeen));
  assert.deepEqual(changed(services, 9).map((c) => [c.service.name, c.usage.kind.type]), [["b", "cpu"], ["a", "off_cpu"]]);
  assert.equal(changed(services, 1).length, 1);
});

test("the numbers of a service are the server's, and its points are rates", () => {
  const gauge = { ...usage("memory:inuse_space:bytes::", 8), aggregate: "gauge" };
  const { services } = toOverview({ step_ms: 60e3, cpu: { total: 3, rate: 3, average: 3, covered_ns: 1e9, coverage: 1 }, services: [{ service: "a", types: [usage("process_cpu:cpu:nanoseconds:cpu:nanoseconds", 3), gauge] }] });
  assert.equal(services[0].usages[0].amount.rate, 3);
  assert.deepEqual(services[0].usages[0].points, [1, null, 1]);
  assert.deepEqual(services[0].usages[1].points, [1, null, 2]);
});

const FULL = { reported: true, text: "99.2% of samples kept; 0.8% lost: ring full" };

test("what did not arrive is said in the server's words, and nothing where nobody reports", () => {
  assert.equal(lacks(completenessOf({ completeness: { ...FULL, kept_share: 0.992 } })), FULL.text);
  assert.equal(lacks(completenessOf({ completeness: { reported: true, text: "" } })), "");
  assert.equal(lacks(completenessOf({ completeness: { ...FULL, reported: false } })), "");
  for (const nothing of [undefined, null, {}, { completeness: null }, { completeness: { reported: true } }, { completeness: { reported: "yes", text: "x" } }]) assert.equal(completenessOf(nothing), undefined);
  const { services } = toOverview({ step_ms: 60e3, cpu: { total: 1, rate: 1, average: 1, covered_ns: 1e9, coverage: 1 }, services: [{ service: "a", types: [usage("process_cpu:cpu:nanoseconds:cpu:nanoseconds", 1), { ...usage("off_cpu:off_cpu:nanoseconds::", 1), completeness: FULL }] }] });
  assert.deepEqual(services[0].usages.map((u) => u.lacking), ["", FULL.text]);
});

test("both sides of a comparison say what they lack, once when it is the same", () => {
  const other = { reported: true, text: "not measured 25% of the time: cpu budget" };
  assert.equal(lacksOfBoth(undefined, undefined), "");
  assert.equal(lacksOfBoth(FULL, FULL), FULL.text);
  assert.equal(lacksOfBoth(undefined, FULL), `after: ${FULL.text}`);
  assert.equal(lacksOfBoth(other, FULL), `before: ${other.text} · after: ${FULL.text}`);
});

const at = (rest: Record<string, string>, more: Partial<View> = {}): View => ({ ...START, page: "diff", query: "shop", from: "-1h", rest, ...more });
const NOW = 1_800_000_000_000;

test("the earlier side is the time before, the same time earlier, or what the address says", () => {
  const hour = 3600e3;
  const times = (v: View): number[] => {
    const { before, after } = sidesOf(v, NOW);
    return [before.from, before.until, after.from, after.until].map((t) => (Number(t) - NOW) / hour);
  };
  assert.deepEqual(times(at({})), [-2, -1, -1, 0]);
  assert.deepEqual(times(at({ vs: "1d" })), [-25, -24, -1, 0]);
  assert.deepEqual(times(at({ vs: "7d" })), [-169, -168, -1, 0]);
  assert.deepEqual(times(at({ base: "other" })), [-1, 0, -1, 0]);
  assert.deepEqual(times(at({ base: "other", vs: "before" })), [-2, -1, -1, 0]);
  assert.deepEqual(times(at({ bfrom: String(NOW - 5 * hour), buntil: String(NOW - 4 * hour), vs: "1d" })), [-5, -4, -1, 0]);
  assert.equal(whenOf(at({ vs: "nonsense" })), "before");
  assert.equal(whenOf(at({ vs: "toString" })), "before");
  assert.equal(whenLabel(at({ vs: "1d" }), NOW).text, "A day earlier");
  assert.equal(sidesOf(at({ base: "x" }), NOW).before.query, "x");
});

test("versions make pairs, the newest first", () => {
  const v = (time: number, label: string, value: string) => ({ time, label, value, service: "s", first: false });
  assert.deepEqual(versionPairs([v(3, "commit", "c"), v(1, "commit", "a"), v(2, "commit", "b"), v(9, "version", "1"), v(10, "version", "2"), v(4, "env", "x")]), [
    { label: "version", before: "1", after: "2", time: 10 }, { label: "commit", before: "b", after: "c", time: 3 }, { label: "commit", before: "a", after: "b", time: 2 },
  ]);
  // One that came back is not its own past.
  assert.deepEqual(versionPairs([v(1, "commit", "a"), v(2, "commit", "b"), v(3, "commit", "a")]).map((p) => [p.before, p.after]), [["b", "a"]]);
});

test("versions stand in the order in which they came, as exactly as any answer knows it", () => {
  const v = (time: number, value: string, first = false) => ({ time, label: "version", value, service: "s", first });
  // A month's answer rounds to hours: 2 looks older than 9 although it came after it.
  const month = [v(0, "1", true), v(300, "2"), v(300, "9")];
  const hour = [v(310, "9", true), v(345, "2"), v(350, "3")];
  const day = [v(330, "9"), v(340, "2")];
  const found = finest([month, day, hour]);
  assert.deepEqual(found.map((x) => [x.value, x.time]), [["1", 0], ["2", 345], ["9", 330], ["3", 350]]);
  assert.deepEqual(versionPairs(found).map((p) => [p.before, p.after]), [["2", "3"], ["9", "2"]]);
});

test("the sides of a diff are called by what differs", () => {
  const now = Date.UTC(2026, 10, 16, 12);
  const side = (query: string, from: number) => ({ query, from: String(now - from * 60e3), until: String(now - (from - 5) * 60e3) });
  const names = (a: string, b: string): string[] => sideNames(side(a, 10), side(b, 10), now);
  assert.ok(sideNames(side("shop", 10), side("shop", 5), now).every((n) => /^\d\d:\d\d(:\d\d)? – \d\d:\d\d(:\d\d)?$/.test(n)));
  assert.deepEqual(names('shop{commit="abc",env="x"}', 'shop{commit="abd",env="x"}'), ["abc", "abd"]);
  assert.deepEqual(names('shop{v="1"}', 'shop{v="10"}'), ["1", "10"]);
  assert.deepEqual(names("shop", "cart"), ["shop", "cart"]);
  assert.deepEqual(names('shop{a="1",b="2"}', 'shop{a="2",b="1"}'), ['shop{a="1",b="2"}', 'shop{a="2",b="1"}']);
  assert.match(sideNames(side("a", 10), side("b", 5), now)[0], /^a, /);
});

test("two versions are compared over a range that has both", () => {
  const hour = 3600e3;
  assert.equal(rangeAround(5 * hour, 4 * hour, 6 * hour, 6 * hour), null);
  assert.deepEqual(rangeAround(50 * hour, 99 * hour, 100 * hour, 100 * hour), [44 * hour, 56 * hour]);
  assert.deepEqual(rangeAround(98 * hour, 99 * hour, 100 * hour, 100 * hour), [92 * hour, 100 * hour]);
});

test("the first picture is enough when it leaves out next to nothing; what it leaves out is always said", () => {
  const meta = (prunedShare: number, nodesPruned = prunedShare > 0 ? 3 : 0) => modelOf([["main", 1]], { meta: { pruned_share: prunedShare, nodes_pruned: nodesPruned } }).meta;
  assert.equal(wantsMore(meta(0), 10), false);
  assert.equal(wantsMore(meta(0.0005), 10), false);
  assert.equal(wantsMore(meta(0.3), 10), true);
  assert.equal(wantsMore({ ...meta(0), functionsTotal: 5000 }, 4096), true);
  assert.equal(wantsMore({ ...meta(0), functionsTotal: 50_000 }, 20_000), false);
  assert.equal(prunedText(meta(0)), "nothing pruned");
  assert.equal(prunedText(meta(0.281)), "28.1 % of value pruned");
  assert.equal(prunedText(meta(0.281), true), "28.1 % of value pruned, more boxes are coming");
});

test("two trees become the two sides of a diff", () => {
  const before = modelOf([["main;f;g", 10], ["main;old", 5], ["main;f", 1]]);
  const after = modelOf([["main;new", 4], ["main;f;g", 20]]);
  const both = diffOf(before, after, ["a", "b"]) as Model;
  assert.ok(both.meta.diff);
  assert.deepEqual(both.meta.names, ["a", "b"]);
  assert.deepEqual(lines(baseTree(both, false), both), ["all 16,24/0,0", "all;main 16,24/0,0", "all;main;f 11,20/1,0", "all;main;f;g 10,20/10,20", "all;main;new 0,4/0,4", "all;main;old 5,0/5,0"]);
  const row = both.funcRow[both.findFunction("f", "")];
  assert.deepEqual(both.vft.table.total.map((t) => t[row]), [11, 20]);
  assert.deepEqual(both.vft.table.self.map((t) => t[row]), [1, 0]);
  const scaled = baseTree(both);
  assert.ok(Math.abs(scaled.total[0][0] - scaled.total[1][0]) < 1e-9);
  const memory = modelOf([["main", 1]], { types: [{ name: "inuse_space", unit: "bytes" }] });
  assert.equal(diffOf(before, memory, ["a", "b"]), null);
});

test("verdicts of the server are read, checked and believed", () => {
  const bytes = writeVft([{ stack: ["main", "f"], values: [10, 20] }], { diff: true, verdicts: [0, 1] });
  const { verdicts } = decodeVft(bytes.buffer).table;
  assert.deepEqual([...(verdicts?.verdict ?? [])], [0, 1]);
  assert.equal(verdicts?.shareError[0], 0.02);
  assert.equal(decodeVft(writeVft([{ stack: ["main"], values: [1, 2] }], { diff: true }).buffer).table.verdicts, null);
  assert.throws(() => decodeVft(writeVft([{ stack: ["main"], values: [1, 2] }], { diff: true, verdicts: [6] }).buffer), /verdict of row 0/);
  assert.throws(() => decodeVft(bytes.buffer.slice(0, bytes.length - 24)), /ends inside its verdicts/);
  const c = change(100, 900, 1000, 1000, { before: 0, after: 0 });
  assert.equal(judged(c, 0, false).noise, true);
  assert.deepEqual([judged(c, 1, false).mark, judged(c, 1, true).mark, judged(c, 3, true).mark], ["more", "less", "removed"]);
  assert.equal(judged(c, 5, false), c);
});

const heat = toHeat({ from_ns: 1000e9, until_ns: 1003e9, column_ns: 1e9, row_ns: 500e6, columns: 3, rows: 2, untimed: 7, cells: [1, 0, 4, 2, 0, 8] });

test("cells are chosen as blocks of time", () => {
  assert.equal(heat.total, 15);
  const block = blockOf(heat, [2, 1], [1, 0]);
  assert.deepEqual(block, { from: 1001e3, until: 1003e3, low: 0, high: 1000 });
  assert.equal(sumOf(heat, block), 14);
  assert.deepEqual(cornersOf(heat, block), [1, 0, 3, 2]);
  assert.deepEqual(readBlock(blockText(block)), block);
  assert.equal(cellsParam(block), "1001000:0:1000:2000");
  assert.deepEqual(blockOf(heat, [-4, 0], [99, 0]), { from: 1000e3, until: 1003e3, low: 0, high: 500 });
  // What lies outside of the map counts for nothing.
  assert.equal(sumOf(heat, { from: 0, until: 1001e3, low: 0, high: 500 }), 1);
  for (const bad of ["", "x", "1+0:0-20", "1+5:20-20", "1+5:0-1001", "1+5:0", undefined]) assert.equal(readBlock(bad), null);
});

test("columns are a second as long as they can be hit", () => {
  assert.equal(columnFor(300e3, 1200, 2), 1000);
  assert.equal(columnFor(3600e3, 1200, 2), 10e3);
  assert.deepEqual(aligned(1234, 5678, 1000), [1000, 6000]);
  assert.deepEqual(aligned(1000, 1000, 1000), [1000, 2000]);
  assert.equal(strengthOf(0, 8), 0);
  assert.equal(strengthOf(99, 8), 1);
  assert.ok(strengthOf(0.001, 8) >= 0.12);
});

test("lines break where nothing was measured", () => {
  assert.equal(linePath([0, null, 2], 10, 12, 2), "M0.0,11.0h4.0M8.0,1.0h4.0");
  assert.equal(linePath([0, 2], 10, 12, 2), "M0.0,11.0L10.0,1.0");
  assert.equal(areaPath([0, 2], 10, 12, 2), "M0.0,11.0L10.0,1.0L10.0,12L0.0,12Z");
  assert.equal(linePath([], 10, 12, 1), "");
  // Every second point is how often profiles come; three without one are a gap.
  assert.equal(linePath([1, null, 1, null, 1, null, 1, null, null, null, 1, null, 1], 12, 12, 1).match(/M/g)?.length, 2);
  assert.equal(linePath([1, 1, 1, 1, null, 1, 1, 1, 1], 8, 12, 1).match(/M/g)?.length, 2);
  assert.equal(mostOf([1, null, 3], [2]), 3);
});

test("a function's neighbours are found by name, in every module", () => {
  const model = modelOf([["main;f;g", 6], ["other;f", 2], ["f", 2]]);
  const near = around(model, "f");
  assert.equal(near?.total, 10);
  assert.equal(near?.self, 4);
  assert.deepEqual(near?.callers, [{ name: "main", share: 0.6 }, { name: "other", share: 0.2 }, { name: "", share: 0.2 }]);
  assert.deepEqual(near?.callees, [{ name: "g", share: 0.6 }]);
  assert.equal(around(model, "nope"), null);
});

test("labels that say something about a function come first", () => {
  const part = (value: string, total: number) => ({ value, total, self: 0 });
  const by = orderedBy({ "service.name": [part("a", 1)], zone: [part("x", 1), part("y", 2)], same: [part("one", 3)], commit: [part("", 3)], service_name: [part("a", 1), part("b", 2)], "thread.name": [part("t", 3)] });
  assert.deepEqual(by.map(([name, list]) => [name, ...list.map((p) => p.value)]), [["service_name", "b", "a"], ["thread.name", "t"], ["zone", "y", "x"]]);
});

test("a file's name becomes a service's", () => {
  assert.equal(serviceName("cpu-checkout.pb.gz"), "cpu-checkout");
  assert.equal(serviceName("/tmp/a b/My Profile.cpuprofile"), "My-Profile");
  assert.equal(serviceName(".pb.gz"), "file");
});

test("the server's counters make rates", () => {
  const text = "# HELP x\nvestal_samples_total 10\nvestal_requests_failed_total{code=\"a b\"} 2\nvestal_requests_failed_total{code=\"c\"} 3\nvestal_received_bytes_total 5e3\n";
  assert.equal(counter(parseMetrics(text), "vestal_requests_failed_total"), 5);
  assert.deepEqual(flowOf(text), { samples: 10, bytes: 5000, uploads: 0, refused: 5 });
  const a = { time: 0, totals: flowOf(text) };
  assert.deepEqual(perSecond(a, { time: 2000, totals: { samples: 30, bytes: 5000, uploads: 1, refused: 0 } }), { samples: 10, bytes: 0, uploads: 0.5, refused: 0 });
});
