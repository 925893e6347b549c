// Above the picture: which type, the one number, the time line.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { css, DARK, LIGHT, ofLuminance, units, type Rgb } from "../../flame";
import { useAnswer, type Answer } from "../answer";
import { ApiError, get } from "../api";
import { useCommands } from "../commands";
import { lacks, type Completeness } from "../completeness";
import { coverageText, kindLabel, kindParam, rate, verdictText, verdictTone, type Amount, type Kind, type RateChange } from "../kinds";
import { go, setRest, view } from "../router";
import { withMatcher } from "../selector";
import type { Grid } from "../series";
import { Lacks } from "../shell/Lacks";
import { Failure } from "../shell/states";
import { dark } from "../theme";
import { between, local, toMs, utc } from "../time";
import { labelOf, UNDIVIDED, windowOf } from "./data";
import { Timeline, type Mark } from "./Timeline";

// The largest group is quiet when there is only one to see; the accent is for what stands beside it.
const HUES: [number, number][] = [[30, 0.22], [22, 0.72], [205, 0.5], [172, 0.4], [262, 0.35], [48, 0.6], [340, 0.4], [232, 0.4]];

export function groupColours(count: number, isDark: boolean): string[] {
  const palette = isDark ? DARK : LIGHT;
  return Array.from({ length: count }, (_, i) => {
    const [hue, saturation] = HUES[i % HUES.length];
    return css(ofLuminance(hue, saturation, (palette.low + palette.high) / 2 + (isDark ? 0.06 : -0.14)) as Rgb);
  });
}

export function Types({ kinds, kind }: { kinds: Kind[]; kind: Kind }) {
  const turn = (by: number): void => {
    const next = kinds[(kinds.indexOf(kind) + by + kinds.length) % kinds.length];
    go({ type: kindParam(next, kinds) });
  };
  // Where the row is longer than the page, the type that is shown is in sight.
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const on = row.current?.querySelector<HTMLElement>('[aria-pressed="true"]');
    if (row.current && on) row.current.scrollLeft = on.offsetLeft - row.current.offsetLeft - 60;
  }, [kind.id]);
  useCommands(() => (kinds.length > 1 ? [
    { id: "type/previous", group: "Question", title: "Previous type", keys: ["["], run: () => turn(-1) },
    { id: "type/next", group: "Question", title: "Next type", keys: ["]"], run: () => turn(1) },
    ...kinds.map((k) => ({ id: `type/${k.id}`, group: "Question", title: `Show ${kindLabel(k)} (${k.unit})`, run: () => go({ type: kindParam(k, kinds) }) })),
  ] : []), [kinds, kind]);
  return (
    <div class="types" role="group" aria-label="Type" ref={row}>
      {kinds.map((k) => <button type="button" title={k.id} aria-pressed={k === kind} onClick={() => go({ type: kindParam(k, kinds) })}>{kindLabel(k)}</button>)}
      {kinds.length > 1 && <kbd aria-hidden="true" title="Previous and next type">[ ]</kbd>}
    </div>
  );
}

// Chooses a label: what the time line is stacked by, and what the picture is grouped by.
function LabelSelect({ name, word, value: by, nothing }: { name: "by" | "group"; word: string; value: string; nothing?: string }) {
  const { query } = view.value;
  const names = useAnswer(`labels/${query}`, async (signal) => (await get<{ names: string[] }>("labels", query ? { query } : {}, signal)).names);
  const list = [...new Set([...(by ? [by] : []), ...(names.data ?? [])])];
  return (
    <label class="by">{word}
      <select value={by} onChange={(e) => setRest({ [name]: e.currentTarget.value || nothing })}>
        <option value="">none</option>
        {list.map((n) => <option value={n}>{n}</option>)}
      </select>
    </label>
  );
}

