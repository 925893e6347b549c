// A picture of few boxes comes at once. Where it leaves out what a reader would miss (zoomed in, bottom
// up, by search), the same question is asked again for all boxes, and takes its place when it is there.
import { useEffect, useState } from "preact/hooks";
import { units, type Meta } from "../flame";
import type { Answer } from "./answer";
import type { TreeAnswer } from "./tree";

// So little of the value is not worth a second question.
const LEAST_SHARE = 0.001;
// More functions are in no answer.
const MOST_ROWS = 20_000;
// Who drags a range on does not want all boxes of each stop.
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
        // The first picture stands, and says what it lacks.
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

// Always said: what of the value is in no box of its own.
export function prunedText(meta: Meta, coming = false): string {
  if (meta.nodesPruned === 0) return "nothing pruned";
  return `${units.percent(meta.prunedShare)} of value pruned${coming ? ", more boxes are coming" : ""}`;
}
