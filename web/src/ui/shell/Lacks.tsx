// That a number is not of all that was measured, and why: in words, or as a mark where there is no room.
const ABOUT = "Completeness of the data";

export function Lacks({ text }: { text: string }) {
  return text ? <> · <span class="lacks" title={ABOUT}>{text}</span></> : null;
}

export function LacksMark({ text }: { text: string }) {
  return text ? <i class="lacks-mark" role="img" aria-label={text} title={text} /> : null;
}
