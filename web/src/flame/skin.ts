// The colour of every box, by mode: modules, a search, a diff, one function.
import { diffColour, frameColours, mix, toLuminance, word, type Palette, type Rgb, type Tint } from "./colour";
import { change, strength, type Samples } from "./diff";
import type { Layout } from "./layout";
import type { Model } from "./model";
import { prefixHits, type Skin } from "./raster";
import type { Matches } from "./search";
import type { Tree } from "./tree";

export interface Look {
  palette: Palette;
  tints: Tint[];
  matches: Matches;
  // Function whose boxes are lifted a little, or -1.
  func: number;
  // Sides of a diff: totals and sample counts; null for one profile.
  diff: { totals: number[]; samples: Samples } | null;
}

const MUTED = 0.4;

// Plain and muted colour of each frame, made once for a model and a palette.
interface Words {
  plain: Uint32Array;
  muted: Uint32Array;
  colours: Rgb[];
}
const kept = new WeakMap<Model, WeakMap<Palette, Words>>();

function wordsOf(model: Model, tints: Tint[], palette: Palette): Words {
  let byPalette = kept.get(model);
  if (!byPalette) kept.set(model, (byPalette = new WeakMap()));
  let words = byPalette.get(palette);
  if (!words) {
    const colours = frameColours(model, tints, palette);
    words = { colours, plain: Uint32Array.from(colours, word), muted: Uint32Array.from(colours, (rgb) => word(mix(rgb, palette.background, MUTED))) };
    byPalette.set(palette, words);
  }
  return words;
}

function frameWords(model: Model, look: Look): Uint32Array {
  const { palette, matches, func } = look;
  const { plain, muted, colours } = wordsOf(model, look.tints, palette);
  const out = (matches.active ? muted : plain).slice();
  if (matches.active) {
    const hit = word(palette.hit);
    for (let f = 0; f < out.length; f++) if (matches.frames[f] === 1) out[f] = hit;
  }
  if (func >= 0)
    for (let f = 0; f < out.length; f++) {
      if (model.funcOf[f] !== func || matches.frames[f] === 1) continue;
      out[f] = word(toLuminance(matches.active ? mix(colours[f], palette.background, MUTED) : colours[f], palette.lifted));
    }
  return out;
}

export function makeSkin(model: Model, tree: Tree, lay: Layout, look: Look): Skin {
  const { palette, matches } = look;
  const words = frameWords(model, look);
  const painted = look.diff === null ? { paintOf: lay.frame, colour: words, hatched: model.pruned } : diffPaints(model, tree, lay, look, look.diff, words);
  return {
    ...painted,
    hatched: painted.hatched.includes(1) ? painted.hatched : null,
    background: word(palette.background),
    merged: word(palette.merged),
    hit: word(palette.hit),
    hitsBefore: matches.active ? prefixHits(lay, matches.frames) : null,
  };
}

// In a diff the colour is that of the box, not of its frame.
function diffPaints(model: Model, tree: Tree, lay: Layout, look: Look, diff: NonNullable<Look["diff"]>, words: Uint32Array): { paintOf: Uint32Array; colour: Uint32Array; hatched: Uint8Array } {
  const { palette, matches } = look;
  const paintOf = new Uint32Array(tree.count);
  const colour = new Uint32Array(tree.count);
  const hatched = new Uint8Array(tree.count);
  for (let s = 0; s < tree.count; s++) {
    paintOf[s] = s;
    const frame = lay.frame[s];
    const i = lay.node[s];
    if (model.pruned[frame]) hatched[s] = 1;
    if (matches.frames[frame] === 1) {
      colour[s] = words[frame];
      continue;
    }
    const c = change(tree.total[0][i], tree.total[1][i], diff.totals[0], diff.totals[1], diff.samples);
    let rgb = diffColour(palette, strength(c));
    if (matches.active) rgb = mix(rgb, palette.background, MUTED);
    else if (look.func >= 0 && model.funcOf[frame] === look.func) rgb = toLuminance(rgb, palette.lifted);
    colour[s] = word(rgb);
    if (c.mark === "added" || c.mark === "removed") hatched[s] = 1;
  }
  return { paintOf, colour, hatched };
}
