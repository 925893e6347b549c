// Heat map: when within each second something ran; a block of cells shows its stacks, a second block
// what differs between the two.
import { useMemo } from "preact/hooks";
import { diffOf, units } from "../../flame";
import { useAnswer } from "../answer";
import { ApiError, get } from "../api";
import { useCommands } from "../commands";
import { useKinds } from "../explore/data";
import { Types } from "../explore/Strip";
import { shown } from "../explore/drawn";
import { Workbench } from "../explore/Workbench";
import { aligned, blockText, cellsParam, columnFor, readBlock, sumOf, toHeat, type Block, type HeatReply } from "../heatmap/grid";
import { HeatCanvas } from "../heatmap/HeatCanvas";
import { findKind, type Kind } from "../kinds";
import { href, setRest, view } from "../router";
import { FirstData } from "../shell/FirstData";
import { Foot } from "../shell/Foot";
import { Failure, Loading, Sentence } from "../shell/states";
import { setRange } from "../shell/TimeRange";
import { dark } from "../theme";
import { between, toMs, utc } from "../time";
import { askTree, type TreeAnswer } from "../tree";
import { ALL_NODES, question, treeQuestion } from "../view";
import { prunedText } from "../whole";

const ROW_MS = 20;
const LEAST_WIDTH = 2;

function useHeat(kind: Kind | undefined) {
  const v = view.value;
  const key = kind ? JSON.stringify([v.query, kind.id, v.from, v.until]) : null;
  return useAnswer(key, async (signal) => {
    const now = Date.now();
    const [from, until] = [toMs(v.from, now), toMs(v.until, now)];
    const column = columnFor(until - from, innerWidth - 80, LEAST_WIDTH);
    const [first, last] = aligned(from, until, column);
    const params: [string, string][] = [...question({ ...v, type: (kind as Kind).id, from: String(first), until: String(last) }), ["column", `${column / 1e3}s`], ["row", `${ROW_MS}ms`]];
    return toHeat(await get<HeatReply>("heatmap", params, signal));
  });
}

function useBlock(kind: Kind | undefined, block: Block | null) {
  const v = view.value;
  const key = kind && block ? JSON.stringify([v.query, kind.id, v.from, v.until, blockText(block), v.filters, v.tags]) : null;
  return useAnswer(key, (signal): Promise<TreeAnswer> => {
    const b = block as Block;
    const now = Date.now();
    // A profile is found by when it began, which may be long before the block.
    const from = Math.min(b.from, Math.round(toMs(v.from, now)));
    const until = Math.max(b.until, Math.round(toMs(v.until, now)));
    const params = treeQuestion({ ...v, from: String(from), until: String(until) }, (kind as Kind).id, ALL_NODES);
    // All boxes at once: of two blocks each side must have what the other has.
    return askTree([...params, ["cells", cellsParam(b)]], signal);
  });
}

function words(b: Block): string {
  const now = Date.now();
  const rows = b.low === 0 && b.high === 1000 ? "" : `, ${b.low} – ${b.high} ms of the second`;
  return `${between(b.from, b.until, now, true)}${rows}`;
}

const inUtc = (b: Block): string => `${utc(b.from)} – ${utc(b.until)}`;

const clear = (): void => setRest({ cells: undefined, cells2: undefined });

