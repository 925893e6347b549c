import assert from "node:assert/strict";
import { test } from "node:test";
import { briefName, withoutParameters, withoutTemplates } from "../src/bench/functions";
import { change, hitsByWeight, matched, matchFrames, noiseLimit, strength, units } from "../src/flame";
import { DARK, LIGHT, frameColours, luminance, tints } from "../src/flame/colour";
import { fromParams, initialState, toParams } from "../src/bench/state";
import { baseTree, modelOf, nodeOf } from "./helpers";

test("search is a substring without case, matches count once", () => {
  const model = modelOf([["main;Parse;parse_one", 4], ["main;parse_two", 1], ["main;other", 5]]);
  const tree = baseTree(model);
  const m = matchFrames(model, { text: "pARSE", regex: false });
  assert.deepEqual(matched(tree, m).value, [5]);
  assert.equal(hitsByWeight(tree, m)[0], nodeOf(tree, model, "main;Parse"));
  assert.equal(hitsByWeight(tree, m).length, 3);
});

test("a dot is a dot until regular expressions are asked for", () => {
  const model = modelOf([["a.b", 1], ["axb", 2]]);
  const tree = baseTree(model);
  assert.deepEqual(matched(tree, matchFrames(model, { text: "a.b", regex: false })).value, [1]);
  assert.deepEqual(matched(tree, matchFrames(model, { text: "^a.b$", regex: true })).value, [3]);
  assert.notEqual(matchFrames(model, { text: "(", regex: true }).error, "");
});

test("search never hits the root or what was pruned", () => {
  const model = modelOf([["all", 1]]);
  assert.deepEqual([...matchFrames(model, { text: "all", regex: false }).frames], [0, 1]);
});

test("diff compares shares, not values", () => {
  const none = { before: 0, after: 0 };
  assert.equal(change(10, 20, 100, 200, none).mark, "same");
  const more = change(10, 40, 100, 200, none);
  assert.equal(more.mark, "more");
  assert.ok(Math.abs(more.delta - 0.1) < 1e-12);
  assert.equal(change(0, 1, 100, 100, none).mark, "added");
  assert.equal(change(1, 0, 100, 100, none).mark, "removed");
  assert.equal(change(0, 0, 0, 0, none).mark, "same");
});

test("a change that sampling explains is noise", () => {
  const few = { before: 100, after: 100 };
  const many = { before: 1e6, after: 1e6 };
  assert.ok(change(10, 13, 100, 100, few).noise);
  assert.ok(!change(10, 13, 100, 100, many).noise);
  assert.ok(change(0, 1, 100, 100, few).noise, "0 against 1 of 100");
  assert.ok(noiseLimit(0.1, 0.1, few) > noiseLimit(0.1, 0.1, many));
  assert.equal(strength(change(10, 13, 100, 100, few)), 0);
});

test("strength has the sign of the change and stays within one", () => {
  const many = { before: 1e9, after: 1e9 };
  assert.ok(strength(change(1, 2, 100, 100, many)) > 0);
  assert.ok(strength(change(2, 1, 100, 100, many)) < 0);
  assert.equal(strength(change(0, 50, 100, 100, many)), 1);
  assert.equal(strength(change(50, 0, 100, 100, many)), -1);
});

test("columns of a diff are scaled and swapped together", () => {
  const model = modelOf([["a", 10, 40]], { diff: true, meta: { scale: [1, 0.25] } });
  assert.deepEqual(model.columns({ type: 0, normalise: true, swap: false }).totals, [10, 10]);
  assert.deepEqual(model.columns({ type: 0, normalise: false, swap: true }).totals, [40, 10]);
  assert.equal(baseTree(model).weight[0], 20);
});

