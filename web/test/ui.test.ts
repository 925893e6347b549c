import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { diffCommand, vestalCommand } from "../src/ui/cli";
import { coverageText, findKind, kindParam, pointRate, rate, shareText, verdictText, type Amount, type Kind, type RateChange } from "../src/ui/kinds";
import { completed, completingAt, isWhole, parts, withMatcher, withoutValues } from "../src/ui/selector";
import { meanGap, niceStep, toGrid, type SeriesReply } from "../src/ui/series";
import { between, rangeLabel, shifted, toMs, utc, widened } from "../src/ui/time";
import { fromUrl, question, START, toUrl, type View } from "../src/ui/view";
import { score } from "../src/ui/shell/score";
import { decodeVft, diffOf, groupOf, Model, units } from "../src/flame";
import { writeVft } from "../../tests/browser/vft-writer.mjs";
import { baseTree, lines, modelOf } from "./helpers";

const roundTrip = (view: View): View => {
  const url = new URL(toUrl(view), "http://x");
  return fromUrl(url.pathname, url.search);
};

test("a view goes into its address and comes back", () => {
  assert.equal(toUrl(START), "/");
  assert.deepEqual(roundTrip(START), START);
  const view: View = {
    page: "explore", query: 'shop{commit=~"a.*+&b",env="\\"><script>"}', type: "process_cpu:cpu:nanoseconds:cpu:nanoseconds", from: "1731686400000", until: "now-5m",
    filters: [{ kind: "focus", text: "a|b=c&d" }, { kind: "hide", text: "ü+ 100%" }, { kind: "focus", text: "second" }, { kind: "show_from", text: "^main$" }],
    tags: ["thread=main#1"], rest: { view: "sandwich", fn: "std::vector<int, a&b>", zoom: "4503599627370495", q: "50 %?" },
  };
  assert.deepEqual(roundTrip(view), { ...view, filters: view.filters });
  assert.equal(toUrl(roundTrip(view)), toUrl(view));
});

test("an address from anywhere is taken as far as it makes sense", () => {
  assert.deepEqual(fromUrl("/explore/x", "?from=&until=&focus=&tag=&nonsense=1"), { ...START, page: "explore", rest: { nonsense: "1" } });
  assert.deepEqual(question(START), [["query", "{}"], ["from", "-1h"], ["until", "now"]]);
});

test("a selector knows what is being written", () => {
  const at = (text: string): [string, string, string] => {
    const cursor = text.indexOf("|");
    const c = completingAt(text.replace("|", ""), cursor);
    return [c.kind, c.written, c.label];
  };
  assert.deepEqual(at("che|"), ["service", "che", ""]);
  assert.deepEqual(at("checkout{|"), ["name", "", ""]);
  assert.deepEqual(at("checkout{com|"), ["name", "com", ""]);
  assert.deepEqual(at('checkout{commit="a|'), ["value", "a", "commit"]);
  assert.deepEqual(at('checkout{commit="a|bc"}'), ["value", "a", "commit"]);
  assert.deepEqual(at('checkout{commit="abc", e|'), ["name", "e", ""]);
  assert.deepEqual(at("{commit|}"), ["name", "commit", ""]);
  assert.deepEqual(at('{commit="abc"}|'), ["end", "", ""]);
  assert.deepEqual(at('{a="x",b=~"|'), ["value", "", "b"]);
});

test("a completion is put where it belongs", () => {
  const fill = (text: string, choice: string): string => completed(text, completingAt(text, text.length), choice).text;
  assert.equal(fill("che", "checkout"), "checkout");
  assert.equal(fill("checkout{com", "commit"), 'checkout{commit="');
  assert.equal(fill('checkout{commit="de', "def"), 'checkout{commit="def"}');
  assert.equal(fill('checkout{commit="', 'a"\\b'), 'checkout{commit="a\\"\\\\b"}');
  assert.equal(isWhole('a{b="}'), false);
  assert.equal(isWhole('a{b="{"}'), true);
});

test("matchers are added and replaced, text is split for colour without losing any", () => {
  assert.equal(withMatcher("shop", "env", "prod"), 'shop{env="prod"}');
  assert.equal(withMatcher('shop{env="prod",pod=~"a,b"}', "env", 'x"y'), 'shop{pod=~"a,b",env="x\\"y"}');
  assert.equal(withMatcher('shop{env="prod"}', "service_name", "cart"), 'cart{env="prod"}');
  for (const text of ["", "a", 'a{b="c",d!~"e"} x', 'a{b="c', "{{{", 'é{"'])
    assert.equal(parts(text).map((p) => p.text).join(""), text);
});

