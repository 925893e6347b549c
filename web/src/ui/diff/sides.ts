// The two sides of a comparison. "After" is the page's own question; "before" is written beside it:
// another selector, another time, or the same time earlier.
import { local, rangeLabel, toMs } from "../time";
import type { View } from "../view";

export interface Side {
  query: string;
  from: string;
  until: string;
}

export const SHIFTS: Record<string, number> = { "1d": 86400e3, "7d": 7 * 86400e3 };
export type When = "before" | "1d" | "7d" | "same" | "own";

// Two selectors are compared over the same time, one selector with the time before.
export function whenOf(v: View): When {
  if (v.rest.bfrom && v.rest.buntil) return "own";
  const { vs } = v.rest;
  if (vs === "before" || vs === "same" || (vs !== undefined && Object.keys(SHIFTS).includes(vs))) return vs as When;
  return v.rest.base !== undefined && v.rest.base !== v.query ? "same" : "before";
}

// Moments in milliseconds, so that both sides end at the same "now".
export function sidesOf(v: View, now: number): { before: Side; after: Side } {
  const [from, until] = [toMs(v.from, now), toMs(v.until, now)];
  const query = v.rest.base ?? v.query;
  const text = (ms: number): string => String(Math.round(ms));
  const after: Side = { query: v.query, from: isFinite(from) ? text(from) : v.from, until: isFinite(until) ? text(until) : v.until };
  const when = whenOf(v);
  if (when === "own") return { before: { query, from: text(toMs(v.rest.bfrom, now)), until: text(toMs(v.rest.buntil, now)) }, after };
  const shift = when === "same" ? 0 : when === "before" ? until - from : SHIFTS[when];
  return { before: { query, from: text(from - shift), until: text(until - shift) }, after };
}

// What the menu of the earlier side says.
export function whenLabel(v: View, now: number): { text: string; title: string } {
  const { before } = sidesOf(v, now);
  const { title } = rangeLabel(before.from, before.until, now);
  const words: Record<When, string> = { before: "The time before", "1d": "A day earlier", "7d": "A week earlier", same: "The same time", own: "" };
  return { text: words[whenOf(v)] || rangeLabel(before.from, before.until, now).text, title };
}

export interface Version {
  time: number;
  label: string;
  value: string;
  service: string;
  // No other was seen before it.
  first: boolean;
}

// The last two values of each label, newest pair first: what one click compares.
export function versionPairs(versions: Version[]): { label: string; before: string; after: string; time: number }[] {
  const byLabel = new Map<string, Version[]>();
  for (const v of [...versions].sort((a, b) => a.time - b.time)) {
    const list = (byLabel.get(v.label) ?? []).filter((x) => x.value !== v.value);
    byLabel.set(v.label, [...list, v]);
  }
  const pairs = [...byLabel].flatMap(([label, list]) => {
    const [before, after] = list.slice(-2);
    return after ? [{ label, before: before.value, after: after.value, time: after.time }] : [];
  });
  return pairs.sort((a, b) => b.time - a.time);
}

export function sideName(side: Side, now: number): string {
  return `${side.query || "everything"}, ${local(Number(side.from), now)} – ${local(Number(side.until), now)}`;
}
