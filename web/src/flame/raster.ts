// Boxes into pixels: one scan line per row is written into the picture and copied down the height of
// the row, then the picture goes to the canvas with one putImageData. The cost follows the pixels of a
// row, not the boxes of the tree: lines of boxes under half a pixel are stepped over (steps.ts).
// Nothing is allocated here: this runs sixty times a second.
import { firstBeyond, type Layout } from "./layout";
import { endOfNarrow } from "./steps";

export interface Skin {
  // The colour index of each slot: boxes of a frame share one, so that a new colour costs a frame, not
  // a million boxes; in a diff every box has its own.
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

// First slot in [from, to) whose left edge is at or beyond x.
function firstFrom(edges: Float64Array, x: number, from: number, to: number): number {
  while (from < to) {
    const mid = (from + to) >>> 1;
    if (edges[mid] < x) from = mid + 1;
    else to = mid;
  }
  return from;
}

export interface Drawn {
  // Boxes painted on their own, and boxes that went into a grey column.
  boxes: number;
  merged: number;
}

// Boxes that are wide enough for a label, as the painter met them; kept from frame to frame.
export class Labelled {
  count = 0;
  slot = new Uint32Array(256);
  left = new Float32Array(256);
  right = new Float32Array(256);
  top = new Int32Array(256);
  add(slot: number, left: number, right: number, top: number): void {
    if (this.count === this.slot.length) this.grow();
    this.slot[this.count] = slot;
    this.left[this.count] = left;
    this.right[this.count] = right;
    this.top[this.count++] = top;
  }
  private grow(): void {
    const size = this.slot.length * 2;
    const [slot, left, right, top] = [new Uint32Array(size), new Float32Array(size), new Float32Array(size), new Int32Array(size)];
    slot.set(this.slot);
    left.set(this.left);
    right.set(this.right);
    top.set(this.top);
    Object.assign(this, { slot, left, right, top });
  }
}

// One painter per canvas: it keeps what a frame needs from one to the next.
export class Painter {
  readonly labelled = new Labelled();
  readonly drawn: Drawn = { boxes: 0, merged: 0 };
  // Lines of pixels that hold rows: [above, below).
  above = 0;
  below = 0;
  private hatches = 0;
  private readonly hatch = new Int32Array(4096);

  // Boxes of at least `labelWidth` pixels are noted in `labelled`.
  paint(pixels: Uint32Array, lay: Layout, skin: Skin, win: Window, labelWidth: number): Drawn {
    const { width, height, gap } = win;
    this.labelled.count = 0;
    this.drawn.boxes = this.drawn.merged = 0;
    const [first, last] = visibleRows(win, lay.rows);
    let from = height;
    let to = 0;
    for (let depth = first; depth <= last; depth++) {
      const top = rowTop(win, depth);
      const begin = Math.max(0, top);
      const stop = Math.min(height, top + win.pitch - gap);
      if (begin < stop) {
        this.row(pixels, begin * width, lay, skin, win, depth, top, labelWidth);
        copyDown(pixels, width, begin, stop);
        this.stripes(pixels, width, top, begin, stop, skin.background, 6 * gap);
      }
      const end = Math.min(height, Math.max(0, top + win.pitch));
      pixels.fill(skin.background, Math.max(begin, stop) * width, end * width);
      from = Math.min(from, begin);
      to = Math.max(to, end);
    }
    // Above and below the rows there is nothing.
    pixels.fill(skin.background, 0, Math.min(from, height) * width);
    pixels.fill(skin.background, Math.max(from, to) * width);
    this.above = Math.min(from, to);
    this.below = to;
    return this.drawn;
  }

