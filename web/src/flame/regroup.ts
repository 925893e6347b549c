// Trees made out of the tree: bottom-up (callers of what ran), and both halves of a sandwich.
// All of them take a list of (node, value) items and merge the walks that start there by function,
// one level at a time.
import type { Model } from "./model";
import { makeTree, type Tree } from "./tree";

// A walk up from every leaf costs leaves x depth. Boxes below this share of the whole are kept but
// not followed, and levels stop when the tree is this large.
const SMALLEST_SHARE = 1 / 50_000;
const MOST_NODES = 600_000;

class Builder {
  parent: number[] = [0];
  frame: number[];
  self: number[][];
  unexpanded = 0;
  constructor(rootFrame: number, sides: number) {
    this.frame = [rootFrame];
    this.self = Array.from({ length: sides }, () => [0]);
  }
  add(parent: number, frame: number): number {
    this.parent.push(parent);
    this.frame.push(frame);
    for (const run of this.self) run.push(0);
    return this.parent.length - 1;
  }
  finish(): Tree {
    return makeTree(Uint32Array.from(this.parent), Uint32Array.from(this.frame), this.self.map((run) => Float64Array.from(run)), this.unexpanded);
  }
}

interface Item {
  // Node of the source tree whose frame comes next; the value that flows along the walk.
  node: number;
  value: number[];
}

// Follows every item towards the root, merging equal functions under one box.
function walkUp(tree: Tree, model: Model, builder: Builder, first: Item[], whole: number): void {
  let level: { at: number; items: Item[] }[] = [{ at: 0, items: first }];
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { at, items } of level) {
      const groups = new Map<number, { at: number; items: Item[]; weight: number }>();
      for (const item of items) {
        if (item.node === 0) {
          item.value.forEach((v, s) => (builder.self[s][at] += v));
          continue;
        }
        const frame = tree.frame[item.node];
        const func = model.funcOf[frame];
        let group = groups.get(func);
        if (!group) {
          group = { at: builder.add(at, model.pruned[frame] ? frame : model.funcFrame[func]), items: [], weight: 0 };
          groups.set(func, group);
        }
        group.items.push({ node: tree.parent[item.node], value: item.value });
        for (const v of item.value) group.weight += v;
      }
      for (const group of groups.values()) {
        if (group.weight >= whole * SMALLEST_SHARE && builder.parent.length < MOST_NODES) {
          next.push(group);
          continue;
        }
        for (const item of group.items) {
          item.value.forEach((v, s) => (builder.self[s][group.at] += v));
          if (item.node !== 0) builder.unexpanded++;
        }
      }
    }
    level = next;
  }
}

export function bottomUp(tree: Tree, model: Model): Tree {
  const builder = new Builder(0, tree.self.length);
  const items: Item[] = [];
  for (let i = 1; i < tree.count; i++) {
    const value = tree.self.map((run) => run[i]);
    if (value.some((v) => v > 0)) items.push({ node: i, value });
  }
  tree.self.forEach((run, s) => (builder.self[s][0] += run[0]));
  walkUp(tree, model, builder, items, tree.weight[0]);
  return builder.finish();
}

// Boxes of the function that do not stand inside another box of it: their totals add up to the
// function's total, recursion counted once.
export function outermost(tree: Tree, model: Model, func: number): number[] {
  const inside = new Uint8Array(tree.count);
  const found: number[] = [];
  for (let i = 0; i < tree.count; i++) {
    const above = i > 0 && inside[tree.parent[i]] === 1;
    const own = model.funcOf[tree.frame[i]] === func;
    if (own && !above) found.push(i);
    inside[i] = above || own ? 1 : 0;
  }
  return found;
}

export function callersOf(tree: Tree, model: Model, func: number): Tree {
  const builder = new Builder(model.funcFrame[func], tree.self.length);
  const items = outermost(tree, model, func).map((node) => ({
    node: tree.parent[node],
    value: tree.total.map((run) => run[node]),
  }));
  walkUp(tree, model, builder, items, items.reduce((sum, item) => sum + item.value.reduce((a, b) => a + b, 0), 0));
  return builder.finish();
}

export function calleesOf(tree: Tree, model: Model, func: number): Tree {
  const builder = new Builder(model.funcFrame[func], tree.self.length);
  const target = new Int32Array(tree.count).fill(-1);
  for (const node of outermost(tree, model, func)) target[node] = 0;
  // Child box of (merged box, function): one number as the key, because there may be a million.
  const child = new Map<number, number>();
  for (let i = 0; i < tree.count; i++) {
    if (target[i] < 0) {
      const above = i > 0 ? target[tree.parent[i]] : -1;
      if (above < 0) continue;
      const frame = tree.frame[i];
      const key = above * model.funcs + model.funcOf[frame];
      let at = child.get(key);
      if (at === undefined) child.set(key, (at = builder.add(above, model.pruned[frame] ? frame : model.funcFrame[model.funcOf[frame]])));
      target[i] = at;
    }
    tree.self.forEach((run, s) => (builder.self[s][target[i]] += run[i]));
  }
  return builder.finish();
}

export interface Neighbour {
  func: number;
  value: number[];
}

// Functions directly above (callers) and below (callees) any box of the function, largest first.
export function neighbours(tree: Tree, model: Model, func: number): { callers: Neighbour[]; callees: Neighbour[] } {
  const callers = new Map<number, number[]>();
  const callees = new Map<number, number[]>();
  const add = (map: Map<number, number[]>, key: number, node: number): void => {
    const value = map.get(key) ?? tree.total.map(() => 0);
    tree.total.forEach((run, s) => (value[s] += run[node]));
    map.set(key, value);
  };
  for (const node of outermost(tree, model, func)) if (node > 0) add(callers, model.funcOf[tree.frame[tree.parent[node]]], node);
  for (let i = 1; i < tree.count; i++) {
    const own = model.funcOf[tree.frame[i]];
    if (model.funcOf[tree.frame[tree.parent[i]]] === func && own !== func) add(callees, own, i);
  }
  const sorted = (map: Map<number, number[]>): Neighbour[] =>
    [...map].map(([f, value]) => ({ func: f, value })).sort((a, b) => sum(b.value) - sum(a.value));
  return { callers: sorted(callers), callees: sorted(callees) };
}

function sum(values: number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
