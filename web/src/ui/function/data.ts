// Everything about one function: over time, by label, and the tree it stands in.
import { neighbours, makeTree, type Model } from "../../flame";
import { useAnswer, type Answer } from "../answer";
import { ApiError, get } from "../api";
import type { Kind } from "../kinds";
import { view } from "../router";
import { niceStep, toGrid, type SeriesReply } from "../series";
import { toMs } from "../time";
import { filterParams, question } from "../view";

export interface Part {
  value: string;
  self: number;
  total: number;
}

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

const ORDER = ["service_name", "commit", "service_version", "service.version", "version", "thread.name", "thread", "span_name"];

// The labels people ask about first; then those that tell most apart.
export function orderedBy(by: Record<string, Part[]>): [string, Part[]][] {
  const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const largest = (list: Part[]): Part[] => [...list].sort((a, b) => b.total - a.total || (a.value < b.value ? -1 : 1));
  return Object.entries(by)
    // The same service under its second name, and labels nothing differs by, say nothing.
    .filter(([name, list]) => list.some((p) => p.value !== "") && !(name === "service.name" && by.service_name) && (list.length > 1 || rank(name) < ORDER.length))
    .map(([name, list]): [string, Part[]] => [name, largest(list)])
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
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

export interface Neighbours {
  // One name may be a function of several modules.
  modules: string[];
  place: string;
  self: number;
  total: number;
  whole: number;
  callers: { name: string; share: number }[];
  callees: { name: string; share: number }[];
}

function added(lists: { func: number; value: number[] }[][], model: Model, total: number): { name: string; share: number }[] {
  const sums = new Map<string, number>();
  for (const n of lists.flat()) {
    const frame = model.funcFrame[n.func];
    const name = frame === 0 ? "" : model.name(frame);
    sums.set(name, (sums.get(name) ?? 0) + n.value[0]);
  }
  return [...sums].sort((a, b) => b[1] - a[1]).map(([name, value]) => ({ name, share: total > 0 ? value / total : 0 }));
}

// The functions of this name as the tree has them.
export function around(model: Model, name: string): Neighbours | null {
  const type = model.meta.defaultType;
  const { table } = model.vft;
  const funcs: number[] = [];
  for (let f = 1; f < model.funcs; f++) if (!model.pruned[model.funcFrame[f]] && model.name(model.funcFrame[f]) === name) funcs.push(f);
  if (funcs.length === 0) return null;
  const valueOf = (column: Float64Array[], f: number): number => (model.funcRow[f] >= 0 ? column[type][model.funcRow[f]] : 0);
  funcs.sort((a, b) => valueOf(table.total, b) - valueOf(table.total, a));
  const tree = makeTree(model.vft.parent, model.vft.frame, model.columns({ type, normalise: false, swap: false }).self);
  const near = funcs.map((f) => neighbours(tree, model, f));
  const sum = (column: Float64Array[]): number => funcs.reduce((all, f) => all + valueOf(column, f), 0);
  const total = sum(table.total);
  return {
    modules: [...new Set(funcs.map((f) => model.module(model.funcFrame[f])).filter(Boolean))], place: model.place(model.funcFrame[funcs[0]]),
    self: sum(table.self), total, whole: model.totals[type],
    callers: added(near.map((n) => n.callers), model, total), callees: added(near.map((n) => n.callees), model, total),
  };
}
