// Decoder of VFT, the tree a flame graph is drawn from (docs/formats/vft.md).
// Sections are views into the buffer, nothing is copied; every index is checked here once, so that
// the rest of the program may trust it.

export interface SampleType {
  name: string;
  unit: string;
}

export interface Meta {
  title: string;
  subtitle: string;
  generator: string;
  types: SampleType[];
  defaultType: number;
  diff: boolean;
  names: [string, string];
  totals: number[];
  scale: number[];
  timeNs: string;
  durationNs: number;
  nodesTotal: number;
  nodesPruned: number;
  prunedShare: number;
  functionsTotal: number;
  notes: string[];
  // Time of the server in milliseconds; 0 without a server.
  tookMs: number;
  // The server's data about its response: totals and statistics.
  answer: Record<string, unknown>;
}

export interface FrameTable {
  count: number;
  name: Uint32Array;
  module: Uint32Array;
  file: Uint32Array;
  line: Uint32Array;
  kind: Uint32Array;
}

// The server's verdict on each row's total in a diff.
export interface Verdicts {
  verdict: Uint32Array;
  pValue: Float64Array;
  shareChange: Float64Array;
  shareError: Float64Array;
}

export interface FunctionTable {
  count: number;
  frame: Uint32Array;
  self: Float64Array[];
  total: Float64Array[];
  verdicts: Verdicts | null;
}

export interface Vft {
  meta: Meta;
  nodes: number;
  parent: Uint32Array;
  frame: Uint32Array;
  self: Float64Array[];
  frames: FrameTable;
  table: FunctionTable;
  strings: StringTable;
}

export class VftError extends Error {}

// Strings are decoded on demand: labels need only a few hundred of a million.
export class StringTable {
  private readonly cache: (string | undefined)[];
  private readonly decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  private plain: string | undefined;
  constructor(
    private readonly offsets: Uint32Array,
    private readonly bytes: Uint8Array,
  ) {
    this.cache = new Array<string | undefined>(offsets.length - 1);
  }
  get count(): number {
    return this.cache.length;
  }
  // All of it in one text where every byte is a letter, as names mostly are: parts of that cost next to nothing.
  private whole(): string {
    if (this.plain === undefined) {
      const text = this.decoder.decode(this.bytes);
      this.plain = text.length === this.bytes.length ? text : "";
    }
    return this.plain;
  }
  get(index: number): string {
    let text = this.cache[index];
    if (text === undefined) {
      const [from, until] = [this.offsets[index], this.offsets[index + 1]];
      const whole = this.whole();
      text = whole !== "" ? whole.slice(from, until) : this.decoder.decode(this.bytes.subarray(from, until));
      this.cache[index] = text;
    }
    return text;
  }
}

class Cursor {
  private at = 0;
  constructor(private readonly buffer: ArrayBuffer) {}
  private take(bytes: number, what: string): number {
    const start = this.at;
    if (start + bytes > this.buffer.byteLength) throw new VftError(`the data ends inside its ${what}`);
    this.at = Math.ceil((start + bytes) / 8) * 8;
    return start;
  }
  u32(count: number, what: string): Uint32Array {
    return new Uint32Array(this.buffer, this.take(count * 4, what), count);
  }
  u8(count: number, what: string): Uint8Array {
    return new Uint8Array(this.buffer, this.take(count, what), count);
  }
  columns(count: number, runs: number, what: string): Float64Array[] {
    const start = this.take(count * runs * 8, what);
    return Array.from({ length: runs }, (_, i) => new Float64Array(this.buffer, start + i * count * 8, count));
  }
}

function checkBelow(values: Uint32Array, limit: number, what: string): void {
  for (let i = 0; i < values.length; i++)
    if (values[i] >= limit) throw new VftError(`${what} ${i} points outside its table`);
}

function checkValues(columns: Float64Array[], what: string): void {
  for (const column of columns)
    for (let i = 0; i < column.length; i++)
      if (!(column[i] >= 0 && column[i] < Infinity)) throw new VftError(`${what} ${i} is not a number`);
}

