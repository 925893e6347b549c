// A decoded file: names, functions, and the values of one sample type for one or two sides.
import type { Layout } from "./layout";
import type { Tree } from "./tree";
import type { Meta, Vft } from "./vft";

// One side for a profile, two (before, after) for a diff.
export interface Choice {
  type: number;
  normalise: boolean;
  swap: boolean;
}

export interface Columns {
  self: Float64Array[];
  tableSelf: Float64Array[];
  tableTotal: Float64Array[];
  totals: number[];
  // The factor applied to the values.
  factors: number[];
}

export class Model {
  readonly meta: Meta;
  // Function of each frame: frames of one function differ only by their line.
  readonly funcOf: Uint32Array;
  readonly funcs: number;
  // A representative frame of the function, and its row in the exact table (or -1).
  readonly funcFrame: Uint32Array;
  readonly funcRow: Int32Array;
  // Place of each frame in the alphabet; pruned frames come last.
  readonly nameRank: Uint32Array;
  readonly pruned: Uint8Array;
  // Total of each column as the file states it, or the sum of its nodes.
  readonly totals: number[];
  // Tree and layout (by name) of the first type, if a worker computed them.
  prepared: { tree: Tree; lay: Layout } | null = null;

  constructor(readonly vft: Vft) {
    this.meta = vft.meta;
    const { frames, strings, table } = vft;
    this.pruned = new Uint8Array(frames.count);
    for (let f = 0; f < frames.count; f++) this.pruned[f] = strings.get(frames.kind[f]) === "pruned" ? 1 : 0;

    this.funcOf = new Uint32Array(frames.count);
    const ids = new Map<number, number>();
    const representative: number[] = [];
    for (let f = 0; f < frames.count; f++) {
      // The root is a separate function, even if another one is called "all".
      const key = f === 0 ? -1 : this.pruned[f] ? -2 : frames.name[f] * strings.count + frames.module[f];
      let id = ids.get(key);
      if (id === undefined) {
        id = representative.length;
        ids.set(key, id);
        representative.push(f);
      }
      this.funcOf[f] = id;
    }
    this.funcFrame = Uint32Array.from(representative);
    this.funcs = representative.length;
    this.funcRow = new Int32Array(this.funcs).fill(-1);
    for (let r = table.count - 1; r >= 0; r--) this.funcRow[this.funcOf[table.frame[r]]] = r;
    this.nameRank = this.rankNames();
    this.totals = vft.self.map((column, c) => (isNaN(vft.meta.totals[c]) ? column.reduce((a, b) => a + b, 0) : vft.meta.totals[c]));
  }

  private rankNames(): Uint32Array {
    const { frames, strings } = this.vft;
    // A name is compared once, however many lines of its function there are.
    const used = new Uint8Array(strings.count);
    for (let f = 0; f < frames.count; f++) used[frames.name[f]] = 1;
    const ids: number[] = [];
    used.forEach((is, s) => is && ids.push(s));
    const texts = new Map(ids.map((s) => [s, strings.get(s)]));
    const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
    ids.sort((a, b) => compare(texts.get(a) as string, texts.get(b) as string));
    const place = new Uint32Array(strings.count);
    ids.forEach((s, i) => (place[s] = i));
    // Frames by pruned or not, then by name, then as they come.
    const start = new Uint32Array(2 * ids.length + 1);
    const slot = (f: number): number => this.pruned[f] * ids.length + place[frames.name[f]];
    for (let f = 0; f < frames.count; f++) start[slot(f) + 1]++;
    for (let i = 0; i < start.length - 1; i++) start[i + 1] += start[i];
    const rank = new Uint32Array(frames.count);
    for (let f = 0; f < frames.count; f++) rank[f] = start[slot(f)]++;
    return rank;
  }

  name(frame: number): string {
    return this.vft.strings.get(this.vft.frames.name[frame]);
  }
  module(frame: number): string {
    return this.vft.strings.get(this.vft.frames.module[frame]);
  }
  kind(frame: number): string {
    return this.vft.strings.get(this.vft.frames.kind[frame]);
  }
  // "json.cc:214", or "" when the file is not known.
  place(frame: number): string {
    const file = this.vft.strings.get(this.vft.frames.file[frame]);
    const line = this.vft.frames.line[frame];
    return file === "" ? "" : line > 0 ? `${file}:${line}` : file;
  }

  findFunction(name: string, module: string): number {
    for (let func = 0; func < this.funcs; func++) {
      const frame = this.funcFrame[func];
      if (this.name(frame) === name && this.module(frame) === module) return func;
    }
    return -1;
  }

  columns(choice: Choice): Columns {
    const { vft, meta } = this;
    const pick = meta.diff ? [choice.type * 2, choice.type * 2 + 1] : [choice.type];
    if (choice.swap && meta.diff) pick.reverse();
    const scaled = (column: Float64Array, by: number): Float64Array => (by === 1 ? column : column.map((v) => v * by));
    const factor = (c: number): number => (meta.diff && choice.normalise ? meta.scale[c] : 1);
    return {
      self: pick.map((c) => scaled(vft.self[c], factor(c))),
      tableSelf: pick.map((c) => scaled(vft.table.self[c], factor(c))),
      tableTotal: pick.map((c) => scaled(vft.table.total[c], factor(c))),
      totals: pick.map((c) => this.totals[c] * factor(c)),
      factors: pick.map(factor),
    };
  }

  // Totals of a type's two sides as measured, in the order shown.
  sideTotals(type: number, swap: boolean): [number, number] {
    const [a, b] = [this.totals[type * 2], this.totals[type * 2 + 1]];
    return swap ? [b, a] : [a, b];
  }

  // Names of the two sides in the order shown.
  sideNames(swap: boolean): [string, string] {
    const [a, b] = this.meta.names;
    return swap ? [b, a] : [a, b];
  }

  // The column pair that counts samples, for judging noise; -1 when there is none.
  sampleType(): number {
    return this.meta.types.findIndex((t) => t.name === "samples" && t.unit === "count");
  }
}
