// Every service with what it uses, from the server's overview.
import { get } from "../api";
import type { Params } from "../api";
import { completenessOf, lacks, type Completeness } from "../completeness";
import { pointRate, type Amount, type Kind, type RateChange } from "../kinds";

export interface Usage {
  kind: Kind;
  amount: Amount;
  // Rates over time.
  points: (number | null)[];
  change: RateChange;
  // What is missing, and why.
  lacking: string;
}

export interface Service {
  name: string;
  usages: Usage[];
  lastSeen: number;
}

export interface Overview {
  services: Service[];
  // CPU time of all services, listed or not.
  cpu: Amount;
  step: number;
  // There are more than the answer has.
  more: boolean;
}

interface Reply {
  step_ms: number;
  cpu: Amount;
  more?: boolean;
  services: {
    service: string;
    last_seen?: number;
    types: ({ type: string; name: string | null; sample_type: string; unit: string; aggregate: string; points: (number | null)[]; covered: number[]; change: RateChange; completeness?: Completeness } & Amount)[];
  }[];
}

export function toOverview(reply: Reply): Overview {
  const services = reply.services.map((s): Service => ({
    name: s.service,
    lastSeen: s.last_seen ?? NaN,
    usages: s.types.map((t) => {
      const kind = { id: t.type, name: t.name, type: t.sample_type, unit: t.unit, gauge: t.aggregate === "gauge" };
      return { kind, amount: t, points: t.points.map((v, i) => pointRate(v, t.covered[i], kind.gauge)), change: t.change, lacking: lacks(completenessOf(t)) };
    }),
  }));
  return { services, cpu: reply.cpu, step: reply.step_ms, more: reply.more === true };
}

export async function askOverview(params: Params, signal: AbortSignal): Promise<Overview> {
  return toOverview(await get<Reply>("overview", params, signal));
}

export type Column = "cpu" | "waiting" | "memory";

// The first of these types that a service has stands in the column.
const TYPES: Record<Column, string[]> = { cpu: ["cpu"], waiting: ["off_cpu", "offcpu", "delay"], memory: ["inuse_space", "alloc_space", "faults", "mapped"] };

export function usageIn(service: Service, column: Column): Usage | undefined {
  for (const type of TYPES[column]) {
    const found = service.usages.find((u) => u.kind.type === type);
    if (found) return found;
  }
  return undefined;
}

export type Order = Column | "name";

export function ordered(services: Service[], order: Order): Service[] {
  const value = (s: Service): number => (order === "name" ? 0 : usageIn(s, order)?.amount.average ?? -1);
  return [...services].sort((a, b) => value(b) - value(a) || (a.name < b.name ? -1 : 1));
}

export interface Changed {
  service: Service;
  usage: Usage;
}

// What changed beyond noise, the largest share first; at most one line for a service.
export function changed(services: Service[], most: number): Changed[] {
  const found: Changed[] = [];
  for (const service of services) {
    // How often was measured is no use of anything.
    const real = service.usages.filter((u) => u.kind.type !== "samples" && (u.change.verdict === "more" || u.change.verdict === "less"));
    const usage = real.find((u) => u.kind.type === "cpu") ?? real[0];
    if (usage) found.push({ service, usage });
  }
  const size = ({ usage: { change: c } }: Changed): number => Math.abs(c.change ?? c.after.rate ?? 0);
  const cpuFirst = (c: Changed): number => (c.usage.kind.type === "cpu" ? 0 : 1);
  return found.sort((a, b) => cpuFirst(a) - cpuFirst(b) || size(b) - size(a)).slice(0, most);
}
