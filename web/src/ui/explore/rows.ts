// The call tree as rows: which boxes are unfolded, in the order they are read.
import type { Children, Tree } from "../../flame";

// From `root` down, the children of unfolded boxes only; the heaviest first.
export function visibleRows(children: Children, root: number, open: Set<number>): number[] {
  const out: number[] = [];
  const stack = [root];
  while (stack.length > 0) {
    const node = stack.pop() as number;
    out.push(node);
    if (!open.has(node)) continue;
    for (let c = children.first[node + 1]; c-- > children.first[node]; ) stack.push(children.child[c]);
  }
  return out;
}

// Unfolds where most of the value went: down from `node` while one child holds at least `share` of it.
export function hotPath(tree: Tree, children: Children, node: number, share = 0.5, most = 60): number[] {
  const out = [node];
  for (let i = 0; i < most; i++) {
    const [from, to] = [children.first[node], children.first[node + 1]];
    if (from === to) break;
    const next = children.child[from];
    if (tree.weight[next] < tree.weight[node] * share) break;
    out.push(next);
    node = next;
  }
  return out;
}
