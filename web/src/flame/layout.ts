// Where the boxes are: one row per depth, boxes of a row in order from left to right, edges as a
// share of the whole (0..1). Rows are slices of one array, so a search for the first visible box is
// a binary search in place.
import { heaviestFirst, sortBy } from "./order";
import type { Tree } from "./tree";

export type Order = "name" | "weight";

export interface Layout {
  rows: number;
  // Slots of row d are [rowStart[d], rowStart[d+1]).
  rowStart: Uint32Array;
  node: Uint32Array;
  x0: Float64Array;
  x1: Float64Array;
  // Slot of each node.
  slotOf: Uint32Array;
}

// Nodes grouped by parent, siblings in the wanted order; the root comes first.
function siblings(tree: Tree, nameRank: Uint32Array, order: Order): Uint32Array {
  const { count, frame, parent } = tree;
  const key = new Uint32Array(count);
  const identity = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    identity[i] = i;
    key[i] = nameRank[frame[i]];
  }
  let nodes = sortBy(identity, key, nameRank.length);
  if (order === "weight") nodes = heaviestFirst(nodes, tree.weight);
  for (let i = 1; i < count; i++) key[i] = parent[i] + 1;
  key[0] = 0;
  return sortBy(nodes, key, count + 1);
}

export function layout(tree: Tree, nameRank: Uint32Array, order: Order): Layout {
  const { count, parent, depth, weight } = tree;
  const rows = tree.maxDepth + 1;
  const sorted = siblings(tree, nameRank, order);
  const firstChild = new Uint32Array(count + 1);
  for (let i = 1; i < count; i++) firstChild[parent[i] + 1]++;
  firstChild[0] = 1; // slot 0 of `sorted` is the root itself
  for (let i = 0; i < count; i++) firstChild[i + 1] += firstChild[i];

  const rowStart = new Uint32Array(rows + 1);
  for (let i = 0; i < count; i++) rowStart[depth[i] + 1]++;
  for (let d = 0; d < rows; d++) rowStart[d + 1] += rowStart[d];

  const node = new Uint32Array(count);
  const x0 = new Float64Array(count);
  const x1 = new Float64Array(count);
  const slotOf = new Uint32Array(count);
  const scale = weight[0] > 0 ? 1 / weight[0] : 0;
  x1[0] = weight[0] * scale;
  // Parents in order give children in order: every row comes out sorted, slots are handed out in turn.
  let next = 1;
  for (let slot = 0; slot < count; slot++) {
    const n = node[slot];
    let left = x0[slot];
    for (let c = firstChild[n]; c < firstChild[n + 1]; c++) {
      const child = sorted[c];
      node[next] = child;
      slotOf[child] = next;
      x0[next] = left;
      x1[next] = left += weight[child] * scale;
      next++;
    }
  }
  return { rows, rowStart, node, x0, x1, slotOf };
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
