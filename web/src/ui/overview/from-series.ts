// The overview out of series, for a server that has no answer of its own for it.
import { get } from "../api";
import type { Kind } from "../kinds";
import { niceStep, toGrid, type Group, type SeriesReply } from "../series";
import type { Overview, Service, Usage, Verdict } from "./data";

const SHOWN = ["cpu", "off_cpu", "inuse_space"];
const SIGMAS = 3;
const LEAST_SHARE = 0.05;

// Whether two runs of points differ by more than they scatter.
export function verdictOf(before: number[], after: number[]): Verdict {
  const mean = (l: number[]): number => l.reduce((a, b) => a + b, 0) / l.length;
  const variance = (l: number[], m: number): number => l.reduce((a, b) => a + (b - m) ** 2, 0) / (l.length - 1) / l.length;
  if (before.length < 5 || after.length < 5) return "unknown";
  const [a, b] = [mean(before), mean(after)];
  const error = Math.sqrt(variance(before, a) + variance(after, b));
  if (Math.abs(b - a) <= SIGMAS * error || Math.abs(b - a) < LEAST_SHARE * Math.max(a, b)) return "noise";
  return b > a ? "more" : "less";
}

function usageOf(kind: Kind, group: Group, half: number, step: number): Usage {
  const seen = (l: (number | null)[]): number[] => l.filter((v): v is number => v !== null);
  const [first, second] = [seen(group.values.slice(0, half)), seen(group.values.slice(half))];
  const mean = (l: number[]): number => (l.length ? l.reduce((a, b) => a + b, 0) / l.length : NaN);
  const perSecond = (v: number): number => (kind.gauge ? v : v / (step / 1e3));
  const [before, after] = [perSecond(mean(first)), perSecond(mean(second))];
  return {
    kind, total: second.reduce((a, b) => a + b, 0), rate: isNaN(after) ? 0 : after, points: group.values.slice(half),
    change: { before, after, share: after / before - 1, verdict: verdictOf(first, second) },
  };
}

export async function overviewFromSeries(query: string, from: number, until: number, signal: AbortSignal): Promise<Overview> {
  const kinds = (await get<{ types: Kind[] }>("types", query ? { query } : {}, signal)).types.filter((k) => SHOWN.includes(k.type));
  const step = niceStep((until - from) / 60);
  const services = new Map<string, Service>();
  for (const kind of kinds) {
    const params = { query: query || "{}", type: kind.id, from: String(Math.round(2 * from - until)), until: String(Math.round(until)), by: "service_name", step: `${step / 1e3}s`, limit: "200" };
    const grid = toGrid(await get<SeriesReply>("series", params, signal), "service_name");
    const half = grid.times.findIndex((t) => t >= from);
    for (const group of grid.groups) {
      const last = group.values.reduce<number>((at, v, i) => (v === null ? at : i), -1);
      if (last < half) continue;
      const service = services.get(group.name) ?? { name: group.name, usages: [], lastSeen: 0 };
      service.usages.push(usageOf(kind, group, half, grid.step));
      service.lastSeen = Math.max(service.lastSeen, Math.min(until, grid.times[last] + grid.step));
      services.set(group.name, service);
    }
  }
  return { services: [...services.values()], step };
}
