// The questions of the Diff page.
import { decodeVft, Model } from "../../flame";
import { useAnswer, type Answer } from "../answer";
import { ApiError, get, getBytes } from "../api";
import type { Kind } from "../kinds";
import { view } from "../router";
import { niceStep, toGrid, type SeriesReply } from "../series";
import type { TreeAnswer } from "../tree";
import { filterParams, MAX_NODES } from "../view";
import { sideName, type Side, type Version } from "./sides";

async function askDiff(before: Side, after: Side, kind: Kind, signal: AbortSignal): Promise<TreeAnswer> {
  const more: [string, string][] = [["type", kind.id], ["max_nodes", String(MAX_NODES)], ...filterParams(view.peek())];
  const params: [string, string][] = [
    ["format", "vft"], ["baseline", before.query || "{}"], ["baseline_from", before.from], ["baseline_until", before.until],
    ["comparison", after.query || "{}"], ["comparison_from", after.from], ["comparison_until", after.until], ...more,
  ];
  const buffer = await getBytes("diff", params, signal);
  const start = performance.now();
  const model = new Model(decodeVft(buffer));
  // Two times of one service have the same name otherwise.
  const now = Date.now();
  model.meta.names = [sideName(before, now), sideName(after, now)];
  return { model, bytes: buffer.byteLength, ms: performance.now() - start };
}

export function useDiff(before: Side, after: Side, kind: Kind | undefined): Answer<TreeAnswer> {
  const key = kind ? JSON.stringify([before, after, kind.id, view.value.filters, view.value.tags]) : null;
  return useAnswer(key, (signal) => askDiff(before, after, kind as Kind, signal));
}

export interface TwoLines {
  before: (number | null)[];
  after: (number | null)[];
  step: number;
}

const POINTS = 60;
// Agents send every ten seconds or so: narrower points would be gaps.
const LEAST_STEP = 10e3;

// Both sides over time, each from its own beginning.
export function useLines(before: Side, after: Side, kind: Kind | undefined): Answer<TwoLines> {
  const span = Math.max(Number(before.until) - Number(before.from), Number(after.until) - Number(after.from));
  const step = Math.max(LEAST_STEP, niceStep(span / POINTS));
  const key = kind && isFinite(step) ? JSON.stringify([before, after, kind.id, step]) : null;
  return useAnswer(key, async (signal) => {
    const line = async (side: Side): Promise<(number | null)[]> => {
      const params: [string, string][] = [["query", side.query || "{}"], ["type", (kind as Kind).id], ["from", side.from], ["until", side.until], ["step", `${step / 1e3}s`]];
      try {
        return toGrid(await get<SeriesReply>("series", params, signal), "").groups[0]?.values ?? [];
      } catch (e) {
        if (e instanceof ApiError && e.empty) return [];
        throw e;
      }
    };
    const [a, b] = await Promise.all([line(before), line(after)]);
    return { before: a, after: b, step };
  });
}

interface ChangeReply {
  changes: { time_ms: number; label: string; value: string; service: string; first: boolean }[];
}

// Versions that appeared in the last month.
// A time is as exact as the range is short: who asks about an hour gets seconds, about a month hours.
export function useVersions(query: string, from = "-30d", until = ""): Version[] {
  const answer = useAnswer(`changes/${query}/${from}/${until}`, (signal) => get<ChangeReply>("changes", { query: query || "{}", from, ...(until ? { until } : {}) }, signal));
  return (answer.data?.changes ?? []).map((c) => ({ time: c.time_ms, label: c.label, value: c.value, service: c.service, first: c.first }));
}
