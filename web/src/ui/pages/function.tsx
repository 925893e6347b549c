// One function: over time, who calls it and whom it calls, and where it runs.
import { useMemo, useState } from "preact/hooks";
import { units } from "../../flame";
import { useAnswer } from "../answer";
import { ApiError, get } from "../api";
import { Lines } from "../charts/Lines";
import { useCommands } from "../commands";
import { completenessOf, lacks } from "../completeness";
import { useKinds, useTree } from "../explore/data";
import { exactly } from "../explore/Filters";
import { Types } from "../explore/Strip";
import { useAbout, type About, type SpanRow } from "../function/data";
import { around, type Part } from "../function/near";
import { coverageText, findKind, rate, type Kind } from "../kinds";
import { go, href, setRest, view } from "../router";
import { withMatcher } from "../selector";
import { FirstData } from "../shell/FirstData";
import { Foot } from "../shell/Foot";
import { Lacks } from "../shell/Lacks";
import { Failure, Loading, Sentence } from "../shell/states";
import { setRange } from "../shell/TimeRange";
import { question } from "../view";
import { prunedText } from "../whole";

const FEW = 8;

// A list that shows only its first rows until expanded.
function Long<T>({ list, children, what }: { list: T[]; what: string; children: (item: T) => preact.ComponentChildren }) {
  const [all, setAll] = useState(false);
  return (
    <ul class="bars">
      {(all ? list : list.slice(0, FEW)).map((item) => <li>{children(item)}</li>)}
      {list.length > FEW && <li><button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Fewer" : `${list.length - FEW} more ${what}`}</button></li>}
    </ul>
  );
}

function Bar({ share }: { share: number }) {
  return <i class="bar-fill" style={{ width: `${Math.min(100, share * 100)}%` }} />;
}

function Near({ title, list, none }: { title: string; list: { name: string; share: number }[]; none: string }) {
  return (
    <section class="part">
      <h2>{title}</h2>
      {list.length === 0 ? <p class="dim">{none}</p> : (
        <Long list={list} what="functions">
          {(n) => <><Bar share={n.share} />{n.name ? <a href={href({ rest: { ...view.value.rest, name: n.name } })} title={n.name}>{n.name}</a> : <span class="dim">no callers: stacks begin here</span>}<span>{units.percent(n.share)}</span></>}
        </Long>
      )}
    </section>
  );
}

const LABELS: Record<string, string> = { service_name: "Services", commit: "Commits", "service.version": "Versions", service_version: "Versions", version: "Versions", "thread.name": "Threads", thread: "Threads", "host.name": "Hosts" };

function ByLabel({ label, parts, kind }: { label: string; parts: Part[]; kind: Kind }) {
  const whole = parts.reduce((sum, p) => sum + p.total, 0);
  return (
    <section class="part">
      <h2>{LABELS[label] ?? label}</h2>
      <Long list={parts} what="values">
        {(p) => {
          const to = href({ page: "explore", query: withMatcher(view.value.query, label, p.value), filters: [{ kind: "focus", text: exactly(view.value.rest.name ?? "") }], rest: {} });
          return <><Bar share={whole > 0 ? p.total / whole : 0} />{p.value ? <a href={to} title={`Explore it in ${p.value}`}>{p.value}</a> : <span class="dim">(none)</span>}<span title={`${units.amount(p.total, { name: kind.type, unit: kind.unit })} total, ${units.amount(p.self, { name: kind.type, unit: kind.unit })} self`}>{units.percent(whole > 0 ? p.total / whole : 0)}</span></>;
        }}
      </Long>
    </section>
  );
}

function Spans({ spans }: { spans: SpanRow[] }) {
  if (spans.length === 0) return null;
  return (
    <section class="part">
      <h2>Spans with this function</h2>
      <Long list={spans} what="spans">
        {(s) => <><Bar share={0} /><span class="mono" title={`trace ${s.trace_id}, span ${s.span_id}`}>{s.operation || `${s.trace_id.slice(0, 8)}…`}</span><span>{s.duration_ns ? units.duration(s.duration_ns) : s.service ?? ""}</span></>}
      </Long>
    </section>
  );
}

// Which function: a name, with those that use most to choose from.
function Choose({ kind }: { kind: Kind }) {
  const v = view.value;
  const params = question({ ...v, type: kind.id });
  const top = useAnswer(JSON.stringify(params), (signal) => get<{ rows: { name: string }[] }>("top", [...params, ["limit", "40"]], signal));
  const [text, setText] = useState("");
  const names = [...new Set((top.data?.rows ?? []).map((r) => r.name))].filter((n) => n.toLowerCase().includes(text.toLowerCase()));
  return (
    <Sentence title="Which function?">
      <form class="token" onSubmit={(e) => { e.preventDefault(); if (text.trim()) setRest({ name: text.trim() }); }}>
        <input type="text" class="field mono" aria-label="Name of the function" placeholder="its name" autocomplete="off" spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        <button class="btn hot">Show</button>
      </form>
      {names.length > 0 && <ul class="choose">{names.slice(0, 12).map((n) => <li><a href={href({ rest: { ...v.rest, name: n } })}>{n}</a></li>)}</ul>}
    </Sentence>
  );
}

function Over({ about, kind }: { about: About; kind: Kind }) {
  if (about.total.length === 0) return null;
  return (
    <Lines from={about.start} step={about.step} say={(x) => rate(x, kind)} label="Total and self over time"
      lines={[{ name: "total", values: about.total, tone: "warm" }, { name: "self", values: about.self, tone: "calm" }]} />
  );
}

export function FunctionPage() {
  const v = view.value;
  const name = v.rest.name ?? "";
  const kinds = useKinds(v.query);
  const kind = kinds.data && findKind(kinds.data, v.type);
  const about = useAbout(name, kind);
  const tree = useTree(name ? kind : undefined);
  const near = useMemo(() => (tree.data ? around(tree.data.model, name) : null), [tree.data, name]);
  const sandwich = (): void => go({ page: "explore", rest: { view: "sandwich", fn: name, ...(near?.modules[0] ? { in: near.modules[0] } : {}) } });
  useCommands(() => (name ? [{ id: "function/sandwich", group: "Function", title: "Sandwich: callers and callees as a picture", keys: ["s"], run: sandwich }] : []), [name, near]);
  if (kinds.error && !kinds.data) return <Failure error={kinds.error} />;
  if (!kinds.data) return <Loading what="function" />;
  if (kinds.data.length === 0 && v.query === "") return <FirstData />;
  if (!kind) return <Sentence title="No profile fits this selector." role="status"><a class="btn" href={href({ query: "", type: "" })}>All services</a></Sentence>;
  if (!name) return <Choose kind={kind} />;
  const empty = tree.error instanceof ApiError && tree.error.empty;
  if ((empty || (tree.data && !near)) && !tree.loading && !tree.coming) {
    return (
      <Sentence title={`“${name}” did not run in this range.`} role="status">
        <div class="actions">
          <button type="button" class="btn" onClick={() => setRange("-1d", "now")}>Last day</button>
          {v.query && <a class="btn" href={href({ query: "" })}>In all services</a>}
          <a class="btn" href={href({ rest: {} })}>Another function</a>
        </div>
      </Sentence>
    );
  }
  if (tree.error && !tree.data) return <Failure error={tree.error} />;
  if (!near) return <Loading what={name} />;
  const type = { name: kind.type, unit: kind.unit };
  return (
    <div class="page function-page">
      <div class="strip">
        <div class="row"><Types kinds={kinds.data} kind={kind} /></div>
        <h2 class="name">{name}</h2>
        <p class="dim where">{[near.modules.slice(0, 3).join(", ") + (near.modules.length > 3 ? ` and ${near.modules.length - 3} more modules` : ""), near.modules.length < 2 && near.place].filter(Boolean).join(" · ") || "module not known"}</p>
        <div class="row">
          <p class="big">{about.data && about.data.amount.rate !== null ? rate(about.data.amount.rate, kind) : units.amount(near.total, type)}
            <small> · {units.percent(near.whole > 0 ? near.total / near.whole : NaN)} of all · {units.percent(near.whole > 0 ? near.self / near.whole : NaN)} self · {units.amount(about.data?.amount.total ?? near.total, type)} total{about.data && coverageText(about.data.amount) && ` · ${coverageText(about.data.amount)}`}<Lacks text={lacks(completenessOf(about.data?.amount))} /></small></p>
          <span class="push actions">
            <button type="button" class="btn" onClick={sandwich}>Sandwich<kbd aria-hidden="true">s</kbd></button>
            <a class="btn" href={href({ page: "explore", filters: [...v.filters, { kind: "focus", text: exactly(name) }], rest: {} })}>Focus on it</a>
          </span>
        </div>
        {about.data ? <Over about={about.data} kind={kind} /> : about.error ? <Failure error={about.error} /> : <div class="lines-wait" />}
      </div>
      <div class="scroll">
        <div class="parts">
          <Near title="Called by" list={near.callers} none="No callers: stacks begin here." />
          <Near title="Calls" list={near.callees} none="No callees: stacks end here." />
          {about.data?.by.map(([label, parts]) => <ByLabel label={label} parts={parts} kind={kind} />)}
          {about.data && <Spans spans={about.data.spans} />}
        </div>
      </div>
      <Foot parts={() => (tree.data ? [prunedText(tree.data.model.meta, tree.coming)] : [])} notes={tree.data?.model.meta.notes ?? []} ms={tree.ms} />
    </div>
  );
}
