// The requests of the Diff page.
import { useMemo } from "preact/hooks";
import { useAnswer, type Answer } from "../answer";
import { ApiError, get, getBytes } from "../api";
import { completenessOf } from "../completeness";
import type { Kind } from "../kinds";
import { view } from "../router";
import { askGrid, toGrid, type Grid, type SeriesReply } from "../series";
import { changeOf, modelOf, type TreeAnswer } from "../tree";
import { ALL_NODES, filterParams, FIRST_NODES, sizeParams } from "../view";
import { useWhole, type Whole } from "../whole";
import { finest, sideNames, type Side, type Version } from "./sides";

async function askDiff(before: Side, after: Side, kind: Kind, nodes: number, signal: AbortSignal): Promise<TreeAnswer> {
  const more: [string, string][] = [["type", kind.id], ...sizeParams(nodes), ...filterParams(view.peek())];
  const params: [string, string][] = [
    ["format", "vft"], ["baseline", before.query || "{}"], ["baseline_from", before.from], ["baseline_until", before.until],
    ["comparison", after.query || "{}"], ["comparison_from", after.from], ["comparison_until", after.until], ...more,
  ];
  const buffer = await getBytes("diff", params, signal);
  const start = performance.now();
  const { byteLength: bytes } = buffer;
  const model = await modelOf(buffer, signal);
  model.meta.names = sideNames(before, after, Date.now());
  const { answer } = model.meta;
  return { model, change: changeOf(model), completenessBefore: completenessOf(answer), completeness: completenessOf(answer.comparison), bytes, ms: performance.now() - start };
}

export function useDiff(before: Side, after: Side, kind: Kind | undefined): Whole {
  const key = kind ? JSON.stringify([before, after, kind.id, view.value.filters, view.value.tags]) : null;
  const ask = (nodes: number) => (signal: AbortSignal): Promise<TreeAnswer> => askDiff(before, after, kind as Kind, nodes, signal);
  return useWhole(useAnswer(key, ask(FIRST_NODES)), ask(ALL_NODES));
}

export interface TwoLines {
  before: (number | null)[];
  after: (number | null)[];
  // Of the later side's first point.
  start: number;
  step: number;
}

// Both sides over time, each from its own beginning.
export function useLines(before: Side, after: Side, kind: Kind | undefined): Answer<TwoLines> {
  const span = Math.max(Number(before.until) - Number(before.from), Number(after.until) - Number(after.from));
  const key = kind && isFinite(span) ? JSON.stringify([before, after, kind.id]) : null;
  return useAnswer(key, async (signal) => {
    const line = async (side: Side, step = 0): Promise<Grid | null> => {
      const params: [string, string][] = [["query", side.query || "{}"], ["type", (kind as Kind).id], ["from", side.from], ["until", side.until]];
      try {
        return await (step ? get<SeriesReply>("series", [...params, ["step", `${step / 1e3}s`]], signal).then((r) => toGrid(r, "")) : askGrid(params, span, "", signal));
      } catch (e) {
        if (e instanceof ApiError && e.empty) return null;
        throw e;
      }
    };
    let [a, b] = await Promise.all([line(before), line(after)]);
    // Both in points of the wider width, or their heights would not be comparable.
    const step = Math.max(a?.step ?? 0, b?.step ?? 0);
    if (a && a.step < step) a = await line(before, step);
    if (b && b.step < step) b = await line(after, step);
    const values = (g: Grid | null): (number | null)[] => g?.groups[0]?.values ?? [];
    return { before: values(a), after: values(b), start: b?.times[0] ?? Number(after.from), step: step || 1e3 };
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
