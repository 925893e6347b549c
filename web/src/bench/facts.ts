// The numbers of one box as rows of words: the same for the tooltip, the detail panel and the voice.
import { change, judged, units, type Change, type Tree } from "../flame";
import type { App } from "./app";
import type { Measure } from "./state";

export interface Fact {
  label: string;
  value: string;
  tone: "" | "up" | "down" | "noise";
}

export function changeOf(app: App, before: number, after: number): Change {
  const [a, b] = app.derived.compareTotals(app.state);
  return change(before, after, a, b, app.derived.samples(app.state));
}

// The change of a function, tested by the server if possible: of its total, scaled to shares.
export function rowChange(app: App, row: number, measure: Measure): Change {
  const s = app.state;
  const { tableSelf, tableTotal } = app.derived.columns(s);
  const values = measure === "self" ? tableSelf : tableTotal;
  const c = changeOf(app, values[0][row], values[1][row]);
  const { verdicts } = app.model.vft.table;
  return verdicts && measure === "total" && s.normalise ? judged(c, verdicts.verdict[row], s.swap) : c;
}

// "± 0.4 pp", the error of the change; "" if unknown.
export function marginOf(app: App, row: number): string {
  const { verdicts } = app.model.vft.table;
  if (!verdicts || verdicts.verdict[row] === UNKNOWN || verdicts.shareError[row] === 0) return "";
  return units.points(verdicts.shareError[row]).replace("+", "± ");
}

const UNKNOWN = 5;

export function changeText(c: Change): { text: string; tone: Fact["tone"] } {
  const word = c.mark === "added" ? " new" : c.mark === "removed" ? " gone" : "";
  if (c.noise && word === "") return { text: "noise", tone: "noise" };
  if (c.noise) return { text: `${word.trim()}, noise`, tone: "noise" };
  return { text: units.points(c.delta) + word, tone: c.delta > 0 ? "up" : "down" };
}

function plain(label: string, value: string): Fact {
  return { label, value, tone: "" };
}

// Rows for a pair of (own, total) values, one number per side; `row` of the table when they are a function's.
export function valueFacts(app: App, self: number[], total: number[], row = -1): Fact[] {
  const s = app.state;
  const type = app.model.meta.types[s.type];
  const { totals, factors } = app.derived.columns(s);
  const say = (v: number, side: number): string => `${units.amount(v / factors[side], type)} · ${units.percent(totals[side] > 0 ? v / totals[side] : NaN)}`;
  if (!app.model.meta.diff) return [plain("Total", say(total[0], 0)), plain("Self", say(self[0], 0))];
  const [before, after] = app.model.sideNames(s.swap);
  const c = row >= 0 ? rowChange(app, row, "total") : changeOf(app, total[0], total[1]);
  const margin = row >= 0 ? marginOf(app, row) : "";
  const own = changeOf(app, self[0], self[1]);
  const ct = changeText(c);
  const ot = changeText(own);
  return [
    plain(short(before), say(total[0], 0)),
    plain(short(after), say(total[1], 1)),
    { label: "Change", value: margin && !c.noise ? `${ct.text} ${margin.replace(" pp", "")}` : ct.text, tone: ct.tone },
    { label: "Change of self", value: ot.text, tone: ot.tone },
  ];
}

function short(name: string): string {
  return name.length > 18 ? `${name.slice(0, 8)}…${name.slice(-8)}` : name;
}

export function boxFacts(app: App, tree: Tree, node: number): Fact[] {
  const facts = valueFacts(app, tree.self.map((run) => run[node]), tree.total.map((run) => run[node]));
  if (node !== 0) {
    const above = tree.weight[tree.parent[node]];
    facts.push(plain("Of parent", units.percent(above > 0 ? tree.weight[node] / above : NaN)));
  }
  return facts;
}

// "libshop.so · json.cc:214"
export function whereOf(app: App, frame: number): string {
  const { model } = app;
  const kind = model.kind(frame);
  return [model.module(frame) || (kind === "pruned" ? "left out to keep the page small" : kind), model.place(frame)].filter(Boolean).join(" · ");
}

export function spoken(app: App, tree: Tree, node: number): string {
  return [app.model.name(tree.frame[node]), ...boxFacts(app, tree, node).map((f) => `${f.label} ${f.value}`)].join(", ");
}
