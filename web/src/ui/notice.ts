// A short message, seen and heard: "Copied the link".
import { signal } from "@preact/signals";

export const notice = signal("");
let timer = 0;

export function say(text: string): void {
  notice.value = text;
  clearTimeout(timer);
  timer = window.setTimeout(() => (notice.value = ""), 3500);
}
