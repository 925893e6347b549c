// The requests of the Explore page.
import { useAnswer, type Answer } from "../answer";
import { ApiError, get } from "../api";
import { completenessOf } from "../completeness";
import { sorted, type Amount, type Kind } from "../kinds";
import { view } from "../router";
import { groupOf } from "../../flame";
import { withMatcher, withoutValues } from "../selector";
import { askGrid, type Grid, type SeriesReply } from "../series";
import { toMs } from "../time";
import { askTree, type TreeAnswer } from "../tree";
import { ALL_NODES, filterParams, FIRST_NODES, question, treeQuestion, type View } from "../view";
import { useWhole, type Whole } from "../whole";
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

// Types that say most when they are divided: threads by what they do, turns of loops by their length.
const DIVIDED: Record<string, string> = { threads: "state", lag: "loop.turn", turns: "loop.turn" };
export const UNDIVIDED = "none";

// The label the time line is stacked by, "" for none.
export function labelOf(v: View, kind: Kind | undefined): string {
  const by = v.rest.by ?? DIVIDED[kind?.type ?? ""] ?? "";
  return by === UNDIVIDED ? "" : by;
}

export function useGrid(kind: Kind | undefined): Answer<Grid> {
  const v = view.value;
  const by = labelOf(v, kind);
  const { from, until } = windowOf(v);
  const type = v.type || kind?.id || "";
  const params = question({ ...v, from, until, type });
  if (by) params.push(["by", by], ["limit", String(MOST_GROUPS)]);
  const now = Date.now();
  const span = toMs(until, now) - toMs(from, now);
  return useAnswer(type ? JSON.stringify(params) : null, (signal) => askGrid(params, span, by, signal));
}

export function useTree(kind: Kind | undefined): Whole {
  const v = view.value;
  const group = v.rest.group ?? "";
  // A type in the address need not wait for the list of types.
  const type = v.type || kind?.id || "";
  const ask = (nodes: number) => (signal: AbortSignal): Promise<TreeAnswer> =>
    group ? askGroups(v, type, group, nodes, signal) : askTree(treeQuestion(v, type, nodes), signal);
  const first = useAnswer(type ? JSON.stringify([group, treeQuestion(v, type)]) : null, ask(FIRST_NODES));
  return useWhole(first, v.rest.nodes ? null : ask(group ? ALL_NODES / MOST_GROUPS : ALL_NODES));
}

// A tree per value of a label, the largest first, side by side in one.
async function askGroups(v: View, type: string, label: string, nodes: number, signal: AbortSignal): Promise<TreeAnswer> {
  const start = performance.now();
  const reply = await get<SeriesReply>("series", [...question({ ...v, type }), ["by", label], ["limit", String(MOST_GROUPS)], ["step", "1d"]], signal);
  const values = reply.series.filter((s) => !s.other).map((s) => s.labels[label] ?? "");
  const asked = values.map((value) => ({ name: value || `no ${label}`, query: withMatcher(v.query, label, value) }));
  // The rest is one more group, so that the flame graph contains the whole value.
  if (reply.series.some((s) => s.other)) asked.push({ name: "other", query: withoutValues(v.query, label, values) });
  const whole = get<Amount>("top", [...question({ ...v, type }), ...filterParams(v), ["limit", "1"]], signal);
  const parts = await Promise.all(asked.map(async ({ name, query }) => ({ name, answer: await askTree(treeQuestion({ ...v, query }, type, nodes), signal) })));
  if (parts.length === 0) throw new ApiError(404, "not_found", "no data to group");
  const amount = await whole;
  const model = groupOf(parts.map(({ name, answer }) => ({ name, model: answer.model })));
  return { model, amount, completeness: completenessOf(amount), bytes: parts.reduce((n, p) => n + p.answer.bytes, 0), ms: performance.now() - start };
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
      // Marks are optional; other requests report errors of the query.
      if (e instanceof ApiError) return [];
      throw e;
    }
  });
  return (answer.data ?? []).map((c) => ({ time: c.time_ms, text: `deploy ${c.value.length > 14 ? `${c.value.slice(0, 12)}…` : c.value}` }));
}

