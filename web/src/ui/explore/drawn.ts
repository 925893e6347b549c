// Statistics of the visible flame graph. A separate signal, so that a frame updates only the footer and
// not the page; and not at every frame, because nobody reads that fast.
import { signal } from "@preact/signals";

export interface Drawn {
  boxes: number;
  merged: number;
  // All boxes of the tree that is shown, which bottom-up is not the one that was asked for.
  of: number;
}

export const drawn = signal<Drawn | null>(null);

const EVERY_MS = 250;
let next: Drawn | null = null;
let timer = 0;

function tell(): void {
  timer = 0;
  const old = drawn.peek();
  if (next && (next.boxes !== old?.boxes || next.merged !== old.merged || next.of !== old.of)) drawn.value = next;
}

export function sayDrawn(boxes: number, merged: number, of: number): void {
  next = { boxes, merged, of };
  if (drawn.peek() === null) tell();
  else if (timer === 0) timer = window.setTimeout(tell, EVERY_MS);
}

export function nothingDrawn(): void {
  clearTimeout(timer);
  timer = 0;
  next = drawn.value = null;
}

// "shown: 120 of 4,000 boxes"
export function shown(): string {
  const say = (n: number): string => n.toLocaleString("en-US");
  const { boxes, of } = drawn.value ?? { boxes: 0, of: 0 };
  return `shown: ${say(boxes)} of ${say(of)} boxes`;
}
