import assert from "node:assert/strict";
import { test } from "node:test";
import { layout, type Layout } from "../src/flame";
import { Painter, prefixHits, type Skin, type Window } from "../src/flame/raster";
import { endOfNarrow } from "../src/flame/steps";
import { baseTree, modelOf, type Line } from "./helpers";

function random(seed: number): () => number {
  return () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
}

// Rows full of boxes of all widths, most of them narrow, with gaps of all widths between them.
function bushy(leaves: number, seed: number): Layout {
  const next = random(seed);
  const lines: Line[] = Array.from({ length: leaves }, (_, i) => [`a${i % 7};b${i % 301};c${i}${next() < 0.7 ? `;d${i % 5}` : ""}`, next() < 0.02 ? 400 : 1 + Math.floor(next() * 4)]);
  const model = modelOf(lines);
  return layout(baseTree(model), model.nameRank, "name");
}

const BACKGROUND = 1;
const MERGED = 2;
const HIT = 3;
const UNWRITTEN = 0xffffffff;

function skinOf(lay: Layout, hits: Uint8Array | null): Skin {
  const frames = Math.max(...lay.frame) + 1;
  const colour = Uint32Array.from({ length: frames }, (_, f) => (hits?.[f] ? HIT : 10 + f));
  return { paintOf: lay.frame, colour, background: BACKGROUND, merged: MERGED, hit: HIT, hitsBefore: hits ? prefixHits(lay, hits) : null, hatched: null };
}

const windowOf = (x0: number, x1: number, width: number, up = false): Window => ({ x0, x1, width, height: 60, pitch: 10, gap: 1, top: up ? 55 : 5, up });

// Every box looked at, one by one: what the quick way must come to.
function slowRow(lay: Layout, skin: Skin, win: Window, depth: number): { line: number[]; boxes: number; merged: number } {
  const line = new Array<number>(win.width).fill(BACKGROUND);
  const scale = win.width / (win.x1 - win.x0);
  let boxes = 0;
  let merged = 0;
  for (let s = lay.rowStart[depth]; s < lay.rowStart[depth + 1]; s++) {
    if (lay.x1[s] <= win.x0 || lay.x0[s] >= win.x1) continue;
    const left = (lay.x0[s] - win.x0) * scale;
    const right = (lay.x1[s] - win.x0) * scale;
    if (lay.x1[s] - lay.x0[s] < 0.5 / scale) {
      merged++;
      const c = Math.max(0, Math.floor(left));
      if (skin.hitsBefore && skin.hitsBefore[s + 1] > skin.hitsBefore[s]) line[c] = HIT;
      else if (line[c] === BACKGROUND) line[c] = MERGED;
      continue;
    }
    boxes++;
    const from = left <= 0 ? 0 : Math.min(win.width - 1, Math.round(left));
    const to = Math.max(from + 1, Math.min(win.width, Math.round(right)));
    const inner = to - from > 3 && right <= win.width ? to - 1 : to;
    line.fill(skin.colour[skin.paintOf[s]], from, inner);
  }
  return { line, boxes, merged };
}

// A column between two narrow boxes less than a pixel apart may be grey where no box begins.
function same(quick: number[], slow: number[], where: string): void {
  for (let c = 0; c < slow.length; c++) {
    if (quick[c] === slow[c]) continue;
    const beside = [slow[c - 1], slow[c + 1]].some((v) => v === MERGED || v === HIT);
    assert.ok(quick[c] === MERGED && slow[c] === BACKGROUND && beside, `${where}: column ${c} is ${quick[c]}, not ${slow[c]}`);
  }
}

test("the quick painter shows what looking at every box shows", () => {
  const lay = bushy(20_000, 5);
  const next = random(9);
  const hits = Uint8Array.from({ length: Math.max(...lay.frame) + 1 }, () => (next() < 0.001 ? 1 : 0));
  const painter = new Painter();
  for (let round = 0; round < 60; round++) {
    const skin = skinOf(lay, round % 3 === 0 ? hits : null);
    const span = round < 4 ? 1 : 10 ** (-5 * next());
    const x0 = next() * (1 - span);
    const win = windowOf(x0, x0 + span, 50 + Math.floor(next() * 900), round % 2 === 1);
    const pixels = new Uint32Array(win.width * win.height).fill(UNWRITTEN);
    const drawn = painter.paint(pixels, lay, skin, win, 28);
    const sum = { boxes: 0, merged: 0 };
    for (let depth = 0; depth < lay.rows; depth++) {
      const top = win.up ? win.top - (depth + 1) * win.pitch : win.top + depth * win.pitch;
      const slow = slowRow(lay, skin, win, depth);
      sum.boxes += slow.boxes;
      sum.merged += slow.merged;
      for (const y of [top, top + win.pitch - win.gap - 1]) same([...pixels.subarray(y * win.width, (y + 1) * win.width)], slow.line, `round ${round}, row ${depth}`);
      const between = top + win.pitch - 1;
      assert.ok(pixels.subarray(between * win.width, (between + 1) * win.width).every((v) => v === BACKGROUND), "a gap between rows");
    }
    assert.deepEqual({ boxes: drawn.boxes, merged: drawn.merged }, sum);
    assert.ok(!pixels.includes(UNWRITTEN), "every pixel is written");
  }
});

test("labels are wanted for boxes that are wide enough, cut at the window's edges", () => {
  const model = modelOf([["a;b", 3], ["c", 1]]);
  const lay = layout(baseTree(model), model.nameRank, "name");
  const painter = new Painter();
  painter.paint(new Uint32Array(100 * 60), lay, skinOf(lay, null), windowOf(0, 1, 100), 30);
  const { count, slot, left, right } = painter.labelled;
  assert.deepEqual([...slot.subarray(0, count)].map((s) => model.name(lay.frame[s])), ["all", "a", "b"]);
  painter.paint(new Uint32Array(100 * 60), lay, skinOf(lay, null), windowOf(0.5, 1, 100), 30);
  assert.deepEqual([left[0], right[0]], [0, 100]);
});

test("a line of narrow boxes ends at a wide one, at a gap, at the edge and with the row", () => {
  const n = 5000;
  const x0 = Float64Array.from({ length: n }, (_, i) => i / n);
  const x1 = Float64Array.from({ length: n }, (_, i) => (i + 1) / n);
  const steps = (a: Float64Array, b: Float64Array) => {
    const one = { wide: new Float32Array(Math.ceil(n / 32)), gap: new Float32Array(Math.ceil(n / 32)), wideFar: new Float32Array(5), gapFar: new Float32Array(5) };
    for (let i = 0; i < n; i++) {
      one.wide[i >> 5] = Math.max(one.wide[i >> 5], b[i] - a[i]);
      one.wideFar[i >> 10] = Math.max(one.wideFar[i >> 10], b[i] - a[i]);
    }
    return one;
  };
  const end = (from: number, stop = 2): number => endOfNarrow(x0, x1, steps(x0, x1), from, n, 2 / n, 0.5 / n, stop);
  assert.equal(end(3), n);
  assert.equal(end(3, 0.5), 0.5 * n);
  x1[3000] = x0[3000] + 3 / n;
  assert.equal(end(3), 3000);
});
