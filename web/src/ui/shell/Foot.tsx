// Honest numbers: what is shown, what is not, how long it took.
import { away } from "../api";
import { view } from "../router";

// `parts` may be made here, so that signals it reads draw the footer again and not its page.
export function Foot({ parts, notes = [], ms = 0 }: { parts: string[] | (() => string[]); notes?: string[]; ms?: number }) {
  const live = view.value.until === "now";
  return (
    <footer id="foot">
      <span>{away.value ? "○ away" : live ? "● live" : "● connected"}</span>
      {notes.length > 0 && <span class="note" title={notes.join("\n")}>{notes.join(" · ")}</span>}
      <span class="push">{(typeof parts === "function" ? parts() : parts).join(" · ")}</span>
      {ms > 0 && <span title="Time from the request to the response">{ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms</span>}
    </footer>
  );
}
