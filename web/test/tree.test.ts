import assert from "node:assert/strict";
import { test } from "node:test";
import { bottomUp, calleesOf, callersOf, folded, isInside, layout, neighbour, neighbours, nodeAt, pathOf, widestOf } from "../src/flame";
import { baseTree, lines, modelOf, nodeOf, type Line } from "./helpers";

const STACKS: Line[] = [["a;b;c", 4], ["a;b", 1], ["a;c", 2], ["d;c;b;c", 3]];

test("totals are the sums of subtrees", () => {
  const model = modelOf(STACKS);
  const tree = baseTree(model);
  assert.deepEqual(lines(tree, model), ["all 10/0", "all;a 7/0", "all;a;b 5/1", "all;a;b;c 4/4", "all;a;c 2/2", "all;d 3/0", "all;d;c 3/0", "all;d;c;b 3/0", "all;d;c;b;c 3/3"]);
  assert.equal(tree.maxDepth, 4);
});

test("bottom-up merges by what ran", () => {
  const model = modelOf(STACKS);
  const up = bottomUp(baseTree(model), model);
  assert.deepEqual(lines(up, model), ["all 10/0", "all;b 1/0", "all;b;a 1/1", "all;c 9/0", "all;c;a 2/2", "all;c;b 7/0", "all;c;b;a 4/4", "all;c;b;c 3/0", "all;c;b;c;d 3/3"]);
});

test("sandwich counts recursion once on both halves", () => {
  const model = modelOf(STACKS);
  const tree = baseTree(model);
  const c = model.funcOf[tree.frame[nodeOf(tree, model, "a;c")]];
  assert.deepEqual(lines(callersOf(tree, model, c), model), ["c 9/0", "c;a 2/2", "c;b 4/0", "c;b;a 4/4", "c;d 3/3"]);
  assert.deepEqual(lines(calleesOf(tree, model, c), model), ["c 9/6", "c;b 3/0", "c;b;c 3/3"]);
  const near = neighbours(tree, model, c);
  assert.deepEqual(near.callers.map((n) => [model.name(model.funcFrame[n.func]), n.value[0]]), [["b", 4], ["d", 3], ["a", 2]]);
  assert.deepEqual(near.callees.map((n) => [model.name(model.funcFrame[n.func]), n.value[0]]), [["b", 3]]);
});

test("a stack counts once for a call that it makes again and again", () => {
  const model = modelOf([["main;eval;call;eval;call;eval", 8], ["main;eval;other", 2]]);
  const tree = baseTree(model);
  const func = model.funcOf[tree.frame[nodeOf(tree, model, "main;eval")]];
  assert.deepEqual(neighbours(tree, model, func).callees.map((n) => [model.name(model.funcFrame[n.func]), n.value[0]]), [["call", 8], ["other", 2]]);
});

test("layout keeps children inside parents, rows sorted, widths true", () => {
  const model = modelOf(STACKS);
  const tree = baseTree(model);
  for (const order of ["name", "weight"] as const) {
    const lay = layout(tree, model.nameRank, order);
    for (let i = 0; i < tree.count; i++) {
      const s = lay.slotOf[i];
      const p = lay.slotOf[tree.parent[i]];
      assert.equal(lay.node[s], i);
      assert.ok(Math.abs(lay.x1[s] - lay.x0[s] - tree.weight[i] / 10) < 1e-12);
      assert.ok(lay.x0[s] >= lay.x0[p] - 1e-12 && lay.x1[s] <= lay.x1[p] + 1e-12);
    }
    for (let d = 0; d < lay.rows; d++)
      for (let s = lay.rowStart[d] + 1; s < lay.rowStart[d + 1]; s++) assert.ok(lay.x0[s] >= lay.x1[s - 1] - 1e-12);
  }
});

test("layout orders siblings by name or by weight", () => {
  const model = modelOf([["b", 1], ["a", 2], ["c", 5]]);
  const tree = baseTree(model);
  const names = (order: "name" | "weight"): string[] => {
    const lay = layout(tree, model.nameRank, order);
    return [...lay.node.subarray(lay.rowStart[1], lay.rowStart[2])].map((n) => model.name(tree.frame[n]));
  };
  assert.deepEqual(names("name"), ["a", "b", "c"]);
  assert.deepEqual(names("weight"), ["c", "a", "b"]);
});

test("a point finds its box, a gap finds none", () => {
  const model = modelOf(STACKS);
  const tree = baseTree(model);
  const lay = layout(tree, model.nameRank, "name");
  const at = (depth: number, x: number): string => {
    const n = nodeAt(lay, depth, x);
    return n < 0 ? "none" : model.name(tree.frame[n]);
  };
  assert.deepEqual([at(0, 0.5), at(1, 0.69), at(1, 0.71), at(3, 0.45), at(4, 0.1), at(9, 0)], ["all", "a", "d", "none", "none", "none"]);
});

test("steps go to parent, widest child and along the row", () => {
  const model = modelOf(STACKS);
  const tree = baseTree(model);
  const lay = layout(tree, model.nameRank, "name");
  const a = nodeOf(tree, model, "a");
  assert.equal(neighbour(tree, lay, a, "child"), nodeOf(tree, model, "a;b"));
  assert.equal(neighbour(tree, lay, a, "right"), nodeOf(tree, model, "d"));
  assert.equal(neighbour(tree, lay, a, "left"), a);
  assert.equal(neighbour(tree, lay, a, "parent"), 0);
});

test("paths, insides and widest boxes", () => {
  const model = modelOf(STACKS);
  const tree = baseTree(model);
  const deep = nodeOf(tree, model, "d;c;b;c");
  assert.equal(pathOf(tree, deep).length, 5);
  assert.ok(isInside(tree, deep, nodeOf(tree, model, "d")));
  assert.ok(!isInside(tree, deep, nodeOf(tree, model, "a")));
  assert.equal(widestOf(tree, model, model.funcOf[tree.frame[deep]]), nodeOf(tree, model, "a;b;c"));
});

test("folded text is the stacks of the zoom, reversed trees turned back", () => {
  const model = modelOf(STACKS);
  const tree = baseTree(model);
  assert.deepEqual(folded(tree, model, nodeOf(tree, model, "a"), false).trim().split("\n").sort(), ["a;b 1", "a;b;c 4", "a;c 2"]);
  assert.deepEqual(folded(bottomUp(tree, model), model, 0, true).trim().split("\n").sort(), ["a;b 1", "a;b;c 4", "a;c 2", "d;c;b;c 3"]);
});

test("a stack of 100,000 frames is laid out without recursion", () => {
  const model = modelOf([[Array.from({ length: 100_000 }, () => "f").join(";"), 1]]);
  const tree = baseTree(model);
  assert.equal(layout(tree, model.nameRank, "weight").rows, 100_001);
});
