// The query: a selector with completion of services, label names and values. Enter submits it.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api";
import { completed, completingAt, isWhole, parts, type Completing } from "../selector";

const MOST = 50;

async function choicesFor(at: Completing, query: string, signal: AbortSignal): Promise<string[]> {
  if (at.kind === "service") return (await get<{ services: string[] }>("services", {}, signal)).services;
  // What other matchers leave over would be better still; the service alone is enough to be useful.
  const service = query.slice(0, Math.max(0, query.indexOf("{")));
  const params: Record<string, string> = service ? { query: service } : {};
  if (at.kind === "name") return (await get<{ names: string[] }>("labels", params, signal)).names;
  if (at.kind === "value") return (await get<{ values: string[] }>(`labels/${encodeURIComponent(at.label)}`, params, signal)).values;
  return at.kind === "operator" ? ["=", "!=", "=~", "!~"] : [];
}

function ranked(list: string[], written: string): string[] {
  const wanted = written.toLowerCase();
  const found = list.filter((c) => c.toLowerCase().includes(wanted));
  const starts = (c: string): number => (c.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.sort((a, b) => starts(a) - starts(b)).slice(0, MOST);
}

interface Props {
  value: string;
  onChange: (text: string) => void;
  id?: string;
  label?: string;
  hint?: string;
  placeholder?: string;
}

export function SelectorBar({ value, onChange, id = "selector", label = "Selector", hint = "e", placeholder = "everything: choose a service, or {label=\"value\"}" }: Props) {
  const [text, setText] = useState(value);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState<Completing | null>(null);
  const [choices, setChoices] = useState<string[]>([]);
  const [chosen, setChosen] = useState(-1);
  const [focused, setFocused] = useState(false);
  const listed = useRef(choices);
  listed.current = choices;
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(value), [value]);

  useEffect(() => {
    if (!open || !at) return undefined;
    const control = new AbortController();
    choicesFor(at, text, control.signal)
      .then((list) => {
        if (control.signal.aborted) return;
        const found = ranked(list, at.written);
        const next = found.length === 1 && found[0] === at.written && at.kind !== "service" ? [] : found;
        // Keep the choice that was selected before this response arrived.
        setChosen((c) => (c < 0 ? -1 : next.indexOf(listed.current[c])));
        setChoices(next);
      })
      .catch(() => !control.signal.aborted && setChoices([]));
    return () => control.abort();
  }, [open, at?.kind, at?.label, at?.from, at?.written]);

  const look = (now: string): void => {
    setAt(completingAt(now, input.current?.selectionStart ?? now.length));
    setOpen(true);
  };
  const commit = (now: string): void => {
    setOpen(false);
    if (isWhole(now)) onChange(now.trim());
  };
  const choose = (choice: string): void => {
    if (!at) return;
    const next = completed(text, at, choice);
    setText(next.text);
    requestAnimationFrame(() => {
      input.current?.setSelectionRange(next.cursor, next.cursor);
      if (isWhole(next.text) && at.kind !== "operator") {
        commit(next.text);
        return;
      }
      look(next.text);
    });
  };
  const onKey = (e: KeyboardEvent): void => {
    const shown = open && choices.length > 0;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (!shown) return look(text);
      const by = e.key === "ArrowDown" ? 1 : -1;
      setChosen((c) => (c + by + choices.length + (c < 0 && by < 0 ? 1 : 0)) % choices.length);
    } else if (e.key === "Enter" || (e.key === "Tab" && shown && chosen >= 0)) {
      if (shown && chosen >= 0) {
        e.preventDefault();
        choose(choices[chosen]);
      } else if (e.key === "Enter") {
        commit(text);
        if (isWhole(text)) input.current?.blur();
      }
    } else if (e.key === "Escape") {
      if (shown) setOpen(false);
      else {
        setText(value);
        input.current?.blur();
      }
      e.stopPropagation();
    }
  };
  const shown = open && focused && choices.length > 0;
  return (
    <div class={`query selector ${isWhole(text) ? "" : "bad"}`}>
      <div class="selector-text">
        <input
          ref={input} id={id} type="text" role="combobox" aria-label={label} aria-expanded={shown} aria-controls={`${id}-list`} aria-autocomplete="list"
          aria-activedescendant={shown && chosen >= 0 ? `${id}-${chosen}` : undefined} aria-invalid={!isWhole(text)}
          autocomplete="off" spellcheck={false} placeholder={placeholder} value={text} class={focused || text === "" ? "" : "covered"}
          onInput={(e) => { setText(e.currentTarget.value); look(e.currentTarget.value); }}
          onFocus={() => { setFocused(true); look(text); }}
          onBlur={() => { setFocused(false); setOpen(false); if (text !== value) commit(text); }}
          onClick={() => look(text)}
          onKeyDown={onKey}
        />
        {!focused && text !== "" && (
          <div class="selector-parts" aria-hidden="true">{parts(text).map((p) => <span class={`part-${p.kind}`}>{p.text}</span>)}</div>
        )}
      </div>
      {hint && <kbd aria-hidden="true">{hint}</kbd>}
      <ul id={`${id}-list`} class="choices" role="listbox" aria-label="Completions" hidden={!shown}>
        {shown && choices.map((c, i) => (
          <li id={`${id}-${i}`} role="option" aria-selected={i === chosen} class={i === chosen ? "on" : ""}
            onPointerDown={(e) => { e.preventDefault(); choose(c); }}>{c || "(empty)"}</li>
        ))}
      </ul>
    </div>
  );
}
