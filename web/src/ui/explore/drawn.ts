// What the picture on the screen shows. A signal of its own, so that a frame costs the words in the
// footer and not the page around them; and not every frame, since nobody reads that fast.
import { signal } from "@preact/signals";

export interface Drawn {
  boxes: number;
  merged: number;
}

export const drawn = signal<Drawn | null>(null);

const EVERY_MS = 250;
let next: Drawn | null = null;
let timer = 0;

function tell(): void {
  timer = 0;
  const old = drawn.peek();
  if (next && (next.boxes !== old?.boxes || next.merged !== old.merged)) drawn.value = next;
}

export function sayDrawn(boxes: number, merged: number): void {
  next = { boxes, merged };
  if (drawn.peek() === null) tell();
  else if (timer === 0) timer = window.setTimeout(tell, EVERY_MS);
}

export function nothingDrawn(): void {
  clearTimeout(timer);
  timer = 0;
  next = drawn.value = null;
}

// "shown: 120 of 4,000 boxes"
export function shownOf(boxes: number): string {
  const say = (n: number): string => n.toLocaleString("en-US");
  return `shown: ${say(drawn.value?.boxes ?? 0)} of ${say(boxes)} boxes`;
}
