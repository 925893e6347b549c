// Filters on functions as chips; a menu to add one, and sets of them to keep.
import { useState } from "preact/hooks";
import { go, view } from "../router";
import { dropSet, saveSet, sets } from "../sets";
import { Menu } from "../shell/Menu";
import { FILTER_KINDS, type Filter, type FilterKind } from "../view";

export const WORDS: Record<FilterKind, [string, string]> = {
  focus: ["focus", "only stacks with a function that matches"],
  ignore: ["ignore", "no stacks with a function that matches"],
  hide: ["hide", "take functions that match out of the stacks"],
  show_from: ["show from", "cut off the callers of the first function that matches"],
};

export function addFilter(filter: Filter): void {
  const { filters } = view.peek();
  if (filters.some((f) => f.kind === filter.kind && f.text === filter.text)) return;
  go({ filters: [...filters, filter] });
}

// A regular expression that matches this name and nothing else.
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
}

function shown(text: string): string {
  const plain = text.match(/^\^(.*)\$$/);
  return plain ? plain[1].replace(/\\(.)/g, "$1") : text;
}

function AddForm({ close }: { close: () => void }) {
  const [kind, setKind] = useState<FilterKind>("focus");
  const [text, setText] = useState("");
  return (
    <form class="custom first" onSubmit={(e) => {
      e.preventDefault();
      if (text) addFilter({ kind, text });
      close();
    }}>
      <select aria-label="Action" value={kind} onChange={(e) => setKind(e.currentTarget.value as FilterKind)}>
        {FILTER_KINDS.map((k) => <option value={k}>{WORDS[k][0]}: {WORDS[k][1]}</option>)}
      </select>
      <input class="field mono" aria-label="Regular expression" placeholder="regular expression, e.g. JSON|^main$" spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <button class="btn" disabled={!text}>Add filter</button>
    </form>
  );
}

function Saved({ close }: { close: () => void }) {
  const { filters } = view.value;
  const [name, setName] = useState("");
  return (
    <>
      {sets.value.length > 0 && <p class="faint">Saved in this browser</p>}
      <ul class="list">
        {sets.value.map((s) => (
          <li class="saved"><button type="button" title={s.filters.map((f) => `${f.kind} ${f.text}`).join("\n")} onClick={() => { go({ filters: s.filters }); close(); }}>{s.name}<span class="faint">{s.filters.length}</span></button>
            <button type="button" class="drop" aria-label={`Delete ${s.name}`} onClick={() => dropSet(s.name)}>×</button></li>
        ))}
      </ul>
      {filters.length > 0 && (
        <form class="custom" onSubmit={(e) => { e.preventDefault(); if (name.trim()) { saveSet(name.trim(), filters); setName(""); } }}>
          <input class="field" aria-label="Name of the set" placeholder="save these as…" value={name} onInput={(e) => setName(e.currentTarget.value)} />
          <button class="btn" disabled={!name.trim()}>Save set</button>
        </form>
      )}
    </>
  );
}

export function FilterMenu() {
  return (
    <Menu label="Filter" title="Filters on functions" className="quiet" hint="x" id="filter-menu" align="left">
      {(close) => <><AddForm close={close} /><Saved close={close} /></>}
    </Menu>
  );
}

export function Chips() {
  const { filters, tags } = view.value;
  if (filters.length + tags.length === 0) return null;
  return (
    <div class="bar chips" role="group" aria-label="Filters">
      {filters.map((f, i) => (
        <span class="chip" title={`${WORDS[f.kind][1]}: ${f.text}`}>{WORDS[f.kind][0]} <b>{shown(f.text)}</b>
          <button type="button" aria-label={`Remove: ${WORDS[f.kind][0]} ${f.text}`} onClick={() => go({ filters: filters.filter((_, k) => k !== i) })}>×</button></span>
      ))}
      {tags.map((t, i) => (
        <span class="chip">tag <b>{t}</b><button type="button" aria-label={`Remove: tag ${t}`} onClick={() => go({ tags: tags.filter((_, k) => k !== i) })}>×</button></span>
      ))}
      {filters.length + tags.length > 1 && <button type="button" class="quiet" onClick={() => go({ filters: [], tags: [] })}>Clear all</button>}
    </div>
  );
}
