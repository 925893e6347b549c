// A tree of boxes in columns. A parent's index is below its child's, node 0 is the root: every pass
// over a tree is a loop, never a recursion, so depth costs nothing.
import type { Model } from "./model";

export interface Tree {
  count: number;
  parent: Uint32Array;
  frame: Uint32Array;
  depth: Uint32Array;
  maxDepth: number;
  // Own value and total, one run per side (see Model.columns).
  self: Float64Array[];
  total: Float64Array[];
  // The value of a box's width: the sum of its sides.
  weight: Float64Array;
  // Boxes that were not built because they are too small (bottom-up trees only).
  unexpanded: number;
}

export function makeTree(parent: Uint32Array, frame: Uint32Array, self: Float64Array[], unexpanded = 0): Tree {
  const count = parent.length;
  const depth = new Uint32Array(count);
  let maxDepth = 0;
  for (let i = 1; i < count; i++) {
    const d = depth[parent[i]] + 1;
    depth[i] = d;
    if (d > maxDepth) maxDepth = d;
  }
  const total = self.map((own) => {
    const sum = Float64Array.from(own);
    for (let i = count - 1; i > 0; i--) sum[parent[i]] += sum[i];
    return sum;
  });
  let weight = total[0];
  if (total.length === 2) {
    weight = new Float64Array(count);
    for (let i = 0; i < count; i++) weight[i] = total[0][i] + total[1][i];
  }
  return { count, parent, frame, depth, maxDepth, self, total, weight, unexpanded };
}

// Nodes from the root to the node itself.
export function pathOf(tree: Tree, node: number): number[] {
  const path = [node];
  while (node !== 0) path.push((node = tree.parent[node]));
  return path.reverse();
}

export function isInside(tree: Tree, node: number, ancestor: number): boolean {
  while (tree.depth[node] > tree.depth[ancestor]) node = tree.parent[node];
  return node === ancestor;
}

// The function's widest box, or -1.
export function widestOf(tree: Tree, model: Model, func: number): number {
  let best = -1;
  for (let i = 0; i < tree.count; i++)
    if (model.funcOf[tree.frame[i]] === func && (best < 0 || tree.weight[i] > tree.weight[best])) best = i;
  return best;
}