export function decodeVft(buffer: ArrayBuffer): Vft {
  const bytes = new Uint8Array(buffer);
  const magic = String.fromCharCode(...bytes.subarray(0, 4));
  if (magic.slice(0, 3) === "VFT" && magic !== "VFT1")
    throw new VftError(`the data has version ${magic.slice(3)}, this page reads version 1`);
  if (magic !== "VFT1") throw new VftError("the data does not begin like a flame tree");

  const cursor = new Cursor(buffer);
  const metaBytes = cursor.u32(2, "header")[1];
  const meta = readMeta(cursor.u8(metaBytes, "description"));
  const [n, m, k, r, c, b, v] = cursor.u32(8, "counts");
  if (n === 0 || m === 0 || k === 0) throw new VftError("the data has no root");
  if (c !== meta.types.length * (meta.diff ? 2 : 1)) throw new VftError("the columns do not fit the types");

  const parent = cursor.u32(n, "nodes");
  const frame = cursor.u32(n, "nodes");
  const self = cursor.columns(n, c, "node values");
  const frames: FrameTable = {
    count: m,
    name: cursor.u32(m, "frame names"),
    module: cursor.u32(m, "frame modules"),
    file: cursor.u32(m, "frame files"),
    line: cursor.u32(m, "frame lines"),
    kind: cursor.u32(m, "frame kinds"),
  };
  const table: FunctionTable = {
    count: r,
    frame: cursor.u32(r, "function table"),
    self: cursor.columns(r, c, "function table"),
    total: cursor.columns(r, c, "function table"),
    verdicts: null,
  };
  const offsets = cursor.u32(k + 1, "strings");
  const text = cursor.u8(b, "strings");
  if (v > 0) table.verdicts = readVerdicts(cursor, r);

  for (let i = 1; i < n; i++) if (parent[i] >= i) throw new VftError(`node ${i} comes before its parent`);
  if (parent[0] !== 0) throw new VftError("node 0 is not the root");
  checkBelow(frame, m, "the frame of node");
  checkBelow(table.frame, m, "the frame of row");
  for (const column of [frames.name, frames.module, frames.file, frames.kind]) checkBelow(column, k, "a string of frame");
  for (let i = 0; i < k; i++) if (offsets[i] > offsets[i + 1]) throw new VftError(`string ${i} ends before it begins`);
  if (offsets[k] > b) throw new VftError("a string ends outside the data");
  checkValues(self, "the value of node");
  checkValues(table.self, "the value of row");
  checkValues(table.total, "the value of row");
  return { meta, nodes: n, parent, frame, self, frames, table, strings: new StringTable(offsets, text) };
}

function readVerdicts(cursor: Cursor, rows: number): Verdicts {
  const verdict = cursor.u32(rows, "verdicts");
  const [pValue, shareChange, shareError] = [0, 1, 2].map(() => cursor.columns(rows, 1, "verdicts")[0]);
  checkBelow(verdict, 6, "the verdict of row");
  checkValues([pValue, shareError], "the verdict of row");
  for (let i = 0; i < rows; i++) if (!isFinite(shareChange[i])) throw new VftError(`the verdict of row ${i} is not a number`);
  return { verdict, pValue, shareChange, shareError };
}

// Meta is JSON from outside: take only what has the right type.
function readMeta(bytes: Uint8Array): Meta {
  let raw: Record<string, unknown>;
  try {
    raw = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  } catch {
    throw new VftError("the description of the data is not JSON");
  }
  const str = (v: unknown): string => (typeof v === "string" ? v : "");
  const num = (v: unknown): number => (typeof v === "number" && isFinite(v) ? v : 0);
  const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
  const types = list(raw.types).map((t) => {
    const type = (t ?? {}) as Record<string, unknown>;
    return { name: str(type.name), unit: str(type.unit) };
  });
  if (types.length === 0) throw new VftError("the data names no sample type");
  const diff = raw.diff === true;
  const columns = types.length * (diff ? 2 : 1);
  const perColumn = (v: unknown, otherwise: number): number[] => {
    const given = list(v);
    return Array.from({ length: columns }, (_, i) => (typeof given[i] === "number" ? num(given[i]) : otherwise));
  };
  const names = list(raw.names).map(str);
  return {
    title: str(raw.title),
    subtitle: str(raw.subtitle),
    generator: str(raw.generator),
    types,
    defaultType: Math.min(Math.max(0, Math.trunc(num(raw.default_type))), types.length - 1),
    diff,
    names: [names[0] || "before", names[1] || "after"],
    totals: perColumn(raw.totals, NaN),
    scale: perColumn(raw.scale, 1),
    timeNs: str(raw.time_ns),
    durationNs: Number(str(raw.duration_ns)) || 0,
    nodesTotal: num(raw.nodes_total),
    nodesPruned: num(raw.nodes_pruned),
    prunedShare: num(raw.pruned_share),
    functionsTotal: num(raw.functions_total),
    notes: list(raw.notes).map(str).filter(Boolean),
    tookMs: num(raw.took_ms),
    answer: typeof raw.answer === "object" && raw.answer !== null ? (raw.answer as Record<string, unknown>) : {},
  };
}
