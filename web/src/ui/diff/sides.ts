// The two sides of a comparison. "After" is the page's query; "before" has additional parameters:
// another selector, another time, or an earlier period.
import { between, rangeLabel, toMs } from "../time";
import type { View } from "../view";

export interface Side {
  query: string;
  from: string;
  until: string;
}

export const SHIFTS: Record<string, number> = { "1d": 86400e3, "7d": 7 * 86400e3 };
export type When = "before" | "1d" | "7d" | "same" | "own";

// Two selectors are compared over the same time, one selector with the previous period.
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

// The label of the earlier side's menu.
export function whenLabel(v: View, now: number): { text: string; title: string } {
  const { before } = sidesOf(v, now);
  const { title } = rangeLabel(before.from, before.until, now);
  const words: Record<When, string> = { before: "Previous period", "1d": "A day earlier", "7d": "A week earlier", same: "Same period", own: "" };
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

// A month's answer knows times to some hours, an hour's to seconds: each version gets the finest that
// saw it begin. `answers` from the longest to the shortest.
export function finest(answers: Version[][]): Version[] {
  const [all, ...finer] = answers;
  const key = (v: Version): string => JSON.stringify([v.service, v.label, v.value]);
  const begun = new Map<string, number>();
  for (const answer of finer) for (const v of answer) if (!v.first) begun.set(key(v), v.time);
  const known = new Set(all.map(key));
  // What came since the longest was answered is new, too.
  const added = finer.flat().filter((v) => !v.first && !known.has(key(v)) && known.add(key(v)));
  return [...all, ...added].map((v) => ({ ...v, time: begun.get(key(v)) ?? v.time }));
}

export interface Pair {
  label: string;
  before: string;
  after: string;
  // When the later one began.
  time: number;
}

const PAIRS = 2;

// The last values of each label, newest pair first: what one click compares.
export function versionPairs(versions: Version[]): Pair[] {
  const byLabel = new Map<string, Version[]>();
  for (const v of [...versions].sort((a, b) => a.time - b.time)) {
    const list = (byLabel.get(v.label) ?? []).filter((x) => x.value !== v.value);
    byLabel.set(v.label, [...list, v]);
  }
  const pairs = [...byLabel].flatMap(([label, list]) => {
    const last = list.slice(-1 - PAIRS);
    return last.slice(1).map((after, i) => ({ label, before: last[i].value, after: after.value, time: after.time }));
  });
  return pairs.sort((a, b) => b.time - a.time);
}

const LEAST_SPAN = 6 * 3600e3;

// A range that has some of both versions: the one that is shown if the change lies in it, else as much
// before the change as after it. Times of long ago are known to some hours.
export function rangeAround(time: number, from: number, until: number, now: number): [number, number] | null {
  if (time > from && time < until) return null;
  const span = Math.max(until - from, LEAST_SPAN);
  return [Math.round(time - span), Math.round(Math.min(now, time + span))];
}

// Names of the two sides: by their differences.
export function sideNames(before: Side, after: Side, now: number): [string, string] {
  const when = (s: Side): string => between(Number(s.from), Number(s.until), now);
  const what = (s: Side): string => s.query || "everything";
  if (what(before) === what(after)) return [when(before), when(after)];
  if (before.from === after.from && before.until === after.until) return versionNames(what(before), what(after));
  return [`${what(before)}, ${when(before)}`, `${what(after)}, ${when(after)}`];
}

// Of two selectors that differ in one value, those values.
function versionNames(before: string, after: string): [string, string] {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same++;
  const start = before.lastIndexOf('"', same - 1) + 1;
  const value = (text: string): string => text.slice(start).match(/^([^"]+)"/)?.[1] ?? "";
  const [a, b] = [value(before), value(after)];
  const fits = start > 0 && a !== "" && b !== "" && before.slice(start + a.length) === after.slice(start + b.length);
  return fits ? [a, b] : [before, after];
}
