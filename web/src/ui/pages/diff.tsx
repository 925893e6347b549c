// Diff: compares two selections, and tests whether the changes are significant.
import { useMemo } from "preact/hooks";
import { units } from "../../flame";
import { ApiError, revision } from "../api";
import { Lines } from "../charts/Lines";
import { useCommands } from "../commands";
import { lacksOfBoth } from "../completeness";
import { useDiff, useLatestVersions, useLines } from "../diff/data";
import { compareVersions, exchange, setWhen, SideBars } from "../diff/SideBars";
import { sidesOf, versionPairs, whenOf, type Version } from "../diff/sides";
import { useKinds } from "../explore/data";
import { Types } from "../explore/Strip";
import { shown } from "../explore/drawn";
import { Workbench } from "../explore/Workbench";
import { changeText, coverageText, findKind, kindParam, rate, verdictText, verdictTone, type Kind, type RateChange } from "../kinds";
import { href, setRest, view } from "../router";
import { FirstData } from "../shell/FirstData";
import { Foot } from "../shell/Foot";
import { Lacks } from "../shell/Lacks";
import { Failure, Loading, Sentence } from "../shell/states";
import { prunedText } from "../whole";

// The one number: how much more or less, by the rates of both sides, and whether that is more than noise.
function Sum({ change, kind, lacking }: { change: RateChange; kind: Kind; lacking: string }) {
  const type = { name: kind.type, unit: kind.unit };
  const both = [change.before, change.after];
  const amounts = both.map((a) => (a.total === null ? "–" : units.amount(a.total, type)));
  const partly = !kind.gauge && both.some((a) => coverageText(a) !== "");
  const share = change.verdict === "noise" ? changeText(change.share) : "";
  return (
    <p class="big">
      <span class={verdictTone(change.verdict)} title={change.p_value === null ? "" : `p = ${change.p_value.toPrecision(2)}, ${change.test === "samples" ? "by samples" : "by blocks of time"}`}>{verdictText(change)}</span>
      <small>{share && ` · ${share}`} · {rate(change.before.rate, kind)} → {rate(change.after.rate, kind)}{!kind.gauge && <> · {amounts[0]} → {amounts[1]} total{partly && `, data for ${both.map((a) => (a.coverage === null ? "–" : `${units.figure(a.coverage * 100)} %`)).join(" → ")} of the ranges`}</>}<Lacks text={lacking} /></small>
    </p>
  );
}

function Nothing({ title, versions }: { title: string; versions: Version[] }) {
  const when = whenOf(view.value);
  const [pair] = versionPairs(versions);
  const compared = pair !== undefined && view.value.query.includes(`"${pair.after}"`);
  return (
    <Sentence title={title} role="status">
      <div class="actions">
        {pair && !compared && <button type="button" class="btn" onClick={() => compareVersions(pair)}>{pair.before} → {pair.after}</button>}
        {when !== "before" && <button type="button" class="btn" onClick={() => setWhen("before")}>Previous period</button>}
        {when !== "1d" && <button type="button" class="btn" onClick={() => setRest({ base: undefined, vs: "1d" })}>A day earlier</button>}
        <a class="btn" href={href({ page: "explore", rest: {} })}>Explore one side</a>
      </div>
    </Sentence>
  );
}

export function Diff() {
  const v = view.value;
  // Moments are fixed once for a question, so that both sides end at the same now.
  const { before, after } = useMemo(() => sidesOf(v, Date.now()), [v.query, v.from, v.until, v.rest.base, v.rest.vs, v.rest.bfrom, v.rest.buntil, revision.value]);
  const kinds = useKinds(v.query);
  const kind = kinds.data && findKind(kinds.data, v.type);
  const tree = useDiff(before, after, kind);
  const lines = useLines(before, after, kind);
  // Of the service, whatever else the selector says: one that names a version would know no other.
  const versions = useLatestVersions(v.query.split("{")[0] || v.query);
  useCommands(() => [
    { id: "diff/before", group: "Diff", title: "Compare with the previous period", run: () => setWhen("before") },
    { id: "diff/day", group: "Diff", title: "Compare with the same time yesterday", run: () => setWhen("1d") },
    { id: "diff/week", group: "Diff", title: "Compare with the same time last week", run: () => setWhen("7d") },
    { id: "diff/base", group: "Diff", title: "Edit the selector before", keys: ["b"], run: () => document.getElementById("selector-before")?.focus() },
    { id: "diff/exchange", group: "Diff", title: "Swap before and after", keys: ["X"], run: exchange },
  ], []);
  if (kinds.error && !kinds.data) return <Failure error={kinds.error} />;
  if (!kinds.data) return <Loading what="Diff" />;
  if (kinds.data.length === 0 && v.query === "") return <FirstData />;
  const empty = tree.error instanceof ApiError && tree.error.empty;
  const [a, b] = tree.data?.model.totals ?? [1, 1];
  const missing = a === 0 && b === 0 ? "No data of this type on either side." : a === 0 ? "No data of this type before." : b === 0 ? "No data of this type after." : "";
  return (
    <div class="page">
      <div class="strip">
        <SideBars versions={versions} />
        <div class="row compared">
          {kind && <Types kinds={kinds.data} kind={kind} />}
          {kind && tree.data?.change && !missing && <Sum change={tree.data.change} kind={kind} lacking={lacksOfBoth(tree.data.completenessBefore, tree.data.completeness)} />}
        </div>
        {kind && lines.data && <Lines lines={[{ name: "after", values: lines.data.after, tone: "warm" }, { name: "before", values: lines.data.before, tone: "cool" }]} from={lines.data.start} step={lines.data.step} height={48} say={(x) => rate(x, kind)} label="Both sides over time" />}
      </div>
      {!kind ? <Sentence title={kinds.data.length ? `There is no type called “${v.type}” here.` : "No profile fits this selector."} role="status"><a class="btn" href={href({ query: kinds.data.length ? v.query : "", type: "" })}>{kinds.data.length ? "Another type" : "Everything"}</a></Sentence>
        : tree.error && !tree.data ? (empty ? <Nothing title="No data of this type on one of the sides." versions={versions} /> : <Failure error={tree.error} />)
          : missing ? <Nothing title={missing} versions={versions} />
          : tree.data ? <Workbench model={tree.data.model} stale={tree.slow} type={kind.id} typeWord={kindParam(kind, kinds.data)} />
            : <Loading what="difference" />}
      <Foot parts={() => tree.data ? [shown(), prunedText(tree.data.model.meta, tree.coming)] : []} notes={tree.data?.model.meta.notes ?? []} ms={tree.ms} />
    </div>
  );
}
