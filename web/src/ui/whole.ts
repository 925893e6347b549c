// A flame graph with few boxes is loaded first. If it lacks boxes that are needed (zoomed in,
// bottom-up, search), all boxes are requested and replace it when they arrive.
import { useEffect, useState } from "preact/hooks";
import { units, type Meta } from "../flame";
import type { Answer } from "./answer";
import type { TreeAnswer } from "./tree";

// Not worth a second request if so little of the value is missing.
const LEAST_SHARE = 0.001;
// More functions are in no answer.
const MOST_ROWS = 20_000;
// While a range is being dragged, do not load all boxes for each position.
const PAUSE_MS = 150;

export interface Whole extends Answer<TreeAnswer> {
  // The rest of the boxes is on its way.
  coming: boolean;
}

// `rows`: functions in the table, which a quick answer has the largest of.
export function wantsMore(meta: Meta, rows: number): boolean {
  return meta.prunedShare >= LEAST_SHARE || rows < Math.min(MOST_ROWS, meta.functionsTotal);
}

// `ask` is for all boxes; null when the reader said how many.
export function useWhole(first: Answer<TreeAnswer>, ask: ((signal: AbortSignal) => Promise<TreeAnswer>) | null): Whole {
  const [whole, setWhole] = useState<{ of: TreeAnswer; answer: TreeAnswer | null } | null>(null);
  const of = first.data;
  const wanted = of !== undefined && ask !== null && wantsMore(of.model.meta, of.model.vft.table.count);
  useEffect(() => {
    if (!of || !wanted || first.loading) return undefined;
    const control = new AbortController();
    const timer = setTimeout(() => {
      (ask as NonNullable<typeof ask>)(control.signal)
        .then((answer) => setWhole({ of, answer }))
        // Keep the first flame graph, and show what it lacks.
        .catch(() => !control.signal.aborted && setWhole({ of, answer: null }));
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [of, first.loading]);
  const mine = whole && whole.of === of ? whole : null;
  return { ...first, data: mine?.answer ?? of, coming: wanted && mine === null };
}

// Always shown: the share of the value that was pruned.
export function prunedText(meta: Meta, coming = false): string {
  if (meta.nodesPruned === 0) return "nothing pruned";
  return `${units.percent(meta.prunedShare)} of value pruned${coming ? ", more boxes are coming" : ""}`;
}
