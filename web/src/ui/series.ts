// Values over time, made ready to be drawn: one grid for all groups, in points that fit the data.
import { get } from "./api";
import { pointRate, type Amount } from "./kinds";

export interface SeriesReply {
  type: string;
  unit: string;
  from_ns: number;
  until_ns: number;
  step_ns: number;
  aggregate: string;
  series: (Amount & { labels: Record<string, string>; other?: boolean; start_ns: number; values: (number | null)[]; covered: number[] })[];
}

export interface Group {
  name: string;
  // The groups beyond the limit, together.
  other: boolean;
  // One rate per point of the grid; null where nothing was measured.
  values: (number | null)[];
  total: number;
}

export interface Grid {
  // Beginning of each point, and how long a point is, in milliseconds.
  times: number[];
  step: number;
  from: number;
  until: number;
  groups: Group[];
}

// Widths of a point that fit how often profiles usually come: a point then holds as many as the next.
const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].map((s) => s * 1e3);
const POINTS = 240;

export function niceStep(atLeast: number): number {
  return STEPS.find((s) => s >= atLeast * 0.98) ?? Math.ceil(atLeast / 86400e3) * 86400e3;
}

// Points from one measurement to the next, on the average: a profile a minute in points of 15 s is 4.
export function meanGap(values: (number | null)[][]): number {
  const length = Math.max(0, ...values.map((v) => v.length));
  let [first, last, n] = [-1, -1, 0];
  for (let i = 0; i < length; i++) {
    if (!values.some((v) => v[i] != null)) continue;
    if (first < 0) first = i;
    last = i;
    n++;
  }
  return n < 3 ? 1 : (last - first) / (n - 1);
}

// Asks for `span` milliseconds in points of a fitting width; again with wider ones when profiles come
// less often than that, so that there are no gaps and spikes that only the drawing made.
export async function askGrid(params: [string, string][], span: number, by: string, signal: AbortSignal): Promise<Grid> {
  const step = isFinite(span) && span > 0 ? niceStep(span / POINTS) : 0;
  const ask = (ms: number): Promise<SeriesReply> => get<SeriesReply>("series", ms > 0 ? [...params, ["step", `${ms / 1e3}s`]] : params, signal);
  let reply = await ask(step);
  const gap = meanGap(reply.series.map((s) => s.values));
  if (gap >= 1.5 && gap * 8 < POINTS) reply = await ask(niceStep((gap * reply.step_ns) / 1e6));
  return toGrid(reply, by);
}

export function toGrid(reply: SeriesReply, by: string): Grid {
  const gauge = reply.aggregate === "gauge";
  const step = reply.step_ns / 1e6;
  const from = reply.from_ns / 1e6;
  const until = reply.until_ns / 1e6;
  const start = Math.min(...reply.series.map((s) => s.start_ns / 1e6), isFinite(from) ? from - (from % step) : Infinity);
  const points = Math.max(1, Math.ceil((until - start) / step));
  const aligned = reply.series.map((s) => {
    const shift = Math.round((s.start_ns / 1e6 - start) / step);
    const values = new Array<number | null>(points).fill(null);
    s.values.forEach((v, i) => (values[i + shift] = pointRate(v, s.covered[i], gauge)));
    return values.slice(0, points);
  });
  const groups = reply.series.map((s, i): Group => ({ name: s.other ? "other" : by ? s.labels[by] ?? "" : "", other: s.other === true, values: aligned[i], total: s.total ?? 0 }));
  groups.sort((a, b) => Number(a.other) - Number(b.other) || b.total - a.total || (a.name < b.name ? -1 : 1));
  return { times: Array.from({ length: points }, (_, i) => start + i * step), step, from, until, groups };
}
