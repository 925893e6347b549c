// Formats numbers: 1.2 s, 340 MiB, 12.3 k samples.
import type { SampleType } from "./vft";

const TIME: Record<string, number> = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9, ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
const BYTES: Record<string, number> = { bytes: 1, byte: 1, kilobytes: 1024, kb: 1024, megabytes: 1048576, mb: 1048576 };

// Three figures that count, grouped by thousands when there are more.
export function figure(value: number): string {
  const size = Math.abs(value);
  if (size >= 999.5) return Math.round(value).toLocaleString("en-US");
  const digits = size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : 2;
  return trimmed(value.toFixed(digits));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function step(value: number, steps: [number, string][]): string {
  if (value === 0) return "0";
  for (const [size, unit] of steps) if (Math.abs(value) >= size * 0.9995) return `${figure(value / size)} ${unit}`;
  const [size, unit] = steps[steps.length - 1];
  return `${figure(value / size)} ${unit}`;
}

export function duration(ns: number): string {
  if (Math.abs(ns) >= 120e9) {
    return step(ns, [[86400e9, "d"], [3600e9, "h"], [60e9, "min"]]);
  }
  return step(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
}

export function count(value: number): string {
  if (Math.abs(value) < 9999.5) return figure(value);
  return step(value, [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]);
}

function nounOf(type: SampleType): string {
  if (type.unit !== "count" && type.unit !== "") return type.unit;
  const word = type.name.replace(/^(alloc|inuse)_/, "").replace(/_/g, " ");
  return word === "" || word === "cpu" ? "samples" : word;
}

export function amount(value: number, type: SampleType): string {
  const unit = type.unit.toLowerCase();
  if (unit in TIME) return duration(value * TIME[unit]);
  if (unit in BYTES) {
    return step(value * BYTES[unit], [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);
  }
  return `${count(value)} ${nounOf(type)}`;
}

// If the column names the unit, only the number.
export function bare(value: number, type: SampleType): string {
  const unit = type.unit.toLowerCase();
  return unit in TIME || unit in BYTES ? amount(value, type) : count(value);
}

// Value as nanoseconds, or 0 when the type is not a time.
export function asNanoseconds(value: number, type: SampleType): number {
  return value * (TIME[type.unit.toLowerCase()] ?? 0);
}

export function percent(share: number): string {
  if (!isFinite(share)) return "–";
  const p = share * 100;
  if (p === 0) return "0 %";
  if (p < 0.01) return "< 0.01 %";
  return `${p.toFixed(p < 1 ? 2 : 1)} %`;
}

export function points(delta: number): string {
  const p = delta * 100;
  const text = Math.abs(p).toFixed(Math.abs(p) < 0.1 ? 2 : 1);
  return `${p < 0 ? "−" : "+"}${text} pp`;
}

const KNOWN: Record<string, string> = { cpu: "CPU", off_cpu: "Off-CPU" };

export function typeLabel(type: SampleType): string {
  const word = type.name.replace(/_/g, " ");
  return KNOWN[type.name] ?? (word === "" ? type.unit || "value" : word[0].toUpperCase() + word.slice(1));
}
