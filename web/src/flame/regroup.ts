// Trees made out of the tree: bottom-up (callers of what ran), and both halves of a sandwich.
// Boxes of the same function under the same parent become one.
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

// Walks towards the root, all at once: `next[i]` is the node whose frame walk i takes next, and
// `value[side][i]` what flows along it.
interface Walks {
  next: Uint32Array;
  value: Float64Array[];
}

interface Box {
  at: number;
  walks: number[];
  weight: number;
}

// Takes every walk one level further at a time, merging equal functions under one box.
function walkUp(tree: Tree, model: Model, builder: Builder, { next, value }: Walks): void {
  const settle = (walk: number, at: number): void => {
    for (let s = 0; s < value.length; s++) builder.self[s][at] += value[s][walk];
  };
  const whole = value.reduce((sum, run) => run.reduce((a, b) => a + b, sum), 0);
  let level: Box[] = [{ at: 0, walks: Array.from(next, (_, i) => i), weight: whole }];
  while (level.length > 0) {
    const deeper: Box[] = [];
    for (const { at, walks } of level) {
      const boxes = new Map<number, Box>();
      for (const walk of walks) {
        const node = next[walk];
        if (node === 0) {
          settle(walk, at);
          continue;
        }
        const frame = tree.frame[node];
        const func = model.funcOf[frame];
        let box = boxes.get(func);
        if (!box) boxes.set(func, (box = { at: builder.add(at, model.pruned[frame] ? frame : model.funcFrame[func]), walks: [], weight: 0 }));
        box.walks.push(walk);
        for (const run of value) box.weight += run[walk];
        next[walk] = tree.parent[node];
      }
      for (const box of boxes.values()) {
        if (box.weight >= whole * SMALLEST_SHARE && builder.parent.length < MOST_NODES) deeper.push(box);
        else for (const walk of box.walks) {
          settle(walk, box.at);
          if (next[walk] !== 0) builder.unexpanded++;
        }
      }
    }
    level = deeper;
  }
}

export function bottomUp(tree: Tree, model: Model): Tree {
  const builder = new Builder(0, tree.self.length);
  tree.self.forEach((run, s) => (builder.self[s][0] += run[0]));
  const leaves: number[] = [];
  for (let i = 1; i < tree.count; i++) if (tree.self.some((run) => run[i] > 0)) leaves.push(i);
  walkUp(tree, model, builder, { next: Uint32Array.from(leaves), value: tree.self.map((run) => Float64Array.from(leaves, (i) => run[i])) });
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
  const boxes = outermost(tree, model, func);
  walkUp(tree, model, builder, { next: Uint32Array.from(boxes, (n) => tree.parent[n]), value: tree.total.map((run) => Float64Array.from(boxes, (n) => run[n])) });
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
    if (model.funcOf[tree.frame[tree.parent[i]]] === func && own !== func && !calledAbove(tree, model, i)) add(callees, own, i);
  }
  const sorted = (map: Map<number, number[]>): Neighbour[] =>
    [...map].map(([f, value]) => ({ func: f, value })).sort((a, b) => sum(b.value) - sum(a.value));
  return { callers: sorted(callers), callees: sorted(callees) };
}

// Whether the same function was called by the same one nearer to the root: a stack counts once for a call.
function calledAbove(tree: Tree, model: Model, node: number): boolean {
  const [own, by] = [model.funcOf[tree.frame[node]], model.funcOf[tree.frame[tree.parent[node]]]];
  for (let i = tree.parent[node]; i !== 0; i = tree.parent[i])
    if (model.funcOf[tree.frame[i]] === own && model.funcOf[tree.frame[tree.parent[i]]] === by) return true;
  return false;
}

function sum(values: number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
