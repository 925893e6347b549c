// Search over frame names: which frames match, and how much of the whole passes through them.
import type { Model } from "./model";
import { heaviestFirst } from "./order";
import type { Tree } from "./tree";

export interface Query {
  text: string;
  regex: boolean;
}

export interface Matches {
  // 1 for each frame that matches.
  frames: Uint8Array;
  // A regular expression that does not compile, in the engine's words.
  error: string;
  active: boolean;
}

// Lower-case names, computed on demand; kept as long as the model.
const lowered = new WeakMap<Model, (string | undefined)[]>();

function lowerNames(model: Model): (s: number) => string {
  let names = lowered.get(model);
  if (!names) lowered.set(model, (names = new Array<string | undefined>(model.vft.strings.count)));
  const list = names;
  return (s) => (list[s] ??= model.vft.strings.get(s).toLowerCase());
}

// What a longer text matches, the shorter one matched too.
function narrows(query: Query, before: { query: Query; matches: Matches } | undefined): Uint8Array | null {
  if (!before?.matches.active || query.regex || before.query.regex) return null;
  return query.text.toLowerCase().includes(before.query.text.toLowerCase()) ? before.matches.frames : null;
}

export function matchFrames(model: Model, query: Query, before?: { query: Query; matches: Matches }): Matches {
  const frames = new Uint8Array(model.vft.frames.count);
  if (query.text === "") return { frames, error: "", active: false };
  let test: (name: number) => boolean;
  if (query.regex) {
    try {
      const expression = new RegExp(query.text, "iu");
      test = (s) => expression.test(model.vft.strings.get(s));
    } catch (e) {
      return { frames, error: e instanceof Error ? e.message : "not a regular expression", active: true };
    }
  } else {
    const wanted = query.text.toLowerCase();
    const name = lowerNames(model);
    test = (s) => name(s).includes(wanted);
  }
  const among = narrows(query, before);
  // Frames share names; each string is tested once. 0 = not yet, 1 = no, 2 = yes.
  const verdict = new Uint8Array(model.vft.strings.count);
  const names = model.vft.frames.name;
  for (let f = 1; f < frames.length; f++) {
    if (among !== null ? among[f] === 0 : model.pruned[f] === 1) continue;
    const s = names[f];
    if (verdict[s] === 0) verdict[s] = test(s) ? 2 : 1;
    frames[f] = verdict[s] - 1;
  }
  return { frames, error: "", active: true };
}

export interface Matched {
  // Value under matching boxes, a box inside another match not counted again; one number per side.
  value: number[];
  boxes: number;
}

// Which boxes lie below a match; written again by the next search.
const insideOf = new WeakMap<Tree, Uint8Array>();

export function matched(tree: Tree, matches: Matches): Matched {
  const { count, parent, frame } = tree;
  const hits = matches.frames;
  let inside = insideOf.get(tree);
  if (!inside) insideOf.set(tree, (inside = new Uint8Array(count)));
  const value = tree.total.map(() => 0);
  let boxes = 0;
  for (let i = 0; i < count; i++) {
    const hit = hits[frame[i]];
    const above = i === 0 ? 0 : inside[parent[i]];
    boxes += hit;
    inside[i] = above | hit;
    if (hit === 1 && above === 0) for (let s = 0; s < value.length; s++) value[s] += tree.total[s][i];
  }
  return { value, boxes };
}

// Matching boxes, the widest first: the order in which n and N visit them.
export function hitsByWeight(tree: Tree, matches: Matches): Uint32Array {
  const hits = new Uint32Array(tree.count);
  let n = 0;
  for (let i = 0; i < tree.count; i++) if (matches.frames[tree.frame[i]] === 1) hits[n++] = i;
  return heaviestFirst(hits.subarray(0, n), tree.weight);
}
