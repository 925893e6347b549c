// The questions of the Diff page.
import { useMemo } from "preact/hooks";
import { useAnswer, type Answer } from "../answer";
import { ApiError, get, getBytes } from "../api";
import type { Kind } from "../kinds";
import { view } from "../router";
import { niceStep, toGrid, type SeriesReply } from "../series";
import { modelOf, type TreeAnswer } from "../tree";
import { ALL_NODES, filterParams, FIRST_NODES } from "../view";
import { useWhole, type Whole } from "../whole";
import { finest, sideName, type Side, type Version } from "./sides";

async function askDiff(before: Side, after: Side, kind: Kind, nodes: number, signal: AbortSignal): Promise<TreeAnswer> {
  const more: [string, string][] = [["type", kind.id], ["max_nodes", String(nodes)], ...filterParams(view.peek())];
  const params: [string, string][] = [
    ["format", "vft"], ["baseline", before.query || "{}"], ["baseline_from", before.from], ["baseline_until", before.until],
    ["comparison", after.query || "{}"], ["comparison_from", after.from], ["comparison_until", after.until], ...more,
  ];
  const buffer = await getBytes("diff", params, signal);
  const start = performance.now();
  const { byteLength: bytes } = buffer;
  const model = await modelOf(buffer, signal);
  // Two times of one service have the same name otherwise.
  const now = Date.now();
  model.meta.names = [sideName(before, now), sideName(after, now)];
  return { model, bytes, ms: performance.now() - start };
}

export function useDiff(before: Side, after: Side, kind: Kind | undefined): Whole {
  const key = kind ? JSON.stringify([before, after, kind.id, view.value.filters, view.value.tags]) : null;
  const ask = (nodes: number) => (signal: AbortSignal): Promise<TreeAnswer> => askDiff(before, after, kind as Kind, nodes, signal);
  return useWhole(useAnswer(key, ask(FIRST_NODES)), ask(ALL_NODES));
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

async function askVersions(query: string, from: string, until: string, signal: AbortSignal): Promise<Version[]> {
  const reply = await get<ChangeReply>("changes", { query: query || "{}", from, ...(until ? { until } : {}) }, signal);
  return reply.changes.map((c) => ({ time: c.time_ms, label: c.label, value: c.value, service: c.service, first: c.first }));
}

// Versions that appeared in a range.
export function useVersions(query: string, from: string, until = ""): Version[] {
  return useAnswer(`changes/${query}/${from}/${until}`, (signal) => askVersions(query, from, until, signal)).data ?? [];
}

const LOOK_BACK = ["-30d", "-1d", "-1h"];

// Versions that appeared in the last month, in the order in which they came.
export function useLatestVersions(query: string): Version[] {
  const answer = useAnswer(`versions/${query}`, (signal) => Promise.all(LOOK_BACK.map((from) => askVersions(query, from, "", signal))));
  return useMemo(() => (answer.data ? finest(answer.data) : []), [answer.data]);
}
