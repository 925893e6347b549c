// The time range: presets, or two times in the user's time zone.
import { useState } from "preact/hooks";
import { go, view } from "../router";
import { fromInput, PRESETS, rangeLabel, toInput, toMs } from "../time";
import { Menu } from "./Menu";

function Custom({ close }: { close: () => void }) {
  const v = view.value;
  const now = Date.now();
  const [from, setFrom] = useState(toInput(toMs(v.from, now)));
  const [until, setUntil] = useState(toInput(toMs(v.until, now)));
  const [a, b] = [fromInput(from), fromInput(until)];
  const usable = a !== "" && b !== "" && Number(a) < Number(b);
  return (
    <form class="custom" onSubmit={(e) => {
      e.preventDefault();
      if (!usable) return;
      setRange(a, b);
      close();
    }}>
      <label>From<input type="datetime-local" step="1" value={from} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
      <label>Until<input type="datetime-local" step="1" value={until} onInput={(e) => setUntil(e.currentTarget.value)} /></label>
      <button class="btn" disabled={!usable} title={usable ? "" : "The first moment must lie before the second"}>Show this range</button>
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
          <Custom close={close} />
          <p class="faint">Times are in your zone, {Intl.DateTimeFormat().resolvedOptions().timeZone}.</p>
        </>
      )}
    </Menu>
  );
}
