// The questions of the Explore page.
import { useAnswer, type Answer } from "../answer";
import { ApiError, get } from "../api";
import { sorted, type Kind } from "../kinds";
import { view } from "../router";
import { askGrid, type Grid } from "../series";
import { toMs } from "../time";
import { askTree, MAX_NODES, treeParams, type TreeAnswer } from "../tree";
import { question, type View } from "../view";
import type { Mark } from "./Timeline";

export const MOST_GROUPS = 8;

export function useKinds(query: string): Answer<Kind[]> {
  return useAnswer(`types/${query}`, async (signal) => sorted((await get<{ types: Kind[] }>("types", query ? { query } : {}, signal)).types));
}

// The time line may show more than what is chosen: "span" is FROM~UNTIL around the range.
export function windowOf(v: View): { from: string; until: string } {
  const [from, until] = (v.rest.span ?? "").split("~");
  return from && until ? { from, until } : { from: v.from, until: v.until };
}

export function useGrid(kind: Kind | undefined): Answer<Grid> {
  const v = view.value;
  const by = v.rest.by ?? "";
  const { from, until } = windowOf(v);
  const params = question({ ...v, from, until, type: kind?.id ?? v.type });
  if (by) params.push(["by", by], ["limit", String(MOST_GROUPS)]);
  const span = toMs(until, 0) - toMs(from, 0);
  return useAnswer(kind ? JSON.stringify(params) : null, (signal) => askGrid(params, span, by, signal));
}

export function useTree(kind: Kind | undefined): Answer<TreeAnswer> {
  const v = view.value;
  const params = treeParams({ ...v, type: kind?.id ?? v.type });
  params.push(["max_nodes", v.rest.nodes ?? String(MAX_NODES)]);
  return useAnswer(kind ? JSON.stringify(params) : null, (signal) => askTree(params, signal));
}

interface Change {
  time_ms: number;
  value: string;
  // Nothing of this service was seen before: no deployment, the beginning.
  first: boolean;
}

// When a new version appeared.
export function useMarks(): Mark[] {
  const v = view.value;
  const params = question({ ...v, ...windowOf(v), type: "" });
  const answer = useAnswer(JSON.stringify(params), async (signal) => {
    try {
      return (await get<{ changes: Change[] }>("changes", params, signal)).changes.filter((c) => !c.first);
    } catch (e) {
      // Without marks the page is still of use; what is wrong with the question, others say.
      if (e instanceof ApiError) return [];
      throw e;
    }
  });
  return (answer.data ?? []).map((c) => ({ time: c.time_ms, text: `deploy ${c.value.length > 14 ? `${c.value.slice(0, 12)}…` : c.value}` }));
}

