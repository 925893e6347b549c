// Lines of source with what they cost: of the selected function, or the hottest of all.
import { useMemo } from "preact/hooks";
import type { App } from "../../bench/app";
import { units } from "../../flame";
import { useAnswer } from "../answer";
import { ApiError, get, getBytes } from "../api";
import { view } from "../router";
import { Failure, Loading, Sentence } from "../shell/states";
import { treeParams } from "../tree";
import { useBench } from "./useBench";

interface LineRow {
  name: string;
  file: string;
  line?: number;
  module: string;
  build_id?: string;
  flat: number;
  cum: number;
}

const MOST_ROWS = 20000;
const AROUND = 8;
const HOTTEST = 100;

interface Line {
  line: number;
  self: number;
  total: number;
  text: string | null;
}

// The measured lines, with what stands around them when the text is there.
export function linesOf(rows: LineRow[], text: string[] | null): Line[] {
  const byLine = new Map<number, { self: number; total: number }>();
  for (const r of rows) {
    const old = byLine.get(r.line ?? 0) ?? { self: 0, total: 0 };
    byLine.set(r.line ?? 0, { self: old.self + r.flat, total: old.total + r.cum });
  }
  const known = [...byLine.keys()].sort((a, b) => a - b);
  const wanted = new Set(known);
  if (text) for (const n of known) if (n > 0) for (let i = Math.max(1, n - AROUND); i <= Math.min(text.length, n + AROUND); i++) wanted.add(i);
  return [...wanted].sort((a, b) => a - b).map((line) => ({ line, self: byLine.get(line)?.self ?? 0, total: byLine.get(line)?.total ?? 0, text: text?.[line - 1] ?? null }));
}

function useSource(file: string, buildId: string): { text: string[] | null; note: string } {
  const answer = useAnswer(file ? `source/${buildId}/${file}` : null, async (signal) => {
    try {
      return new TextDecoder().decode(await getBytes("source", buildId ? { file, build_id: buildId } : { file }, signal)).split("\n");
    } catch (e) {
      if (e instanceof ApiError) return null;
      throw e;
    }
  });
  const missing = answer.data === null && !answer.loading;
  return { text: file ? answer.data ?? null : null, note: missing ? "The server has no text of this file (server --source-root DIR or debuginfod gives it some): line numbers only." : "" };
}

export function SourcePane({ app, type }: { app: App; type: string }) {
  useBench(app);
  const v = view.value;
  const params: [string, string][] = [...treeParams({ ...v, type }), ["lines", "true"], ["limit", String(MOST_ROWS)]];
  const answer = useAnswer(JSON.stringify(params), (signal) => get<{ total: number; rows: LineRow[] }>("top", params, signal));
  const func = app.selectedFunc();
  const frame = func >= 0 ? app.model.funcFrame[func] : 0;
  const [name, module] = frame > 0 ? [app.model.name(frame), app.model.module(frame)] : ["", ""];
  const rows = useMemo(() => (answer.data?.rows ?? []).filter((r) => name === "" || (r.name === name && (module === "" || r.module === module || r.module === ""))), [answer.data, name, module]);
  const known = name ? rows.find((r) => r.file) : undefined;
  const file = known?.file ?? "";
  const { text, note } = useSource(file, known?.build_id ?? "");
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return <Loading what="source lines" />;
  const whole = answer.data.total || 1;
  const sampleType = app.model.meta.types[app.state.type];
  const share = (x: number): string => (x > 0 ? ((x / whole) * 100).toFixed(2) : "");
  if (rows.length === 0) return <Sentence title={name ? `No line of ${name} was measured.` : "Nothing was measured."} role="status" />;
  if (name === "") {
    const hottest = [...rows].sort((a, b) => b.flat - a.flat).slice(0, HOTTEST);
    return (
      <div class="source" tabIndex={0} role="region" aria-label="Source lines">
        <p class="dim source-note">The hottest lines; select a function to see all of its lines.</p>
        <table><thead><tr><th scope="col">Line</th><th scope="col">Self %</th><th scope="col">Total %</th></tr></thead>
          <tbody>{hottest.map((r) => (
            <tr onClick={() => app.selectFunction(app.model.findFunction(r.name, r.module))}><th scope="row" title={`${r.name}\n${r.file}`}><button type="button">{r.name}<span class="faint"> {r.file.slice(r.file.lastIndexOf("/") + 1)}{r.line ? `:${r.line}` : ""}</span></button></th><td>{share(r.flat)}</td><td>{share(r.cum)}</td></tr>
          ))}</tbody></table>
      </div>
    );
  }
  const lines = linesOf(rows, text);
  const most = Math.max(...lines.map((l) => Math.max(l.self, l.total)));
  return (
    <div class="source" tabIndex={0} role="region" aria-label={`Source lines of ${name}`}>
      <p class="source-note"><b>{name}</b> <span class="dim">{file || "file not known"}</span></p>
      {note && <p class="faint source-note">{note}</p>}
      <table class="code"><thead><tr><th scope="col">Line</th><th scope="col">Self</th><th scope="col">Total</th><th scope="col">{text ? "Text" : "Share of total"}</th></tr></thead>
        <tbody>{lines.map((l, i) => (
          <tr class={`${l.total > 0 ? "hot" : ""} ${i > 0 && lines[i - 1].line !== l.line - 1 && text ? "gap" : ""}`}>
            <th scope="row">{l.line || "?"}</th>
            <td>{l.self > 0 ? units.amount(l.self, sampleType) : ""}</td>
            <td>{l.total > 0 ? <><i class="fill" style={{ width: `${(l.total / most) * 100}%` }} />{units.amount(l.total, sampleType)}</> : ""}</td>
            <td class="text">{l.text ?? (l.total > 0 ? `${share(l.total)} %` : "")}</td>
          </tr>
        ))}</tbody></table>
    </div>
  );
}
