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

// The types people ask about most come first.
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

// A value over some seconds as people say it: 3.42 cores, 340 MiB/min, 12 k/s.
export function rate(value: number, seconds: number, kind: { type: string; unit: string; gauge?: boolean }): string {
  const type = { name: kind.type, unit: kind.unit };
  if (kind.gauge) return units.amount(value, type);
  if (!(seconds > 0)) return units.amount(value, type);
  const ns = units.asNanoseconds(value, type);
  if (ns > 0 || units.asNanoseconds(1, type) > 0) {
    const share = ns / 1e9 / seconds;
    // Below a hundredth of a core the first digits would be noughts.
    if (kind.type === "cpu" && (share === 0 || share >= 0.01)) return cores(share);
    return `${units.duration(share * 1e9)}/s`;
  }
  const perSecond = value / seconds;
  const isBytes = /^(kilo|mega)?bytes?$|^[km]b$/i.test(kind.unit);
  const slow = perSecond > 0 && perSecond < (isBytes ? 2 ** 20 : 1);
  return `${units.amount(slow ? perSecond * 60 : perSecond, type)}${slow ? "/min" : "/s"}`;
}