  // The scan line of one row, at `at`.
  private row(pixels: Uint32Array, at: number, lay: Layout, skin: Skin, win: Window, depth: number, top: number, labelWidth: number): void {
    const { x0, x1 } = lay;
    const { width, gap } = win;
    const { paintOf, colour, hatched } = skin;
    const scale = width / (win.x1 - win.x0);
    const least = 0.5 / scale;
    const end = lay.rowStart[depth + 1];
    let boxes = 0;
    this.hatches = 0;
    pixels.fill(skin.background, at, at + width);
    let slot = firstBeyond(x1, win.x0, lay.rowStart[depth], end);
    while (slot < end && x0[slot] < win.x1) {
      if (x1[slot] - x0[slot] < least) {
        const next = endOfNarrow(x0, x1, lay.steps, slot, end, least, 1 / scale, win.x1);
        this.line(pixels, at, lay, skin, win, slot, next);
        this.drawn.merged += next - slot;
        slot = next;
        continue;
      }
      const left = (x0[slot] - win.x0) * scale;
      const right = (x1[slot] - win.x0) * scale;
      const from = left <= 0 ? 0 : Math.min(width - 1, (left + 0.5) | 0);
      let to = right >= width ? width : (right + 0.5) | 0;
      if (to <= from) to = from + 1;
      // A gap between boxes, when there is room for one.
      const inner = to - from > 3 * gap && right <= width ? to - gap : to;
      const paint = paintOf[slot];
      const pixel = colour[paint];
      if (inner - from < 16) for (let x = at + from; x < at + inner; x++) pixels[x] = pixel;
      else pixels.fill(pixel, at + from, at + inner);
      if (hatched !== null && hatched[paint] === 1 && inner - from > 2 && this.hatches < this.hatch.length) {
        this.hatch[this.hatches++] = from;
        this.hatch[this.hatches++] = inner;
      }
      if (to - from >= labelWidth) this.labelled.add(slot, Math.max(left, 0), Math.min(right, width), top);
      boxes++;
      slot++;
    }
    this.drawn.boxes += boxes;
  }

  // A line of narrow boxes: grey where nothing else is, the colour of hits in columns that hold one.
  private line(pixels: Uint32Array, at: number, lay: Layout, skin: Skin, win: Window, from: number, to: number): void {
    const scale = win.width / (win.x1 - win.x0);
    const first = Math.max(0, Math.floor((lay.x0[from] - win.x0) * scale));
    const last = Math.min(win.width - 1, Math.floor((lay.x0[to - 1] - win.x0) * scale));
    const hits = skin.hitsBefore;
    for (let c = at + first; c <= at + last; c++) if (pixels[c] === skin.background) pixels[c] = skin.merged;
    if (hits === null || hits[to] === hits[from]) return;
    let slot = from;
    for (let c = first; c <= last && slot < to; c++) {
      const next = c === last ? to : firstFrom(lay.x0, win.x0 + (c + 1) / scale, slot, to);
      if (hits[next] > hits[slot]) pixels[at + c] = skin.hit;
      slot = next;
    }
  }

  private stripes(pixels: Uint32Array, width: number, top: number, from: number, to: number, background: number, period: number): void {
    for (let i = 0; i < this.hatches; i += 2) hatchBox(pixels, width, this.hatch[i], this.hatch[i + 1], top, from, to, background, period);
  }
}

// Line `from` into all lines up to `to`, twice as many at a time.
function copyDown(pixels: Uint32Array, width: number, from: number, to: number): void {
  let done = 1;
  while (from + done < to) {
    const lines = Math.min(done, to - from - done);
    pixels.copyWithin((from + done) * width, from * width, (from + lines) * width);
    done += lines;
  }
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

// Hits before each slot. The array is the layout's own and is written again by the next search.
const hitsOf = new WeakMap<Layout, Uint32Array>();

export function prefixHits(lay: Layout, hitFrames: Uint8Array): Uint32Array {
  const { frame } = lay;
  let before = hitsOf.get(lay);
  if (!before) hitsOf.set(lay, (before = new Uint32Array(frame.length + 1)));
  let n = 0;
  for (let s = 0; s < frame.length; s++) before[s + 1] = n += hitFrames[frame[s]];
  return before;
}
