// Boxes into pixels: one scan line per row is written into a Uint32Array and copied down the height
// of the row, then the whole picture goes to the canvas with one putImageData. The cost follows the
// pixels of a row, not the boxes of the tree: boxes under half a pixel are skipped by search.
import { firstBeyond, type Layout } from "./layout";

export interface Skin {
  // Which paint each node has: boxes of a frame share one, so that a new colour costs a frame, not a
  // million boxes; in a diff every box has its own.
  paintOf: Uint32Array;
  // Pixel of each paint (see colour.word).
  colour: Uint32Array;
  background: number;
  merged: number;
  hit: number;
  // Hits before each slot, or null when nothing is searched.
  hitsBefore: Uint32Array | null;
  // 1 = a paint is hatched: added or removed in a diff, pruned boxes. Or null.
  hatched: Uint8Array | null;
}

export interface Window {
  // Visible part of the whole, 0..1.
  x0: number;
  x1: number;
  // Device pixels: picture, row pitch, gap between rows, first row's top edge.
  width: number;
  height: number;
  pitch: number;
  gap: number;
  top: number;
  // Rows grow downwards from the top (icicle) or upwards (flame).
  up: boolean;
}

// Top edge of a row in the picture.
export function rowTop(win: Window, depth: number): number {
  return win.up ? win.top - (depth + 1) * win.pitch : win.top + depth * win.pitch;
}

// Depths that show at least a pixel: [first, last].
export function visibleRows(win: Window, rows: number): [number, number] {
  const a = win.up ? Math.floor((win.top - win.height) / win.pitch) : Math.floor(-win.top / win.pitch);
  const b = win.up ? Math.ceil(win.top / win.pitch) : Math.ceil((win.height - win.top) / win.pitch);
  return [Math.max(0, a), Math.min(rows - 1, b)];
}

// First slot at or after `from` whose left edge is at or beyond x: doubles its stride, then halves.
function gallop(edges: Float64Array, x: number, from: number, to: number): number {
  let stride = 1;
  let low = from;
  let high = from;
  while (high < to && edges[high] < x) {
    low = high + 1;
    high += stride;
    stride *= 2;
  }
  high = Math.min(high, to);
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (edges[mid] < x) low = mid + 1;
    else high = mid;
  }
  return low;
}

export interface Drawn {
  // Boxes painted on their own, and boxes that went into a grey column.
  boxes: number;
  merged: number;
}

// Paints the rows; `line` is scratch of the picture's width, `onBox` hears of boxes wide enough for
// a label.
export function paint(
  pixels: Uint32Array,
  line: Uint32Array,
  lay: Layout,
  skin: Skin,
  win: Window,
  labelWidth: number,
  onBox: (node: number, left: number, right: number, top: number) => void,
): Drawn {
  const { width, height } = win;
  const scale = width / (win.x1 - win.x0);
  const drawn = { boxes: 0, merged: 0 };
  pixels.fill(skin.background);
  const [first, last] = visibleRows(win, lay.rows);
  for (let depth = first; depth <= last; depth++) {
    line.fill(skin.background);
    const top = rowTop(win, depth);
    const end = lay.rowStart[depth + 1];
    let slot = firstBeyond(lay.x1, win.x0, lay.rowStart[depth], end);
    const hatch: number[] = [];
    while (slot < end) {
      const left = (lay.x0[slot] - win.x0) * scale;
      if (left >= width) break;
      const right = (lay.x1[slot] - win.x0) * scale;
      if (right - left < 0.5) {
        // Everything that begins in this pixel goes into one grey column.
        const column = Math.max(0, Math.floor(left));
        const next = Math.max(slot + 1, gallop(lay.x0, win.x0 + (column + 1) / scale, slot, end));
        // Wide boxes that begin late in the same pixel still get drawn.
        let stop = slot + 1;
        while (stop < next && (lay.x1[stop] - lay.x0[stop]) * scale < 0.5) stop = next - stop > 64 ? gallopNarrow(lay, scale, stop, next) : stop + 1;
        if (column < width) {
          const hits = skin.hitsBefore !== null && skin.hitsBefore[stop] > skin.hitsBefore[slot];
          if (hits) line[column] = skin.hit;
          else if (line[column] === skin.background) line[column] = skin.merged;
        }
        drawn.merged += stop - slot;
        slot = stop;
        continue;
      }
      const node = lay.node[slot];
      const from = Math.max(0, Math.round(left));
      let to = Math.min(width, Math.round(right));
      if (to <= from) to = Math.min(width, from + 1);
      // A gap between boxes, when there is room for one.
      const inner = to - from > 3 * win.gap && right <= width ? to - win.gap : to;
      const paint = skin.paintOf[node];
      line.fill(skin.colour[paint], from, inner);
      if (skin.hatched !== null && skin.hatched[paint] === 1 && inner - from > 2) hatch.push(from, inner);
      if (to - from >= labelWidth) onBox(node, Math.max(left, 0), Math.min(right, width), top);
      drawn.boxes++;
      slot++;
    }
    const begin = Math.max(0, top);
    const stop = Math.min(height, top + win.pitch - win.gap);
    if (begin >= stop) continue;
    pixels.set(line, begin * width);
    for (let y = begin + 1; y < stop; y++) pixels.copyWithin(y * width, begin * width, (begin + 1) * width);
    for (let i = 0; i < hatch.length; i += 2) hatchBox(pixels, width, hatch[i], hatch[i + 1], top, begin, stop, skin.background, 6 * win.gap);
  }
  return drawn;
}

// A long run of narrow boxes: they are sorted by edge, not by width, so look ahead in blocks whose
// whole extent is under half a pixel.
function gallopNarrow(lay: Layout, scale: number, from: number, to: number): number {
  let block = 64;
  while (from + block <= to && (lay.x1[from + block - 1] - lay.x0[from]) * scale < 0.5) {
    from += block;
    block *= 2;
  }
  while (from < to && (lay.x1[from] - lay.x0[from]) * scale < 0.5) from++;
  return from;
}

// Diagonal stripes towards the background: added, removed and pruned boxes are told apart without
// colour.
function hatchBox(pixels: Uint32Array, width: number, left: number, right: number, top: number, from: number, to: number, background: number, period: number): void {
  const third = period / 3;
  for (let y = from; y < to; y++) {
    const at = y * width;
    for (let x = left; x < right; x++)
      if ((x + (y - top)) % period < third) pixels[at + x] = halfway(pixels[at + x], background);
  }
}

function halfway(a: number, b: number): number {
  // Three parts of a, one part of b, on all four bytes at once.
  const half = ((a >>> 1) & 0x7f7f7f7f) + ((b >>> 1) & 0x7f7f7f7f);
  return (((a >>> 1) & 0x7f7f7f7f) + ((half >>> 1) & 0x7f7f7f7f) | 0xff000000) >>> 0;
}

// The frame of each slot, so that counting hits reads memory in order. Kept as long as the layout.
const framesOf = new WeakMap<Layout, Uint32Array>();

export function prefixHits(lay: Layout, frameOfNode: Uint32Array, hitFrames: Uint8Array): Uint32Array {
  let frames = framesOf.get(lay);
  if (!frames) {
    frames = new Uint32Array(lay.node.length);
    for (let s = 0; s < frames.length; s++) frames[s] = frameOfNode[lay.node[s]];
    framesOf.set(lay, frames);
  }
  const before = new Uint32Array(frames.length + 1);
  let n = 0;
  for (let s = 0; s < frames.length; s++) before[s + 1] = n += hitFrames[frames[s]];
  return before;
}