test("times of every kind, ranges in words", () => {
  const now = Date.UTC(2026, 10, 16, 12);
  assert.equal(toMs("now", now), now);
  assert.equal(toMs("-1h", now), now - 3600e3);
  assert.equal(toMs("now-15m", now), now - 900e3);
  for (const text of ["1794830400", "1794830400000", "1794830400000000", "1794830400000000000"]) assert.equal(toMs(text, now), 1794830400000);
  assert.ok(isNaN(toMs("soon", now)));
  assert.equal(rangeLabel("-1h", "now", now).text, "Last hour");
  assert.equal(rangeLabel("-90m", "now", now).text, "Last 90 minutes");
  assert.equal(rangeLabel("x", "y", now).text, "x – y");
  const yesterday = now - 36 * 3600e3;
  assert.match(between(yesterday, yesterday + 1200e3, now), /^\d{4}-\d\d-\d\d \d\d:\d\d – (\d{4}-\d\d-\d\d )?\d\d:\d\d$/);
  assert.equal(utc(now), "2026-11-16 12:00:00 UTC");
  assert.deepEqual(shifted(100, 200, -1), [0, 100]);
  assert.deepEqual(widened(100, 200, 200), [0, 200]);
});

test("rates are said in the words of their unit", () => {
  const cpu = { type: "cpu", unit: "nanoseconds" };
  assert.equal(rate(3.42e9, cpu), "3.42 cores");
  assert.equal(rate(1e9, cpu), "1 core");
  assert.equal(rate(4.2e6, cpu), "4.2 ms/s");
  assert.equal(rate(0, cpu), "0 cores");
  assert.equal(rate(null, cpu), "–");
  assert.equal(rate(1.2e9, { type: "off_cpu", unit: "nanoseconds" }), "1.2 s/s");
  assert.equal(rate((340 * 2 ** 20) / 600, { type: "alloc_space", unit: "bytes" }), "34 MiB/min");
  assert.equal(rate((340 * 2 ** 20) / 60, { type: "alloc_space", unit: "bytes" }), "5.67 MiB/s");
  assert.equal(rate(2 ** 30, { type: "inuse_space", unit: "bytes", gauge: true }), "1 GiB");
});

test("the examples of docs/numbers.md are what the pages say", () => {
  const page = readFileSync("../docs/numbers.md", "utf8");
  let said = 0;
  for (const [, name, words, result] of page.matchAll(/^(rate_text|amount_text|share_text) (.*?) =(?: (.*))?$/gm)) {
    const [type, unit, number] = words.split(" ");
    const value = Number(number ?? type);
    const text = name === "rate_text" ? rate(value, { type, unit }) : name === "amount_text" ? units.amount(value, { name: type, unit }) : shareText(value);
    assert.equal(text, result ?? "", `${name} ${words}`);
    said++;
  }
  assert.ok(said > 20);
});

test("a point is divided by the time it covers, and by nothing else", () => {
  assert.equal(pointRate(27e9, 60e9, false), 0.45e9);
  assert.equal(pointRate(27e9, 0, false), null);
  assert.equal(pointRate(null, 60e9, false), null);
  assert.equal(pointRate(12, 60e9, true), 12);
});

const amount = (rate: number | null, coverage: number | null = 1): Amount => ({ total: 1, rate, average: rate, covered_ns: 1, coverage });

test("a change is said with its verdict, and what has nothing before it says so", () => {
  const change = (verdict: RateChange["verdict"], share: number | null): RateChange => ({ before: amount(1), after: amount(2), change: 1, share, verdict, p_value: 0, test: "time_line" });
  assert.equal(verdictText(change("more", 3.2222)), "▲ 322 %");
  assert.equal(verdictText(change("less", -0.042)), "▼ 4.2 %");
  assert.equal(verdictText(change("noise", 0.01)), "No significant change");
  assert.equal(verdictText(change("no_earlier_data", null)), "No earlier data");
  assert.equal(verdictText(change("more", null)), "▲ from nothing");
  assert.equal(coverageText(amount(1, 1 / 6)), "while running · data for 16.7 % of the range");
  assert.equal(coverageText(amount(1, 0.97)), "");
  assert.equal(coverageText(amount(null, null)), "");
});

test("what is in no group of its own is asked for by what it is not", () => {
  assert.equal(withoutValues("shop", "pod", ["a", 'b"']), 'shop{pod!="a",pod!="b\\""}');
  assert.equal(withoutValues('{env="x"}', "pod", [""]), '{env="x",pod!=""}');
});

