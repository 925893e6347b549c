// Cells of a heat map: columns of time, rows of a second's parts. A selection is a block of cells, kept
// as moments, so that it stays where it is when the range around it moves.

export interface HeatReply {
  from_ns: number;
  until_ns: number;
  column_ns: number;
  row_ns: number;
  columns: number;
  rows: number;
  untimed: number;
  cells: number[];
}

export interface Heat {
  // Milliseconds.
  from: number;
  column: number;
  row: number;
  columns: number;
  rows: number;
  cells: number[];
  // Colour is full here: few cells are above it, and they would leave all others dark.
  full: number;
  total: number;
  untimed: number;
}

export interface Block {
  // First and last moment (columns), first and last millisecond of a second (rows).
  from: number;
  until: number;
  low: number;
  high: number;
}

const FULL_AT = 0.995;

export function toHeat(reply: HeatReply): Heat {
  const seen = reply.cells.filter((v) => v > 0).sort((a, b) => a - b);
  return {
    from: reply.from_ns / 1e6, column: reply.column_ns / 1e6, row: reply.row_ns / 1e6, columns: reply.columns, rows: reply.rows, cells: reply.cells,
    full: seen.length ? seen[Math.min(seen.length - 1, Math.floor(seen.length * FULL_AT))] : 0,
    total: seen.reduce((a, b) => a + b, 0), untimed: reply.untimed,
  };
}

const SECOND = 1000;
const WIDTHS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].map((s) => s * SECOND);

// A second per column as long as columns stay wide enough to hit.
export function columnFor(span: number, width: number, least: number): number {
  return WIDTHS.find((w) => span / w <= width / least) ?? WIDTHS[WIDTHS.length - 1];
}

// Begins with a whole column, so that rows are parts of a second and not of something else.
export function aligned(from: number, until: number, column: number): [number, number] {
  return [Math.floor(from / column) * column, Math.max(Math.ceil(until / column) * column, Math.floor(from / column) * column + column)];
}

export function blockOf(heat: Heat, a: [number, number], b: [number, number]): Block {
  const clamp = (v: number, most: number): number => Math.max(0, Math.min(most - 1, v));
  const cols = [clamp(a[0], heat.columns), clamp(b[0], heat.columns)].sort((x, y) => x - y);
  const rows = [clamp(a[1], heat.rows), clamp(b[1], heat.rows)].sort((x, y) => x - y);
  return { from: heat.from + cols[0] * heat.column, until: heat.from + (cols[1] + 1) * heat.column, low: rows[0] * heat.row, high: (rows[1] + 1) * heat.row };
}

// Column and row of a block's two corners; may lie outside of the map.
export function cornersOf(heat: Heat, block: Block): [number, number, number, number] {
  const column = (ms: number): number => Math.round((ms - heat.from) / heat.column);
  return [column(block.from), Math.round(block.low / heat.row), column(block.until), Math.round(block.high / heat.row)];
}

export function sumOf(heat: Heat, block: Block): number {
  const [c0, r0, c1, r1] = cornersOf(heat, block);
  let sum = 0;
  for (let c = Math.max(0, c0); c < Math.min(heat.columns, c1); c++)
    for (let r = Math.max(0, r0); r < Math.min(heat.rows, r1); r++) sum += heat.cells[c * heat.rows + r];
  return sum;
}

// "UNTIL" is written as a length, which makes addresses shorter: FROM+LENGTH:LOW-HIGH
export function blockText(b: Block): string {
  return `${b.from}+${b.until - b.from}:${b.low}-${b.high}`;
}

export function readBlock(text: string | undefined): Block | null {
  const found = (text ?? "").match(/^(\d{1,16})[+ ](\d{1,12}):(\d{1,4})-(\d{1,4})$/);
  if (!found) return null;
  const [from, length, low, high] = found.slice(1).map(Number);
  if (length === 0 || low >= high || high > SECOND) return null;
  return { from, until: from + length, low, high };
}

// The server's parameter: UNIXMS:OFFSETMS:LENGTHMS:WIDTHMS.
export function cellsParam(b: Block): string {
  return `${b.from}:${b.low}:${b.high - b.low}:${b.until - b.from}`;
}

// 0 (nothing) .. 1 (full); a root, so that half as much does not look like almost nothing.
export function strengthOf(value: number, full: number): number {
  return value <= 0 || full <= 0 ? 0 : Math.max(0.12, Math.sqrt(Math.min(1, value / full)));
}
