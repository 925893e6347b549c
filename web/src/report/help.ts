// The keys, in a dialog that keeps the focus while it is open and gives it back.
import { h } from "../bench/dom";

const KEYS: [string, string][] = [
  ["↑ ↓ ← →", "walk between boxes"], ["Enter", "zoom to the selected box"], ["Esc", "one step back"], ["0", "show everything"],
  ["/  Ctrl F", "search"], ["n  N", "next, previous match (widest first)"], ["r", "search by regular expression"],
  ["1", "flame graph"], ["i", "bottom-up: functions and their callers"], ["s", "sandwich: callers and callees of one function"],
  ["f", "flip: root at the top or the bottom"], ["o", "order by size or by name"], ["t", "function table on or off"],
  ["[  ]", "previous, next sample type"], ["c  C  y", "copy name, stack, all stacks of the zoom"], ["d", "dark or light"], ["?", "this help"],
];
const DIFF_KEYS: [string, string][] = [["m", "compare shares or values"], ["w", "swap before and after"]];
const MOUSE: [string, string][] = [
  ["click", "zoom to a box"], ["Ctrl + wheel", "zoom at the pointer"], ["drag", "move sideways when zoomed"], ["double click", "in the table: sandwich"],
];

export class Help {
  private readonly dialog: HTMLDialogElement;

  constructor(diff: boolean) {
    const rows = (list: [string, string][]): HTMLElement =>
      h("dl", null, ...list.flatMap(([key, text]) => [h("dt", null, h("kbd", { text: key })), h("dd", { text })]));
    this.dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" },
      h("h2", { id: "help-title", text: "Keys" }), rows(diff ? [...KEYS, ...DIFF_KEYS] : KEYS),
      h("h2", { text: "Mouse" }), rows(MOUSE),
      h("form", { method: "dialog" }, h("button", { class: "btn" }, "Close", h("kbd", null, "Esc"))));
    this.dialog.addEventListener("click", (e) => {
      if (e.target === this.dialog) this.dialog.close();
    });
    document.body.append(this.dialog);
  }

  toggle(): void {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }
  get open(): boolean {
    return this.dialog.open;
  }
}
