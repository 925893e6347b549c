// Text out of a tree: one stack, or every stack of a subtree as folded lines.
import type { Model } from "./model";
import { isInside, pathOf, type Tree } from "./tree";

// From the outermost caller to the frame; a bottom-up tree holds its stacks reversed.
export function stackNames(tree: Tree, model: Model, node: number, reversed: boolean): string[] {
  const names = pathOf(tree, node)
    .filter((n) => tree.frame[n] !== 0)
    .map((n) => model.name(tree.frame[n]));
  return reversed ? names.reverse() : names;
}

export function folded(tree: Tree, model: Model, zoom: number, reversed: boolean): string {
  const lines: string[] = [];
  for (let i = 0; i < tree.count; i++) {
    const values = tree.self.map((run) => run[i]);
    if (!values.some((v) => v > 0) || !isInside(tree, i, zoom)) continue;
    const names = stackNames(tree, model, i, reversed).map((n) => n.replace(/;/g, ":"));
    lines.push(`${names.join(";") || "all"} ${values.map((v) => Math.round(v)).join(" ")}`);
  }
  return lines.join("\n") + "\n";
}