export function HeatMap() {
  const v = view.value;
  const kinds = useKinds(v.query);
  const kind = kinds.data && findKind(kinds.data, v.type);
  const heat = useHeat(kind);
  const first = readBlock(v.rest.cells);
  const second = readBlock(v.rest.cells2);
  const tree = useBlock(kind, first);
  const other = useBlock(kind, second);
  const [one, two] = [first ? tree.data?.model : undefined, second ? other.data?.model : undefined];
  const model = useMemo(() => (first && second ? one && two && diffOf(one, two, [words(first), words(second)]) : one), [one, two, v.rest.cells, v.rest.cells2]);
  useCommands(() => [
    { id: "heat/map", group: "Heat map", title: "Focus the heat map", keys: ["h"], run: () => document.querySelector<HTMLElement>(".heat")?.focus() },
    { id: "heat/clear", group: "Heat map", title: "Clear the selection", run: clear },
  ], []);
  if (kinds.error && !kinds.data) return <Failure error={kinds.error} />;
  if (!kinds.data) return <Loading what="heat map" />;
  if (kinds.data.length === 0 && v.query === "") return <FirstData />;
  if (!kind) return <Sentence title={kinds.data.length ? `There is no type called “${v.type}” here.` : "No profile fits this selector."} role="status"><a class="btn" href={href({ query: kinds.data.length ? v.query : "", type: "" })}>{kinds.data.length ? "Another type" : "Everything"}</a></Sentence>;
  const data = heat.data;
  const empty = heat.error instanceof ApiError && heat.error.empty;
  const select = (block: Block, more: boolean): void => setRest(more && first ? { cells2: blockText(block) } : { cells: blockText(block), cells2: undefined });
  const failed = tree.error ?? (second ? other.error : undefined);
  const say = (value: number): string => units.amount(value, { name: kind.type, unit: kind.unit });
  return (
    <div class="page">
      <div class="strip heat-strip">
        <div class="row">
          <Types kinds={kinds.data} kind={kind} />
          {data && <span class="dim push">one column is {data.column / 1e3} s, one row {data.row} ms{data.untimed > 0 && data.total === 0 ? "" : data.untimed > 0 ? ` · ${units.count(data.untimed)} samples without a time` : ""}</span>}
          <span class="legend heat-legend" aria-hidden="true">less<i class="ramp" />more</span>
        </div>
        {heat.error && !data ? (empty ? <Sentence title="No data of this type in this range." role="status"><div class="actions"><button type="button" class="btn" onClick={() => setRange("-1h", "now")}>Last hour</button><button type="button" class="btn" onClick={() => setRange("-1d", "now")}>Last day</button></div></Sentence> : <Failure error={heat.error} />)
          : !data ? <div class="heat-wait"><Loading what="heat map" /></div>
            : data.total === 0 ? <Sentence title={data.untimed > 0 ? "These profiles have no sample times." : "No data of this type in this range."} role="status"><a class="btn" href={href({ page: "explore", rest: {} })}>Explore</a></Sentence>
              : <HeatCanvas heat={data} selected={first} second={second} dark={dark.value} say={say} onSelect={select} onClear={clear} />}
        {data && data.total > 0 && (
          <p class="heat-chosen">
            {first ? <>{second && <span class="side-word"><i class="less" />Before</span>}<b title={inUtc(first)}>{words(first)}</b> <span class="dim">{say(sumOf(data, first))}</span></> : <span class="dim">Drag over cells to see their stacks. With Ctrl, a second block is compared with the first.</span>}
            {second && <> <span class="side-word"><i class="more" />After</span><b title={inUtc(second)}>{words(second)}</b> <span class="dim">{say(sumOf(data, second))}</span></>}
            {first && <span class="push heat-buttons">
              {!second && <span class="dim">Ctrl + drag: compare</span>}
              <button type="button" class="quiet" onClick={() => setRange(String(first.from), String(first.until))}>Zoom in</button>
              <button type="button" class="quiet" onClick={clear}>Clear</button>
            </span>}
          </p>
        )}
      </div>
      {first && failed ? (failed instanceof ApiError && failed.empty ? <Sentence title="No data in these cells." role="status"><button type="button" class="btn" onClick={clear}>Clear the selection</button></Sentence> : <Failure error={failed} />)
        : model ? <Workbench key={model.meta.diff ? "diff" : "one"} model={model} stale={tree.slow || other.slow} type="" typeWord="" />
          : first ? <Loading what="flame graph" />
            : data && data.total > 0 ? <Sentence title="Choose cells above: their stacks are drawn here."><p class="faint">By keyboard: <kbd>h</kbd> goes into the map, arrows move, <kbd>Shift</kbd> chooses, <kbd>Enter</kbd> takes it, <kbd>x</kbd> compares.</p></Sentence> : <span class="push" />}
      <Foot parts={() => model ? [shown(), prunedText(model.meta)] : data ? [`${data.columns} × ${data.rows} cells`] : []} notes={model?.meta.notes ?? []} ms={model ? tree.ms : heat.ms} />
    </div>
  );
}
