// Positions of boxes: one row per depth, boxes of a row in order from left to right, edges as a share
// of the whole (0..1). Rows are slices of one array, so a search for the first visible box is a binary
// search in place.
import { stepsOf, type Steps } from "./steps";
import type { Tree } from "./tree";

export type Order = "name" | "weight";

export interface Layout {
  rows: number;
  // Slots of row d are [rowStart[d], rowStart[d+1]).
  rowStart: Uint32Array;
  node: Uint32Array;
  // Frame of each slot: what colours and searches look at, in the order rows are read.
  frame: Uint32Array;
  x0: Float64Array;
  x1: Float64Array;
  // Slot of each node.
  slotOf: Uint32Array;
  // Limits of steps over narrow boxes.
  steps: Steps;
}

export interface Children {
  first: Uint32Array;
  child: Uint32Array;
}

// Children of node p are child[first[p] .. first[p+1]), in the wanted order. Nodes are read in the
// order of the file, which keeps a subtree together: at a million boxes memory decides the time.
export function childLists(tree: Tree, nameRank: Uint32Array, order: Order): Children {
  const { count, frame, parent, weight } = tree;
  const first = new Uint32Array(count + 1);
  for (let i = 1; i < count; i++) first[parent[i] + 1]++;
  for (let i = 0; i < count; i++) first[i + 1] += first[i];
  const child = new Uint32Array(count - 1);
  const fill = first.slice();
  for (let i = 1; i < count; i++) child[fill[parent[i]]++] = i;

  const byName = (a: number, b: number): number => nameRank[frame[a]] - nameRank[frame[b]];
  const byWeight = (a: number, b: number): number => weight[b] - weight[a] || byName(a, b);
  const compare = order === "name" ? byName : byWeight;
  for (let p = 0; p < count; p++) sortRange(child, first[p], first[p + 1], compare);
  return { first, child };
}

// Most lists have a handful of children, for which insertion beats everything.
function sortRange(list: Uint32Array, from: number, to: number, compare: (a: number, b: number) => number): void {
  if (to - from > 24) {
    list.subarray(from, to).sort(compare);
    return;
  }
  for (let i = from + 1; i < to; i++) {
    const item = list[i];
    let at = i;
    for (; at > from && compare(list[at - 1], item) > 0; at--) list[at] = list[at - 1];
    list[at] = item;
  }
}

export function layout(tree: Tree, nameRank: Uint32Array, order: Order): Layout {
  const { count, parent, depth, frame: frameOf, weight } = tree;
  const rows = tree.maxDepth + 1;
  const { first, child } = childLists(tree, nameRank, order);
  const rowStart = new Uint32Array(rows + 1);
  for (let i = 0; i < count; i++) rowStart[depth[i] + 1]++;
  for (let d = 0; d < rows; d++) rowStart[d + 1] += rowStart[d];

  const node = new Uint32Array(count);
  const frame = new Uint32Array(count);
  const x0 = new Float64Array(count);
  const x1 = new Float64Array(count);
  const slotOf = new Uint32Array(count);
  const scale = weight[0] > 0 ? 1 / weight[0] : 0;
  const fill = rowStart.slice();
  // Where the next child of a node begins.
  const left = new Float64Array(count);
  // Depth first, from left to right: every row fills from left to right, too.
  const stack = new Uint32Array(count);
  let top = 1;
  while (top > 0) {
    const n = stack[--top];
    const slot = fill[depth[n]]++;
    const x = n === 0 ? 0 : left[parent[n]];
    node[slot] = n;
    frame[slot] = frameOf[n];
    slotOf[n] = slot;
    x0[slot] = left[n] = x;
    x1[slot] = left[parent[n]] = x + weight[n] * scale;
    if (n === 0) left[0] = 0;
    for (let c = first[n + 1]; c-- > first[n]; ) stack[top++] = child[c];
  }
  return { rows, rowStart, node, frame, x0, x1, slotOf, steps: stepsOf(x0, x1) };
}

// First slot in [from, to) whose right edge lies beyond x.
export function firstBeyond(edges: Float64Array, x: number, from: number, to: number): number {
  while (from < to) {
    const mid = (from + to) >>> 1;
    if (edges[mid] > x) to = mid;
    else from = mid + 1;
  }
  return from;
}

// The node at a depth and place, or -1.
export function nodeAt(lay: Layout, depth: number, x: number): number {
  if (depth < 0 || depth >= lay.rows) return -1;
  const end = lay.rowStart[depth + 1];
  const slot = firstBeyond(lay.x1, x, lay.rowStart[depth], end);
  return slot < end && lay.x0[slot] <= x ? lay.node[slot] : -1;
}

export type Step = "parent" | "child" | "left" | "right";

// The frame next to a frame; the same frame when there is none.
export function neighbour(tree: Tree, lay: Layout, node: number, step: Step): number {
  const slot = lay.slotOf[node];
  const depth = tree.depth[node];
  if (step === "parent") return tree.parent[node];
  if (step === "child") {
    // The widest child: the way most of the value went.
    if (depth + 1 >= lay.rows) return node;
    let best = node;
    const end = lay.rowStart[depth + 2];
    for (let s = firstBeyond(lay.x1, lay.x0[slot], lay.rowStart[depth + 1], end); s < end && lay.x0[s] < lay.x1[slot]; s++)
      if (tree.parent[lay.node[s]] === node && (best === node || tree.weight[lay.node[s]] > tree.weight[best])) best = lay.node[s];
    return best;
  }
  const beside = step === "left" ? slot - 1 : slot + 1;
  if (beside < lay.rowStart[depth] || beside >= lay.rowStart[depth + 1]) return node;
  return lay.node[beside];
}
