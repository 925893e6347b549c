// Files: profiles dropped on the page are shown and compared; stored only on request.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { diffOf, units, type Model } from "../../flame";
import { useAnswer } from "../answer";
import { ApiError, AwayError, post } from "../api";
import { useCommands } from "../commands";
import { shown } from "../explore/drawn";
import { Workbench } from "../explore/Workbench";
import { add, close, markStored, MAX_BYTES, opened, serviceName, view as viewFile, type Opened } from "../files/opened";
import { say } from "../notice";
import { go, href, setRest, view } from "../router";
import { Foot } from "../shell/Foot";
import { Menu } from "../shell/Menu";
import { SelectorBar } from "../shell/SelectorBar";
import { Failure, Loading, Sentence } from "../shell/states";
import { TimeRange } from "../shell/TimeRange";
import { question } from "../view";
import { prunedText } from "../whole";

const size = (bytes: number): string => units.amount(bytes, { name: "", unit: "bytes" });

interface Busy {
  name: string;
  error?: string;
}

// Opens files one after the other; a failure is shown and does not stop the others.
function useOpener(): { busy: Busy[]; open: (files: File[]) => void; forget: (name: string) => void } {
  const [busy, setBusy] = useState<Busy[]>([]);
  const open = async (files: File[]): Promise<void> => {
    setBusy((list) => [...list.filter((b) => !files.some((f) => f.name === b.name)), ...files.map((f) => ({ name: f.name }))]);
    for (const file of files) {
      const failed = (error: string): void => setBusy((list) => list.map((b) => (b.name === file.name ? { ...b, error } : b)));
      if (file.size > MAX_BYTES) {
        failed(`${size(file.size)} is more than the server takes (${size(MAX_BYTES)}). “vestal flame ${file.name}” shows it without a server.`);
        continue;
      }
      const start = performance.now();
      try {
        const model = await viewFile(file, { name: file.name });
        add({ name: file.name, file, model, bytes: file.size, ms: performance.now() - start, stored: "" });
        setBusy((list) => list.filter((b) => b.name !== file.name));
        setRest({ file: file.name });
      } catch (e) {
        failed(e instanceof ApiError ? e.message : e instanceof AwayError ? "the server does not respond" : `the response could not be read: ${(e as Error).message}`);
      }
    }
  };
  return { busy, open: (files) => void open(files), forget: (name) => setBusy((list) => list.filter((b) => b.name !== name)) };
}

function Store({ item }: { item: Opened }) {
  const [service, setService] = useState(serviceName(item.name));
  const [error, setError] = useState("");
  const store = async (done: () => void): Promise<void> => {
    setError("");
    try {
      await post("profiles", { service: service.trim() }, item.file);
      markStored(item.name, service.trim());
      say(`Stored as ${service.trim()}`);
      done();
    } catch (e) {
      setError((e as Error).message);
    }
  };
  if (item.stored) return <a class="btn" href={href({ page: "explore", query: item.stored, from: "-1h", until: "now", rest: {} })}>Explore {item.stored}</a>;
  return (
    <Menu label="Store it" title="Store this file on the server">
      {(done) => (
        <form class="custom store" onSubmit={(e) => { e.preventDefault(); if (service.trim()) void store(done); }}>
          <label>Service<input class="field" type="text" value={service} onInput={(e) => setService(e.currentTarget.value)} /></label>
          <button class="btn hot" disabled={!service.trim()}>Store {item.name}</button>
          {error && <p class="up" role="alert">{error}</p>}
        </form>
      )}
    </Menu>
  );
}

type Shown = { model?: Model; error?: Error; loading: boolean };

// The file alone, against another file, or against what is stored.
function useShown(item: Opened, against: string): Shown {
  const v = view.value;
  const stored = against === "stored";
  const type = item.model.meta.types[item.model.meta.defaultType].name;
  const key = stored ? JSON.stringify([item.name, item.bytes, v.query, v.from, v.until, type]) : null;
  const answer = useAnswer(key, (signal) => viewFile(item.file, [["baseline", v.query || "{}"], ...question(v).filter(([n]) => n === "from" || n === "until"), ["name", item.name], ["type", type]], signal));
  const other = against.startsWith("file:") ? opened.value.find((o) => o.name === against.slice(5)) : undefined;
  const model = useMemo(() => other && diffOf(other.model, item.model, [other.name, item.name]), [other?.model, item.model]);
  if (stored) return { model: answer.data, error: answer.error, loading: answer.loading };
  if (!other) return { model: item.model, loading: false };
  return model ? { model, loading: false } : { error: new ApiError(400, "bad_argument", `${other.name} has no ${type} to compare with`), loading: false };
}