// The change of the rate by the last deployment in the range, and whether it is significant.
function useSince(grid: Grid | undefined, marks: Mark[], kind: Kind): { text: string; tone: string; title: string } | null {
  const { query } = view.value;
  const last = grid && marks.filter((m) => m.time > grid.from + grid.step && m.time < grid.until - grid.step).pop();
  const params: Record<string, string> | null = grid && last ? {
    type: kind.id, baseline: query || "{}", comparison: query || "{}", baseline_from: String(Math.round(grid.from)), baseline_until: String(last.time),
    comparison_from: String(last.time), comparison_until: String(Math.round(grid.until)),
  } : null;
  const { data } = useAnswer(params && JSON.stringify(params), (signal) => get<RateChange>("change", params as Record<string, string>, signal));
  if (!data || !last || data.verdict === "unknown" || data.verdict === "no_earlier_data" || data.verdict === "no_later_data") return null;
  const words = `since ${last.text.replace(/^deploy /, "")}, ${local(last.time, Date.now())}`;
  const title = `${utc(last.time)}: ${rate(data.before.rate, kind)} → ${rate(data.after.rate, kind)}`;
  return { title, text: `${verdictText(data).toLowerCase()} ${words}`, tone: verdictTone(data.verdict) };
}

export function Strip({ kinds, kind, grid, marks, amount, completeness }: { kinds: Kind[]; kind: Kind; grid: Answer<Grid>; marks: Mark[]; amount: Amount | null; completeness: Completeness | undefined }) {
  const v = view.value;
  const data = grid.data;
  const by = labelOf(v, kind);
  const now = Date.now();
  const chosen = v.rest.span && data ? ([toMs(v.from, now), toMs(v.until, now)] as [number, number]) : null;
  const colours = useMemo(() => groupColours(data?.groups.length ?? 0, dark.value), [data, dark.value]);
  const change = useSince(data, marks, kind);
  const coverage = amount && !kind.gauge ? coverageText(amount) : "";
  // The page says below that nothing was recorded.
  const nothing = !data && grid.error instanceof ApiError && grid.error.empty;
  const select = (from: number, until: number): void => {
    const around = windowOf(v);
    go({ from: String(from), until: String(until), rest: { ...v.rest, span: `${around.from}~${around.until}` } });
  };
  const clear = (): void => {
    const { span: _, ...rest } = v.rest;
    const around = windowOf(v);
    go({ ...around, rest });
  };
  const narrow = (): void => {
    const { span: _, ...rest } = v.rest;
    go({ rest });
  };
  return (
    <div class="strip" role="region" aria-label="Type, total and time line">
      <div class="row">
        <Types kinds={kinds} kind={kind} />
      </div>
      <div class="row">
        <div class="big">
          {amount === null && nothing ? "" : rate(amount?.rate ?? null, kind)}
          <small>
            {coverage && ` ${coverage}`}
            {amount !== null && amount.total !== null && !kind.gauge && ` · ${units.amount(amount.total, { name: kind.type, unit: kind.unit })} total`}
            {amount !== null && <Lacks text={lacks(completeness)} />}
            {change && <> · <span class={change.tone} title={change.title}>{change.text}</span></>}
          </small>
        </div>
        <div class="chooser push">
          <LabelSelect name="by" word="group by" value={by} nothing={labelOf({ ...v, rest: {} }, kind) && UNDIVIDED} />
          <LabelSelect name="group" word="flame graph by" value={v.rest.group ?? ""} />
        </div>
      </div>
      {((by && data) || chosen) && <div class="row">
        {by && data && (
          <div class="legend">
            {data.groups.map((g, i) => (g.other
              ? <span class="key" title="Sum of the smaller groups"><i style={{ background: colours[i] }} />{g.name}</span>
              : <button type="button" class="key" title={`Only ${by}=${g.name}`} onClick={() => go({ query: withMatcher(v.query, by, g.name) })}><i style={{ background: colours[i] }} />{g.name || "(none)"}</button>))}
          </div>
        )}
        {chosen && (
          <div class="chosen push">
            <span class="dim" title={`${utc(chosen[0])} – ${utc(chosen[1])}`}>{between(chosen[0], chosen[1], now, true)}</span>
            <button type="button" class="quiet" onClick={narrow}>Zoom in</button>
            <button type="button" class="quiet" onClick={clear}>Show all of it</button>
          </div>
        )}
      </div>}
      {!nothing && <div class="line" aria-busy={grid.loading}>
        {data ? <Timeline grid={data} colours={colours} marks={marks} selected={chosen} dark={dark.value} say={(x) => rate(x, kind)} onSelect={select} onClear={clear} />
          : grid.error && !nothing ? <Failure error={grid.error} /> : null}
      </div>}
    </div>
  );
}
