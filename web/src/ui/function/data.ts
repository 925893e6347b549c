// Everything about one function: over time, by label, and the tree it stands in.
import { useAnswer, type Answer } from "../answer";
import { ApiError, get } from "../api";
import type { Kind } from "../kinds";
import { view } from "../router";
import { niceStep, toGrid, type SeriesReply } from "../series";
import { toMs } from "../time";
import { filterParams, question } from "../view";
import { ORDER, orderedBy, type Part } from "./near";

export interface SpanRow {
  trace_id: string;
  span_id: string;
  service?: string;
  operation?: string;
  duration_ns?: number;
  value?: number;
}

export interface About {
  self: (number | null)[];
  total: (number | null)[];
  start: number;
  step: number;
  by: [string, Part[]][];
  spans: SpanRow[];
}

interface Reply {
  series: { self: (number | null)[]; total: (number | null)[]; step_ms: number; start_ms: number };
  by: Record<string, Part[]>;
  spans?: SpanRow[];
}

const POINTS = 120;
const LEAST_STEP = 10e3;
const MOST_LABELS = 8;

async function fromSeries(params: [string, string][], name: string, step: number, signal: AbortSignal): Promise<About> {
  const of = (more: [string, string][]): Promise<SeriesReply> => get<SeriesReply>("series", [...params, ["function", name], ...more], signal);
  const steps: [string, string] = ["step", `${step / 1e3}s`];
  const [total, self] = (await Promise.all([of([steps]), of([steps, ["self", "true"]])])).map((r) => toGrid(r, ""));
  const names = (await get<{ names: string[] }>("labels", { query: params[0][1] }, signal)).names.filter((n) => ORDER.includes(n)).slice(0, MOST_LABELS);
  const by: Record<string, Part[]> = {};
  await Promise.all(names.map(async (label) => {
    const more: [string, string][] = [["by", label], ["limit", "20"], steps];
    const [all, own] = (await Promise.all([of(more), of([...more, ["self", "true"]])])).map((r) => toGrid(r, label));
    const selfOf = new Map(own.groups.map((g) => [g.name, g.sum]));
    by[label] = all.groups.filter((g) => g.sum > 0).map((g) => ({ value: g.name, total: g.sum, self: selfOf.get(g.name) ?? 0 }));
  }));
  return { self: self.groups[0]?.values ?? [], total: total.groups[0]?.values ?? [], start: total.times[0] ?? NaN, step: total.step, by: orderedBy(by), spans: [] };
}

export function useAbout(name: string, kind: Kind | undefined): Answer<About> {
  const v = view.value;
  const params: [string, string][] = [...question({ ...v, type: kind?.id ?? "" }), ...filterParams(v)];
  return useAnswer(kind && name ? JSON.stringify([params, name]) : null, async (signal) => {
    const now = Date.now();
    const step = Math.max(LEAST_STEP, niceStep((toMs(v.until, now) - toMs(v.from, now)) / POINTS));
    try {
      const reply = await get<Reply>("function", [...params, ["name", name], ["step", `${step / 1e3}s`]], signal);
      return { self: reply.series.self, total: reply.series.total, start: reply.series.start_ms, step: reply.series.step_ms, by: orderedBy(reply.by), spans: reply.spans ?? [] };
    } catch (e) {
      if (!(e instanceof ApiError) || e.status !== 404) throw e;
      return fromSeries(params, name, step, signal);
    }
  });
}
