// Everything about one function: over time, by label, and the tree it stands in.
import { useAnswer, type Answer } from "../answer";
import { get } from "../api";
import { pointRate, type Amount, type Kind } from "../kinds";
import { view } from "../router";
import { meanGap, niceStep } from "../series";
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
  // Of the function with what it calls, and rates over time.
  amount: Amount;
  self: (number | null)[];
  total: (number | null)[];
  start: number;
  step: number;
  by: [string, Part[]][];
  spans: SpanRow[];
}

interface Reply extends Amount {
  series: { self: (number | null)[]; total: (number | null)[]; covered: number[]; step_ms: number; start_ms: number };
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
    const ask = (ms: number): Promise<Reply> => get<Reply>("function", [...params, ["name", name], ["step", `${ms / 1e3}s`]], signal);
    let reply = await ask(step);
    // Of profiles that come less often than the points, every other point would be a spike.
    const gap = meanGap([reply.series.total]);
    if (gap >= 1.5 && gap * 8 < POINTS) reply = await ask(niceStep(gap * reply.series.step_ms));
    const rates = (values: (number | null)[]): (number | null)[] => values.map((v, i) => pointRate(v, reply.series.covered[i], kind?.gauge ?? false));
    return { amount: reply, self: rates(reply.series.self), total: rates(reply.series.total), start: reply.series.start_ms, step: reply.series.step_ms, by: orderedBy(reply.by), spans: reply.spans ?? [] };
  });
}
