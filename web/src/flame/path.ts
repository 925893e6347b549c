// A box by the way to it: a number made of the names from the root, the same in every answer that has
// this way, so that a link to a box outlives the answer it was made from.
import { hash } from "./colour";
import type { Model } from "./model";
import { pathOf, type Tree } from "./tree";

const MIX_HIGH = 0x01000193;
const MIX_LOW = 0x85ebca6b;

const nextHigh = (above: number, name: number): number => Math.imul(above ^ name, MIX_HIGH);
const nextLow = (above: number, name: number): number => Math.imul((above ^ name) + 0x9e37, MIX_LOW);

// 52 bits, so that it is an exact number everywhere.
function joined(high: number, low: number): number {
  return (high >>> 0) * 2 ** 20 + (low >>> 12);
}

export function pathKey(tree: Tree, model: Model, node: number): number {
  let [high, low] = [0, 0];
  for (const n of pathOf(tree, node)) {
    const name = hash(model.name(tree.frame[n]));
    [high, low] = [nextHigh(high, name), nextLow(low, name)];
  }
  return joined(high, low);
}

// The box with this key, or -1.
export function byPathKey(tree: Tree, model: Model, key: number): number {
  const names = new Int32Array(model.vft.frames.count);
  const known = new Uint8Array(names.length);
  const high = new Int32Array(tree.count);
  const low = new Int32Array(tree.count);
  for (let i = 0; i < tree.count; i++) {
    const f = tree.frame[i];
    if (known[f] === 0) {
      names[f] = hash(model.name(f));
      known[f] = 1;
    }
    high[i] = nextHigh(i === 0 ? 0 : high[tree.parent[i]], names[f]);
    low[i] = nextLow(i === 0 ? 0 : low[tree.parent[i]], names[f]);
    if (joined(high[i], low[i]) === key) return i;
  }
  return -1;
}
