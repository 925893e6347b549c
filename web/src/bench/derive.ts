// Values derived from the state: trees, layouts, matches. Each is made once and kept until the part of
// the state it depends on changes.
import {
  bottomUp, callersOf, calleesOf, hitsByWeight, layout, makeTree, matched, matchFrames,
  type Columns, type Layout, type Matched, type Matches, type Model, type Query, type Samples, type Tree,
} from "../flame";
import { units } from "../flame";
import type { State } from "./state";

class Kept<T> {
  private key = "";
  private value: T | undefined;
  get(key: string, make: () => T): T {
    if (this.value === undefined || key !== this.key) {
      this.value = make();
      this.key = key;
    }
    return this.value;
  }
}

export class Derived {
  private readonly keptColumns = new Kept<Columns>();
  private readonly keptBase = new Kept<Tree>();
  private readonly keptInverted = new Kept<Tree>();
  private readonly keptCallers = new Kept<Tree>();
  private readonly keptCallees = new Kept<Tree>();
  private readonly keptMatches = new Kept<Matches>();
  private readonly keptMatched = new Kept<Matched>();
  private readonly keptMainMatched = new Kept<Matched>();
  private readonly keptHits = new Kept<Uint32Array>();
  // The previous search: a longer text is searched among its matches.
  private searched: { query: Query; matches: Matches } | undefined;
  private readonly layouts = new WeakMap<Tree, Map<string, Layout>>();

  constructor(readonly model: Model) {}

  private valuesKey(s: State): string {
    return `${s.type}/${s.normalise}/${s.swap}`;
  }
  columns(s: State): Columns {
    return this.keptColumns.get(this.valuesKey(s), () => this.model.columns(s));
  }
  base(s: State): Tree {
    const ready = this.model.prepared;
    if (ready && s.type === this.model.meta.defaultType && s.normalise && !s.swap) return ready.tree;
    return this.keptBase.get(this.valuesKey(s), () => makeTree(this.model.vft.parent, this.model.vft.frame, this.columns(s).self));
  }
  callers(s: State): Tree {
    return this.keptCallers.get(`${this.valuesKey(s)}/${s.func}`, () => callersOf(this.base(s), this.model, s.func));
  }
  callees(s: State): Tree {
    return this.keptCallees.get(`${this.valuesKey(s)}/${s.func}`, () => calleesOf(this.base(s), this.model, s.func));
  }
  // The tree the zoom, the search steps and the breadcrumb speak of.
  main(s: State): Tree {
    if (s.view === "sandwich") return this.callees(s);
    if (s.view === "bottom-up") return this.keptInverted.get(this.valuesKey(s), () => bottomUp(this.base(s), this.model));
    return this.base(s);
  }
  layout(tree: Tree, s: State): Layout {
    let kept = this.layouts.get(tree);
    if (!kept) this.layouts.set(tree, (kept = new Map()));
    let lay = kept.get(s.order);
    const ready = this.model.prepared;
    if (!lay && ready && tree === ready.tree && s.order === "name") kept.set(s.order, (lay = ready.lay));
    if (!lay) kept.set(s.order, (lay = layout(tree, this.model.nameRank, s.order)));
    return lay;
  }
  matches(s: State): Matches {
    return this.keptMatches.get(`${s.regex}/${s.query}`, () => {
      const query = { text: s.query, regex: s.regex };
      const matches = matchFrames(this.model, query, this.searched);
      this.searched = { query, matches };
      return matches;
    });
  }
  private matched(s: State): Matched {
    return this.keptMatched.get(`${this.valuesKey(s)}/${s.regex}/${s.query}`, () => matched(this.base(s), this.matches(s)));
  }
  // Share of the whole that passes through the matches, over both sides.
  matchedShare(s: State): number {
    const whole = this.base(s).weight[0];
    return whole > 0 ? this.matched(s).value.reduce((a, b) => a + b, 0) / whole : 0;
  }
  // Boxes that match in the tree that is shown.
  hitCount(s: State): number {
    if (this.main(s) === this.base(s)) return this.matched(s).boxes;
    return this.keptMainMatched.get(`${this.valuesKey(s)}/${s.regex}/${s.query}/${s.view}/${s.func}`, () => matched(this.main(s), this.matches(s))).boxes;
  }
  hits(s: State): Uint32Array {
    const key = `${this.valuesKey(s)}/${s.regex}/${s.query}/${s.view}/${s.func}`;
    return this.keptHits.get(key, () => hitsByWeight(this.main(s), this.matches(s)));
  }
  // The denominator of shares: each side's total, or the first side's if values are compared.
  compareTotals(s: State): [number, number] {
    const [a, b] = this.columns(s).totals;
    return s.normalise ? [a, b] : [a || b, a || b];
  }
  // Samples behind each side: only for types that are themselves a number of samples, or time.
  samples(s: State): Samples {
    const at = this.model.sampleType();
    const type = this.model.meta.types[s.type];
    if (!this.model.meta.diff || at < 0 || (at !== s.type && units.asNanoseconds(1, type) === 0)) return { before: 0, after: 0 };
    const [before, after] = this.model.sideTotals(at, s.swap);
    return { before, after };
  }
}
