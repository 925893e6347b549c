// Everything about one function: over time, by label, and the tree it stands in.
import { useAnswer, type Answer } from "../answer";
import { get } from "../api";
import type { Kind } from "../kinds";
import { view } from "../router";
import { niceStep } from "../series";
import { toMs } from "../time";
import { filterParams, question } from "../view";
import { orderedBy, type Part } from "./near";

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

export function useAbout(name: string, kind: Kind | undefined): Answer<About> {
  const v = view.value;
  const params: [string, string][] = [...question({ ...v, type: kind?.id ?? "" }), ...filterParams(v)];
  return useAnswer(kind && name ? JSON.stringify([params, name]) : null, async (signal) => {
    const now = Date.now();
    const step = Math.max(LEAST_STEP, niceStep((toMs(v.until, now) - toMs(v.from, now)) / POINTS));
    const reply = await get<Reply>("function", [...params, ["name", name], ["step", `${step / 1e3}s`]], signal);
    return { self: reply.series.self, total: reply.series.total, start: reply.series.start_ms, step: reply.series.step_ms, by: orderedBy(reply.by), spans: reply.spans ?? [] };
  });
}
