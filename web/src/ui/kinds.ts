// Sample types in words, and what they amount to per second.
import { units } from "../flame";

export interface Kind {
  id: string;
  name: string | null;
  type: string;
  unit: string;
  gauge: boolean;
}

const WORDS: Record<string, string> = {
  cpu: "CPU", wall: "Wall", off_cpu: "Waiting", offcpu: "Waiting", alloc_space: "Allocations", alloc_objects: "Allocated objects",
  inuse_space: "Live heap", inuse_objects: "Live objects", contentions: "Locks", delay: "Lock delay", samples: "Samples",
  goroutine: "Goroutines", lag: "Loop lag", turns: "Loop turns", exceptions: "Exceptions", off_cpu_waits: "Waits", faults: "Memory growth", mapped: "Mapped memory",
};

export function kindLabel(kind: { type: string; unit: string }): string {
  return WORDS[kind.type] ?? units.typeLabel({ name: kind.type, unit: kind.unit });
}

const ORDER = ["cpu", "wall", "off_cpu", "alloc_space", "inuse_space", "delay", "contentions"];

// The most common types come first.
export function sorted(kinds: Kind[]): Kind[] {
  const place = (k: Kind): number => (ORDER.indexOf(k.type) + ORDER.length + 1) % (ORDER.length + 1);
  return [...kinds].sort((a, b) => place(a) - place(b) || (kindLabel(a) < kindLabel(b) ? -1 : 1));
}

// What stands in the address for a type: its short name where that says which one.
export function kindParam(kind: Kind, all: Kind[]): string {
  if (kind.name && all.filter((k) => k.name === kind.name).length === 1) return kind.name;
  return all.filter((k) => k.type === kind.type).length === 1 ? kind.type : kind.id;
}

export function findKind(all: Kind[], param: string): Kind | undefined {
  if (param === "") return all.find((k) => k.type === "cpu") ?? all.find((k) => k.id.startsWith("process_cpu")) ?? all[0];
  return all.find((k) => k.id === param) ?? all.find((k) => k.name === param) ?? all.find((k) => k.type === param);
}

function cores(share: number): string {
  const text = share > 0 && share < 0.0995 ? String(Number(share.toFixed(3))) : units.figure(share);
  return `${text} ${text === "1" ? "core" : "cores"}`;
}

// A total and its rates (docs/numbers.md); null = unknown.
export interface Amount {
  total: number | null;
  rate: number | null;
  average: number | null;
  covered_ns: number | null;
  coverage: number | null;
}

export type Verdict = "more" | "less" | "noise" | "unknown" | "no_earlier_data" | "no_later_data";

export interface RateChange {
  before: Amount;
  after: Amount;
  change: number | null;
  share: number | null;
  verdict: Verdict;
  p_value: number | null;
  test: string | null;
}

// The value of a point per second of the time it covers: the one division, all others are the server's.
export function pointRate(value: number | null, coveredNs: number | undefined, gauge: boolean): number | null {
  if (value === null || gauge) return value;
  return coveredNs !== undefined && coveredNs > 0 ? value / (coveredNs / 1e9) : null;
}

// A rate as text: 3.42 cores, 340 MiB/min, 12 k/s, as in src/model/amount_text.c.
export function rate(perSecond: number | null, kind: { type: string; unit: string; gauge?: boolean }): string {
  const type = { name: kind.type, unit: kind.unit };
  if (perSecond === null || isNaN(perSecond)) return "–";
  if (kind.gauge) return units.amount(perSecond, type);
  if (units.asNanoseconds(1, type) > 0) {
    const ns = units.asNanoseconds(perSecond, type);
    // Below a hundredth of a core the first digits would be noughts.
    if (kind.type === "cpu" && (ns === 0 || ns >= 1e7)) return cores(ns / 1e9);
    return `${units.duration(ns)}/s`;
  }
  const isBytes = /^(kilo|mega)?bytes?$|^[km]b$/i.test(kind.unit);
  const slow = perSecond > 0 && perSecond < (isBytes ? 2 ** 20 : 1);
  return `${units.amount(slow ? perSecond * 60 : perSecond, type)}${slow ? "/min" : "/s"}`;
}

// A change as a share: +322 %, −4.2 %; empty if unknown.
export function shareText(share: number | null, signs: [string, string] = ["+", "−"]): string {
  if (share === null || !isFinite(share)) return "";
  const percent = Math.abs(share) * 100;
  if (percent < 0.05) return "0 %";
  return `${share > 0 ? signs[0] : signs[1]}${percent >= 9.95 ? Math.round(percent).toLocaleString("en-US") : percent.toFixed(1)} %`;
}

export const changeText = (share: number | null): string => shareText(share, ["▲ ", "▼ "]);

const VERDICTS: Record<Verdict, string> = {
  more: "", less: "", noise: "No significant change", unknown: "Too little data to tell", no_earlier_data: "No earlier data", no_later_data: "No data now",
};

// The text of a change: ▲ 322 %, or the verdict.
export function verdictText(c: RateChange): string {
  return VERDICTS[c.verdict] || changeText(c.share) || (c.verdict === "more" ? "▲ from nothing" : "▼");
}

export function verdictTone(verdict: Verdict): string {
  return verdict === "more" ? "up" : verdict === "less" ? "down" : "";
}

// Most of the range is covered as a rule; only where it is not, it is said.
const COVERED = 0.95;

export function coverageText(amount: { coverage: number | null }): string {
  if (amount.coverage === null || amount.coverage >= COVERED || amount.coverage <= 0) return "";
  return `while running · data for ${units.figure(amount.coverage * 100)} % of the range`;
}