function Shelf({ item, onPick }: { item: Opened | undefined; onPick: () => void }) {
  const v = view.value;
  const against = v.rest.vs ?? "";
  return (
    <div class="strip shelf">
      <div class="row">
        <div class="types" role="group" aria-label="Opened files">
          {opened.value.map((o) => (
            <span class="file-tab">
              <button type="button" aria-pressed={o === item} title={`${o.name}, ${size(o.bytes)}`} onClick={() => setRest({ file: o.name, vs: undefined })}>{o.name}</button>
              <button type="button" class="shut" aria-label={`Close ${o.name}`} title="Close" onClick={() => close(o.name)}>×</button>
            </span>
          ))}
          <button type="button" class="quiet" onClick={onPick}>Open another<kbd aria-hidden="true">a</kbd></button>
        </div>
        {item && <span class="push actions"><Store key={item.name} item={item} /></span>}
      </div>
      {item && (
        <div class="row against">
          <label class="by">compare with
            <select value={against} onChange={(e) => setRest({ vs: e.currentTarget.value })}>
              <option value="">off</option>
              <option value="stored">stored profiles</option>
              {opened.value.filter((o) => o !== item).map((o) => <option value={`file:${o.name}`}>{o.name}</option>)}
            </select>
          </label>
          {against === "stored" && <><SelectorBar label="Stored profiles" value={v.query} onChange={(query) => go({ query })} /><TimeRange /></>}
          <span class="dim push">{size(item.bytes)} · {item.stored ? `stored as ${item.stored}` : "in this tab only, not stored"}</span>
        </div>
      )}
    </div>
  );
}

function Shows({ item }: { item: Opened }) {
  const against = view.value.rest.vs ?? "";
  const shown = useShown(item, against);
  if (shown.error && !shown.model) return <Failure error={shown.error}><button type="button" class="btn" onClick={() => setRest({ vs: undefined })}>Show the file alone</button></Failure>;
  if (!shown.model) return <Loading what="comparison" />;
  return <Workbench key={`${item.name}/${shown.model.meta.diff}`} model={shown.model} stale={shown.loading} type="" typeWord="" />;
}

export function Files() {
  const v = view.value;
  const { busy, open, forget } = useOpener();
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const item = opened.value.find((o) => o.name === v.rest.file) ?? opened.value[opened.value.length - 1];
  const pick = (): void => input.current?.click();
  useCommands(() => [{ id: "files/open", group: "Files", title: "Open a profile", keys: ["a"], run: pick }], []);
  useEffect(() => {
    const drag = (e: DragEvent): void => {
      if (!e.dataTransfer?.types.includes("Files")) return;
      e.preventDefault();
      setOver(e.type !== "dragleave" || e.relatedTarget !== null);
    };
    const drop = (e: DragEvent): void => {
      setOver(false);
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      open([...e.dataTransfer.files]);
    };
    const paste = (e: ClipboardEvent): void => {
      if ((e.target as HTMLElement).closest("input, textarea")) return;
      const files = [...(e.clipboardData?.files ?? [])];
      const text = e.clipboardData?.getData("text/plain") ?? "";
      if (files.length) open(files);
      else if (/;.* \d+\s*$/m.test(text)) open([new File([text], "pasted.folded")]);
    };
    addEventListener("dragover", drag);
    addEventListener("dragleave", drag);
    addEventListener("drop", drop);
    addEventListener("paste", paste);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("dragleave", drag);
      removeEventListener("drop", drop);
      removeEventListener("paste", paste);
    };
  }, []);
  return (
    <div class={`page files ${over ? "over" : ""}`}>
      <input ref={input} type="file" multiple hidden aria-label="Profiles to open" onChange={(e) => { open([...(e.currentTarget.files ?? [])]); e.currentTarget.value = ""; }} />
      {opened.value.length > 0 && <Shelf item={item} onPick={pick} />}
      {busy.map((b) => (
        <div class={`file-note ${b.error ? "bad" : ""}`} role={b.error ? "alert" : "status"}>
          <b>{b.name}</b> {b.error ? <>{b.error} <button type="button" class="quiet" onClick={() => forget(b.name)}>Dismiss</button></> : "is being read …"}
        </div>
      ))}
      {item ? <Shows item={item} /> : (
        <div class="drop-zone">
          <Sentence title="Drop a profile here.">
            <p class="dim">pprof, perf, folded stacks, speedscope, JFR, V8 cpuprofile and heapprofile, OTLP, and all other formats of “vestal convert”. The file is sent to this server and shown without being stored, unless you choose to store it.</p>
            <button type="button" class="btn hot" onClick={pick}>Choose files<kbd aria-hidden="true">a</kbd></button>
            <p class="faint">Folded stacks can be pasted, too.</p>
          </Sentence>
        </div>
      )}
      {over && <div class="drop-here" aria-hidden="true">Drop to open</div>}
      <Foot parts={() => (item ? [shown(), prunedText(item.model.meta)] : [])} notes={item?.model.meta.notes ?? []} ms={item?.ms ?? 0} />
    </div>
  );
}
