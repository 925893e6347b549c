// The time range: presets, or two times in the user's time zone.
import { useState } from "preact/hooks";
import { go, view } from "../router";
import { fromInput, isRelative, PRESETS, rangeLabel, toInput, toMs } from "../time";
import { Menu } from "./Menu";

// A moment as it stands in the address, and in the form. What nobody edits stays what it is: the form knows
// neither milliseconds nor which of two equal hours it is when clocks are put back.
function moment(text: string): { text: string; input: string } {
  const ms = toMs(text, Date.now());
  return { text: isRelative(text) ? String(Math.round(ms)) : text, input: toInput(ms) };
}

interface FormProps {
  from: string;
  until: string;
  word: string;
  onRange: (from: string, until: string) => void;
}

export function RangeForm({ from: a, until: b, word, onRange }: FormProps) {
  const [given] = useState(() => [moment(a), moment(b)]);
  const [from, setFrom] = useState(given[0].input);
  const [until, setUntil] = useState(given[1].input);
  const [first, last] = [from, until].map((text, i) => (text === given[i].input ? given[i].text : fromInput(text)));
  const usable = toMs(first, 0) < toMs(last, 0);
  return (
    <form class="custom" onSubmit={(e) => {
      e.preventDefault();
      if (usable) onRange(first, last);
    }}>
      <label>From<input type="datetime-local" step="1" value={from} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
      <label>Until<input type="datetime-local" step="1" value={until} onInput={(e) => setUntil(e.currentTarget.value)} /></label>
      <button class="btn" disabled={!usable} title={usable ? "" : "The first moment must lie before the second"}>{word}</button>
    </form>
  );
}

// A new range starts without what was selected inside the old one.
export function setRange(from: string, until: string): void {
  const { span: _, ...rest } = view.peek().rest;
  go({ from, until, rest });
}

export function TimeRange() {
  const v = view.value;
  const label = rangeLabel(v.from, v.until, Date.now());
  return (
    <Menu id="range" label={label.text} title={`Time range: ${label.title}`} hint="T">
      {(close) => (
        <>
          <ul class="list">
            {PRESETS.map(([value, text]) => (
              <li><button type="button" aria-pressed={v.from === value && v.until === "now"} onClick={() => { setRange(value, "now"); close(); }}>{text}</button></li>
            ))}
          </ul>
          <RangeForm from={v.from} until={v.until} word="Show this range" onRange={(from, until) => { setRange(from, until); close(); }} />
          <p class="faint">Times are in your zone, {Intl.DateTimeFormat().resolvedOptions().timeZone}.</p>
        </>
      )}
    </Menu>
  );
}
