// The context of a function: labels in order of interest, callers and callees.
import { neighbours, makeTree, type Model } from "../../flame";

export interface Part {
  value: string;
  self: number;
  total: number;
}

const ORDER = ["service_name", "commit", "service_version", "service.version", "version", "thread.name", "thread", "span_name"];

// The most interesting labels first; then those with most differences.
export function orderedBy(by: Record<string, Part[]>): [string, Part[]][] {
  const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const largest = (list: Part[]): Part[] => [...list].sort((a, b) => b.total - a.total || (a.value < b.value ? -1 : 1));
  return Object.entries(by)
    // The same service under its second name, and labels nothing differs by, say nothing.
    .filter(([name, list]) => list.some((p) => p.value !== "") && !(name === "service.name" && by.service_name) && (list.length > 1 || rank(name) < ORDER.length))
    .map(([name, list]): [string, Part[]] => [name, largest(list)])
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
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
