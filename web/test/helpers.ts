import { decodeVft, makeTree, Model, type Tree } from "../src/flame";
import { writeVft } from "../../tests/browser/vft-writer.mjs";

export type Line = [string, ...number[]];

// "a;b;c" with one value per column.
export function modelOf(lines: Line[], options: Parameters<typeof writeVft>[1] = {}): Model {
  const bytes = writeVft(lines.map(([stack, ...values]) => ({ stack: stack.split(";").filter(Boolean), values })), options);
  return new Model(decodeVft(bytes.buffer));
}

export function baseTree(model: Model, normalise = true, swap = false, type = 0): Tree {
  return makeTree(model.vft.parent, model.vft.frame, model.columns({ type, normalise, swap }).self);
}

// The tree as sorted "path total/self" lines: easy to compare, order does not matter.
export function lines(tree: Tree, model: Model): string[] {
  const paths: string[] = [];
  for (let i = 0; i < tree.count; i++) {
    const name = model.name(tree.frame[i]);
    paths.push(i === 0 ? name : `${paths[tree.parent[i]]};${name}`);
  }
  return paths.map((p, i) => `${p} ${tree.total.map((r) => r[i]).join(",")}/${tree.self.map((r) => r[i]).join(",")}`).sort();
}

export function nodeOf(tree: Tree, model: Model, path: string): number {
  let at = 0;
  for (const name of path.split(";").filter(Boolean)) {
    let found = -1;
    for (let i = 1; i < tree.count; i++) if (tree.parent[i] === at && model.name(tree.frame[i]) === name) found = i;
    if (found < 0) throw new Error(`no ${path}`);
    at = found;
  }
  return at;
}
