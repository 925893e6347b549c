// Honest numbers: what is shown, what is not, how long it took.
import { away } from "../api";
import { view } from "../router";

export function Foot({ parts, notes = [], ms = 0 }: { parts: string[]; notes?: string[]; ms?: number }) {
  const live = view.value.until === "now";
  return (
    <footer id="foot">
      <span>{away.value ? "○ away" : live ? "● live" : "● connected"}</span>
      {notes.length > 0 && <span class="note" title={notes.join("\n")}>{notes.join(" · ")}</span>}
      <span class="push">{parts.join(" · ")}</span>
      {ms > 0 && <span title="From the question to the answer">{ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms</span>}
    </footer>
  );
}
