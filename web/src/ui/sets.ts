// Sets of filters the reader saved, kept in this browser.
import { signal } from "@preact/signals";
import { FILTER_KINDS, type Filter } from "./view";

const KEY = "vestal-filter-sets";
const MOST = 50;

export interface FilterSet {
  name: string;
  filters: Filter[];
}

// Storage holds text from anywhere: take only what has the right shape.
export function readSets(text: string | null): FilterSet[] {
  try {
    const list = JSON.parse(text ?? "[]") as FilterSet[];
    return list
      .filter((s) => typeof s?.name === "string" && Array.isArray(s.filters))
      .map((s) => ({ name: s.name, filters: s.filters.filter((f) => FILTER_KINDS.includes(f?.kind) && typeof f.text === "string").map(({ kind, text: t }) => ({ kind, text: t })) }))
      .slice(0, MOST);
  } catch {
    return [];
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const sets = signal<FilterSet[]>(readSets(stored()));

function keep(list: FilterSet[]): void {
  sets.value = list;
  try {
    localStorage.setItem(KEY, JSON.stringify(list));
  } catch {
    // Not remembered, still there until the page is closed.
  }
}

export function saveSet(name: string, filters: Filter[]): void {
  keep([{ name, filters }, ...sets.peek().filter((s) => s.name !== name)].slice(0, MOST));
}

export function dropSet(name: string): void {
  keep(sets.peek().filter((s) => s.name !== name));
}
