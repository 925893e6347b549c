// Two trees as the two sides of a diff, where the answer with both sides is not the server's to give:
// two selections of one heat map, two files.
import { StringTable, type FrameTable, type Meta, type SampleType, type Vft } from "./vft";
import { Model } from "./model";

class Strings {
  private readonly index = new Map<string, number>([["", 0]]);
  private readonly list: string[] = [""];
  id(text: string): number {
    let at = this.index.get(text);
    if (at === undefined) {
      at = this.list.length;
      this.index.set(text, at);
      this.list.push(text);
    }
    return at;
  }
  table(): StringTable {
    const bytes = new TextEncoder();
    const parts = this.list.map((s) => bytes.encode(s));
    const offsets = new Uint32Array(parts.length + 1);
    parts.forEach((p, i) => (offsets[i + 1] = offsets[i] + p.length));
    const all = new Uint8Array(offsets[parts.length]);
    parts.forEach((p, i) => all.set(p, offsets[i]));
    return new StringTable(offsets, all);
  }
}

// Frames of both sides in one table: what is called the same at the same place is the same frame.
export class Frames {
  readonly strings = new Strings();
  private readonly index = new Map<string, number>();
  private readonly rows: number[][] = [];
  add(model: Model, frame: number): number {
    const { frames, strings } = model.vft;
    const text = (column: Uint32Array): number => this.strings.id(strings.get(column[frame]));
    // The pruned parts of a tree are one frame.
    const name = model.pruned[frame] ? this.strings.id("left out") : text(frames.name);
    const row = [name, text(frames.module), text(frames.file), frames.line[frame], text(frames.kind)];
    const key = frame === 0 ? "root" : row.join("/");
    let at = this.index.get(key);
    if (at === undefined) {
      at = this.rows.length;
      this.index.set(key, at);
      this.rows.push(row);
    }
    return at;
  }
  // A frame for a group of stacks, not a function.
  group(name: string): number {
    const at = this.rows.length;
    this.rows.push([this.strings.id(name), 0, 0, 0, this.strings.id("group")]);
    return at;
  }
  // Two frames with the same key are lines of one function.
  functionOf(frame: number): string {
    return `${this.rows[frame][0]}/${this.rows[frame][1]}`;
  }
  table(): FrameTable {
    const column = (c: number): Uint32Array => Uint32Array.from(this.rows, (r) => r[c]);
    return { count: this.rows.length, name: column(0), module: column(1), file: column(2), line: column(3), kind: column(4) };
  }
}

interface Side {
  model: Model;
  type: number;
  // Frame of the model to frame of both.
  frame: Uint32Array;
}

// The type of `model` that is the same as `wanted`; -1 when there is none.
export function sameType(model: Model, wanted: SampleType): number {
  return model.meta.types.findIndex((t) => t.name === wanted.name && t.unit === wanted.unit);
}

function mergeNodes(sides: Side[]): { parent: number[]; frame: number[]; self: number[][] } {
  const parent = [0];
  const frame = [0];
  const self: number[][] = [[0], [0]];
  const child = new Map<string, number>();
  sides.forEach(({ model, type, frame: to }, s) => {
    const { vft } = model;
    const column = vft.self[type];
    const at = new Uint32Array(vft.nodes);
    self[s][0] += column[0];
    for (let i = 1; i < vft.nodes; i++) {
      const above = at[vft.parent[i]];
      const own = to[vft.frame[i]];
      const key = `${above}/${own}`;
      let node = child.get(key);
      if (node === undefined) {
        node = parent.length;
        child.set(key, node);
        parent.push(above);
        frame.push(own);
        self[0].push(0);
        self[1].push(0);
      }
      at[i] = node;
      self[s][node] += column[i];
    }
  });
  return { parent, frame, self };
}

function mergeTable(sides: Side[], names: Frames): Vft["table"] {
  const rows = new Map<string, number>();
  const frames: number[] = [];
  const values: number[][] = [[], [], [], []];
  sides.forEach(({ model, type, frame: to }, s) => {
    const { table } = model.vft;
    for (let r = 0; r < table.count; r++) {
      const frame = to[table.frame[r]];
      const key = names.functionOf(frame);
      let row = rows.get(key);
      if (row === undefined) {
        row = frames.length;
        rows.set(key, row);
        frames.push(frame);
        for (const run of values) run.push(0);
      }
      values[s][row] += table.self[type][r];
      values[2 + s][row] += table.total[type][r];
    }
  });
  const column = (i: number): Float64Array => Float64Array.from(values[i]);
  return { count: frames.length, frame: Uint32Array.from(frames), self: [column(0), column(1)], total: [column(2), column(3)], verdicts: null };
}

// `before` and `after` over the type `after` shows first, which both must have.
export function diffOf(before: Model, after: Model, names: [string, string]): Model | null {
  const wanted = after.meta.types[after.meta.defaultType];
  const types = [sameType(before, wanted), after.meta.defaultType];
  if (types[0] < 0) return null;
  const frames = new Frames();
  const sides = [before, after].map((model, s): Side => ({
    model, type: types[s], frame: Uint32Array.from({ length: model.vft.frames.count }, (_, f) => frames.add(model, f)),
  }));
  const nodes = mergeNodes(sides);
  const table = mergeTable(sides, frames);
  const totals = sides.map((side) => side.model.totals[side.type]);
  const sum = (pick: (m: Meta) => number): number => pick(before.meta) + pick(after.meta);
  const meta: Meta = {
    ...after.meta, types: [wanted], defaultType: 0, diff: true, names, totals,
    // The side with more is scaled down to the other.
    scale: totals[0] > 0 && totals[1] > 0 ? totals.map((t) => Math.min(...totals) / t) : [1, 1],
    nodesTotal: sum((m) => m.nodesTotal), nodesPruned: sum((m) => m.nodesPruned), prunedShare: Math.max(before.meta.prunedShare, after.meta.prunedShare),
    functionsTotal: table.count, notes: [...new Set([...before.meta.notes, ...after.meta.notes])],
  };
  return new Model({
    meta, nodes: nodes.parent.length, parent: Uint32Array.from(nodes.parent), frame: Uint32Array.from(nodes.frame), self: nodes.self.map((run) => Float64Array.from(run)),
    frames: frames.table(), table, strings: frames.strings.table(),
  });
}
