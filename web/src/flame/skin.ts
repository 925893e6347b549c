// The colour of every box, from what the reader asked: modules, a search, a diff, one function.
import { diffColour, frameColours, mix, toLuminance, word, type Palette, type Tint } from "./colour";
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

export function makeSkin(model: Model, tree: Tree, lay: Layout, look: Look): Skin {
  const { palette, matches } = look;
  const byFrame = frameColours(model, look.tints, palette).map((rgb, f) => {
    if (matches.active && matches.frames[f] === 0) return mix(rgb, palette.background, MUTED);
    return rgb;
  });
  const words = Uint32Array.from(byFrame, (rgb, f) => {
    if (matches.frames[f] === 1) return word(palette.hit);
    return word(look.func >= 0 && model.funcOf[f] === look.func ? toLuminance(rgb, palette.lifted) : rgb);
  });
  const painted = look.diff === null ? { paintOf: tree.frame, colour: words, hatched: model.pruned } : diffPaints(model, tree, look, look.diff, words);
  return {
    ...painted,
    hatched: painted.hatched.includes(1) ? painted.hatched : null,
    background: word(palette.background),
    merged: word(palette.merged),
    hit: word(palette.hit),
    hitsBefore: matches.active ? prefixHits(lay, tree.frame, matches.frames) : null,
  };
}

// In a diff the colour is that of the box, not of its frame.
function diffPaints(model: Model, tree: Tree, look: Look, diff: NonNullable<Look["diff"]>, words: Uint32Array): { paintOf: Uint32Array; colour: Uint32Array; hatched: Uint8Array } {
  const { palette, matches } = look;
  const paintOf = new Uint32Array(tree.count);
  const colour = new Uint32Array(tree.count);
  const hatched = new Uint8Array(tree.count);
  for (let i = 0; i < tree.count; i++) {
    paintOf[i] = i;
    const frame = tree.frame[i];
    if (model.pruned[frame]) hatched[i] = 1;
    if (matches.frames[frame] === 1) {
      colour[i] = words[frame];
      continue;
    }
    const c = change(tree.total[0][i], tree.total[1][i], diff.totals[0], diff.totals[1], diff.samples);
    let rgb = diffColour(palette, strength(c));
    if (matches.active) rgb = mix(rgb, palette.background, MUTED);
    else if (look.func >= 0 && model.funcOf[frame] === look.func) rgb = toLuminance(rgb, palette.lifted);
    colour[i] = word(rgb);
    if (c.mark === "added" || c.mark === "removed") hatched[i] = 1;
  }
  return { paintOf, colour, hatched };
}