test("numbers can be read aloud", () => {
  const ns = { name: "cpu", unit: "nanoseconds" };
  const said: [number, { name: string; unit: string }, string][] = [
    [1.2e9, ns, "1.2 s"], [999_960, ns, "1 ms"], [1500, ns, "1.5 µs"], [0, ns, "0"], [7200e9, ns, "2 h"],
    [340 * 1048576, { name: "alloc_space", unit: "bytes" }, "340 MiB"], [12_345, { name: "samples", unit: "count" }, "12.3 k samples"],
    [950, { name: "alloc_objects", unit: "count" }, "950 objects"], [1234, { name: "samples", unit: "count" }, "1,234 samples"],
  ];
  for (const [value, type, text] of said) assert.equal(units.amount(value, type), text);
  assert.equal(units.percent(0.382), "38.2 %");
  assert.equal(units.percent(0.00002), "< 0.01 %");
  assert.equal(units.points(-0.003), "−0.3 pp");
});

test("every label keeps a contrast of 4.5 on every box", () => {
  const model = modelOf(Array.from({ length: 400 }, (_, i) => [`f${i}`, 1]));
  const { frames } = tints(model);
  for (const palette of [DARK, LIGHT]) {
    const ink = luminance([1, 3, 5].map((i) => parseInt(palette.ink.slice(i, i + 2), 16)) as [number, number, number]);
    const fills = [...frameColours(model, frames, palette), palette.more, palette.less, palette.little, palette.merged, palette.pruned];
    for (const rgb of fills) {
      const [a, b] = [ink, luminance(rgb)].sort((x, y) => y - x);
      assert.ok((a + 0.05) / (b + 0.05) >= 4.5, `${palette.dark ? "dark" : "light"} ${rgb}`);
    }
  }
});

test("the state goes into the address and comes back", () => {
  const model = modelOf([["a;b c&d", 1, 2]], { types: [{ name: "cpu", unit: "nanoseconds" }, { name: "samples", unit: "count" }] });
  const start = initialState(model);
  assert.equal(toParams(start, model).toString(), "");
  const state = { ...start, type: 1, view: "sandwich" as const, func: 2, up: true, order: "weight" as const, query: "a&b=ü", regex: true, table: false };
  assert.deepEqual(fromParams(toParams(state, model), model), state);
  assert.deepEqual(fromParams(new URLSearchParams("type=nope&view=sandwich&fn=zz&zoom=-4&q="), model), start);
});

test("a longer text is looked for among what the shorter one found", () => {
  const model = modelOf([["json::parse;json::object", 1], ["json::write;Parse_all", 2], ["other", 3]]);
  let before: Parameters<typeof matchFrames>[2];
  for (const text of ["J", "jS", "json::", "json::p", "parse", "", "all"]) {
    const query = { text, regex: false };
    const matches = matchFrames(model, query, before);
    assert.deepEqual([...matches.frames], [...matchFrames(model, query).frames], text);
    before = { query, matches };
  }
});

test("a name is shown without its parameters, whatever else it has", () => {
  const names = ["expand(node*, int (*)(int)) const", "(anonymous namespace)::f(int)", "operator()", "main", "net/http.(*conn).serve", "a::{lambda(int)#1}::b(x)", "(odd)"];
  assert.deepEqual(names.map(withoutParameters), ["expand()", "(anonymous namespace)::f()", "operator()", "main", "net/http.(*conn).serve", "a::{lambda(int)#1}::b()", "(odd)"]);
});

test("a long name is shown without what a template was made for and what it returns", () => {
  const short = (name: string): string => withoutTemplates(withoutParameters(name));
  assert.equal(short("v8::Handle<v8::String> v8::Table::find<v8::Key, a<b> >(v8::Isolate*)"), "v8::Table::find<…>()");
  assert.equal(short("a::Parser<unsigned char>::skip() [clone .isra.0]"), "a::Parser<…>::skip() [clone .isra.0]");
  for (const name of ["bool operator< <int>()", "a::operator<<()", "<T as core::Trait>::call", "a->b", "less < more", "main.(*T[go.shape.int]).f", "(anonymous namespace)::f()"])
    assert.ok(!/…/.test(withoutTemplates(name)) || /operator/.test(name), name);
  assert.equal(withoutTemplates("a::operator<<()"), "a::operator<<()");
  assert.equal(withoutTemplates("(anonymous namespace)::f()"), "(anonymous namespace)::f()");
  assert.equal(briefName("std::map<int, int>::at(int)"), "std::map<int, int>::at()");
});