test("types are named by the shortest word that is theirs alone", () => {
  const kind = (id: string, name: string | null, type: string): Kind => ({ id, name, type, unit: "count", gauge: false });
  const all = [kind("a:samples:count::", null, "samples"), kind("b:samples:count::", null, "samples"), kind("process_cpu:cpu:ns:cpu:ns", "cpu", "cpu")];
  assert.deepEqual(all.map((k) => kindParam(k, all)), ["a:samples:count::", "b:samples:count::", "cpu"]);
  for (const k of all) assert.equal(findKind(all, kindParam(k, all)), k);
  assert.equal(findKind(all, ""), all[2]);
  assert.equal(findKind(all, "nope"), undefined);
});

test("series come on one grid; steps fit how often profiles come", () => {
  const reply = {
    type: "t", unit: "count", from_ns: 10e9, until_ns: 50e9, step_ns: 10e9,
    aggregate: "sum",
    series: [
      { ...amount(1), total: 4, labels: { c: "a" }, start_ns: 10e9, values: [1, null, 3], covered: [1e9, 0, 1e9] },
      { ...amount(1), total: 30, labels: {}, other: true, start_ns: 10e9, values: [30], covered: [10e9] },
      { ...amount(1), total: 18, labels: { c: "b" }, start_ns: 20e9, values: [5, 6, 7], covered: [1e9, 2e9, 1e9] },
    ] as SeriesReply["series"],
  };
  const grid = toGrid(reply, "c");
  assert.deepEqual(grid.times, [10e3, 20e3, 30e3, 40e3]);
  assert.deepEqual(grid.groups.map((g) => [g.name, ...g.values]), [["b", null, 5, 3, 7], ["a", 1, null, 3, null], ["other", 3, null, null, null]]);
  assert.deepEqual(toGrid({ ...reply, aggregate: "gauge" }, "c").groups[0].values, [null, 5, 6, 7]);
  assert.equal(meanGap([[1, null, null, 1, null, null, 1]]), 3);
  assert.equal(meanGap([[null, 1, null]]), 1);
  assert.equal(niceStep(15e3), 30e3);
  assert.equal(niceStep(3 * 86400e3), 3 * 86400e3);
});

test("the palette finds words by their beginning, then by their letters", () => {
  assert.equal(score("Copy a link", "link"), 0);
  assert.equal(score("Copy a link", "ink"), 1);
  assert.equal(score("Copy a link", "cpl"), 2);
  assert.equal(score("Copy a link", "xyz"), -1);
});

test("trees are grouped under a box of their own, tables and totals add up", () => {
  const one = modelOf([["main;work", 3], ["main;wait", 1]]);
  const two = modelOf([["main;work", 6]]);
  const model = groupOf([{ name: "web-1", model: one }, { name: "web-2", model: two }]);
  const tree = baseTree(model);
  assert.deepEqual(lines(tree, model), ["all 10/0", "all;web-1 4/0", "all;web-1;main 4/0", "all;web-1;main;wait 1/1", "all;web-1;main;work 3/3", "all;web-2 6/0", "all;web-2;main 6/0", "all;web-2;main;work 6/6"]);
  assert.deepEqual(model.totals, [10]);
  const work = model.funcRow[model.findFunction("work", "")];
  assert.equal(model.vft.table.total[0][work], 9);
  // Other lines of the same function are the same row.
  const at = (line: number): Model => new Model(decodeVft(writeVft([{ stack: [{ name: "f", module: "m", line }], values: [line] }]).buffer));
  const lined = groupOf([{ name: "a", model: at(3) }, { name: "b", model: at(7) }]);
  assert.equal(lined.vft.table.count, 1);
  assert.deepEqual([...lined.vft.table.self[0]], [10]);
  assert.equal(diffOf(at(3), at(7), ["a", "b"])?.vft.table.count, 1);
});

test("a view is a command for a terminal, a diff is one of two files", () => {
  const view: View = { ...START, query: 'shop{env="prod"}', from: "-1h", filters: [{ kind: "show_from", text: "it's" }], tags: ["thread=main"] };
  assert.equal(vestalCommand(view, "cpu", "http://127.0.0.1:4040"), `vestal query 'shop{env="prod"}' --type cpu --from -1h --show-from 'it'\\''s' --tag thread=main`);
  const side = (from: string): { query: string; from: string; until: string } => ({ query: "shop", from, until: "200" });
  const words = diffCommand({ ...START, filters: [{ kind: "focus", text: "a b" }], rest: { norm: "0" } }, side("100"), side("150"), "t:cpu", "http://h:1").split(" ");
  assert.deepEqual(words, ["vestal", "diff", "'http://h:1/api/v1/export?query=shop&type=t%3Acpu&from=100&until=200&focus=a+b&format=pprof'", "'http://h:1/api/v1/export?query=shop&type=t%3Acpu&from=150&until=200&focus=a+b&format=pprof'", "--no-normalise"]);
});
