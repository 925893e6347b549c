// Explore: the query on top, its result below.
import { ApiError } from "../api";
import { useGrid, useKinds, useMarks, useTree } from "../explore/data";
import { Strip } from "../explore/Strip";
import { drawn, shown } from "../explore/drawn";
import { Workbench } from "../explore/Workbench";
import { findKind, kindParam } from "../kinds";
import { go, href, view } from "../router";
import { FirstData } from "../shell/FirstData";
import { Foot } from "../shell/Foot";
import { Failure, Loading, Sentence } from "../shell/states";
import { setRange } from "../shell/TimeRange";
import type { TreeAnswer } from "../tree";
import { prunedText } from "../whole";

function Nothing() {
  const v = view.value;
  return (
    <Sentence title={v.filters.length ? "No stack passes these filters in this range." : "No data of this type in this range."} role="status">
      <div class="actions">
        {v.filters.length > 0 && <button type="button" class="btn" onClick={() => go({ filters: [] })}>Clear filters</button>}
        <button type="button" class="btn" onClick={() => setRange("-1d", "now")}>Last day</button>
        <button type="button" class="btn" onClick={() => setRange("-30d", "now")}>Last 30 days</button>
        {v.query && <a class="btn" href={href({ query: "", type: "", filters: [] })}>All services</a>}
      </div>
    </Sentence>
  );
}

function footParts(tree: TreeAnswer | undefined, coming: boolean): string[] {
  if (!tree) return [];
  const { meta } = tree.model;
  const say = (n: number): string => n.toLocaleString("en-US");
  const parts = [shown()];
  if (drawn.value && drawn.value.merged > 0) parts.push(`${say(drawn.value.merged)} too narrow, in grey`);
  parts.push(prunedText(meta, coming));
  if (meta.tookMs > 0) parts.push(`answered in ${meta.tookMs < 10 ? meta.tookMs.toFixed(1) : Math.round(meta.tookMs)} ms`);
  return parts;
}

export function Explore() {
  const v = view.value;
  const kinds = useKinds(v.query);
  const kind = kinds.data && findKind(kinds.data, v.type);
  const grid = useGrid(kind);
  const tree = useTree(kind);
  const marks = useMarks();
  if (kinds.error && !kinds.data) return <Failure error={kinds.error}>{kinds.error instanceof ApiError && kinds.error.status === 400 && v.query ? <button type="button" class="btn" onClick={() => go({ query: "" })}>Clear the selector</button> : undefined}</Failure>;
  if (!kinds.data) return <Loading what="Explore" />;
  if (kinds.data.length === 0 && v.query === "") return <FirstData />;
  if (!kind) return <Sentence title={kinds.data.length ? `There is no type called “${v.type}” here.` : "No profile fits this selector."} role="status"><a class="btn" href={href({ query: kinds.data.length ? v.query : "", type: "" })}>{kinds.data.length ? "Another type" : "Everything"}</a></Sentence>;
  const total = tree.data && !tree.error ? tree.data.model.totals[tree.data.model.meta.defaultType] : null;
  const empty = (tree.error instanceof ApiError && tree.error.empty) || total === 0;
  return (
    <div class="page explore">
      <Strip kinds={kinds.data} kind={kind} grid={grid} marks={marks} amount={tree.data && !tree.error ? tree.data.amount ?? null : null} completeness={tree.data?.completeness} />
      {empty ? <Nothing /> : tree.error && !tree.data ? <Failure error={tree.error} />
        : tree.data ? <Workbench model={tree.data.model} stale={tree.slow} type={kind.id} typeWord={kindParam(kind, kinds.data)} />
          : <Loading what="flame graph" />}
      <Foot parts={() => footParts(tree.data, tree.coming)} notes={tree.data?.model.meta.notes ?? []} ms={tree.ms} />
    </div>
  );
}
