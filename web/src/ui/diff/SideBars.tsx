// The queries of both sides, and shortcuts for common comparisons.
import { go, setRest, view } from "../router";
import { withMatcher } from "../selector";
import { Menu } from "../shell/Menu";
import { SelectorBar } from "../shell/SelectorBar";
import { RangeForm, TimeRange } from "../shell/TimeRange";
import { toMs } from "../time";
import { rangeAround, sidesOf, versionPairs, whenLabel, whenOf, type Pair, type Version, type When } from "./sides";

const CHOICES: [When, string][] = [["before", "Previous period"], ["1d", "A day earlier"], ["7d", "A week earlier"], ["same", "Same period"]];

export function setWhen(when: When): void {
  setRest({ vs: when, bfrom: undefined, buntil: undefined });
}

function BeforeRange() {
  const v = view.value;
  const label = whenLabel(v, Date.now());
  const { before } = sidesOf(v, Date.now());
  return (
    <Menu id="range-before" label={label.text} title={`Time range before: ${label.title}`}>
      {(close) => (
        <>
          <ul class="list">{CHOICES.map(([when, word]) => <li><button type="button" aria-pressed={whenOf(v) === when} onClick={() => { setWhen(when); close(); }}>{word}</button></li>)}</ul>
          <RangeForm from={before.from} until={before.until} word="Compare with this range" onRange={(bfrom, buntil) => { setRest({ vs: undefined, bfrom, buntil }); close(); }} />
        </>
      )}
    </Menu>
  );
}

// Swaps before and after, also in the URL.
export function exchange(): void {
  const v = view.peek();
  const { before, after } = sidesOf(v, Date.now());
  const { vs: _, base: __, ...rest } = v.rest;
  go({ query: before.query, from: before.from, until: before.until, rest: { ...rest, ...(after.query !== before.query ? { base: after.query } : {}), bfrom: after.from, buntil: after.until } });
}

export function compareVersions(pair: Pair): void {
  const { query, rest, from, until } = view.peek();
  const { bfrom: _, buntil: __, ...kept } = rest;
  const now = Date.now();
  const range = rangeAround(pair.time, toMs(from, now), toMs(until, now), now);
  go({ ...(range ? { from: String(range[0]), until: String(range[1]) } : {}), query: withMatcher(query, pair.label, pair.after), rest: { ...kept, base: withMatcher(query, pair.label, pair.before), vs: "same" } });
}

const short = (text: string): string => (text.length > 12 ? `${text.slice(0, 10)}…` : text);

export function SideBars({ versions }: { versions: Version[] }) {
  const v = view.value;
  const when = whenOf(v);
  const chip = (word: string, title: string, on: boolean, act: () => void) => <button type="button" class="pick" title={title} aria-pressed={on} onClick={act}>{word}</button>;
  return (
    <div class="sides">
      <span class="side-word"><i class="less" />Before</span>
      <SelectorBar id="selector-before" label="Selector before" hint="b" value={v.rest.base ?? v.query} onChange={(text) => setRest({ base: text === v.query ? undefined : text || "{}" })} />
      <BeforeRange />
      <span class="side-word"><i class="more" />After</span>
      <SelectorBar label="Selector after" value={v.query} onChange={(query) => go({ query })} />
      <TimeRange />
      <div class="picks" role="group" aria-label="Compare with">
        {chip("Previous period", "The range just before this one", when === "before", () => setWhen("before"))}
        {chip("Yesterday", "The same time a day earlier", when === "1d", () => setWhen("1d"))}
        {chip("Last week", "The same time a week earlier", when === "7d", () => setWhen("7d"))}
        {versionPairs(versions).slice(0, 3).map((p) => chip(`${p.label} ${short(p.before)} → ${short(p.after)}`, `${p.before} against ${p.after}`, v.query.includes(`"${p.after}"`) && (v.rest.base ?? "").includes(`"${p.before}"`), () => compareVersions(p)))}
        <button type="button" class="quiet" title="Swap before and after" onClick={exchange}>Swap<kbd aria-hidden="true">X</kbd></button>
      </div>
    </div>
  );
}
