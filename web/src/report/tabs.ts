// Narrow screens show one column at a time; wide ones may put the table away.
import type { App } from "../bench/app";
import { h, press } from "../bench/dom";

type Tab = "graph" | "functions" | "detail";
const WORDS: [Tab, string][] = [["graph", "Graph"], ["functions", "Functions"], ["detail", "Detail"]];

export class Tabs {
  private tab: Tab = "graph";
  private readonly buttons: { tab: Tab; button: HTMLButtonElement }[];

  constructor(
    app: App,
    bar: HTMLElement,
    private readonly panels: HTMLElement,
  ) {
    this.buttons = WORDS.map(([tab, word]) => ({ tab, button: h("button", { type: "button", onclick: () => this.open(tab) }, word) }));
    bar.append(...this.buttons.map((b) => b.button));
    app.subscribe(() => panels.classList.toggle("no-table", !app.state.table));
    this.open("graph");
  }

  private open(tab: Tab): void {
    this.tab = tab;
    this.panels.dataset.tab = tab;
    for (const b of this.buttons) press(b.button, b.tab === this.tab);
  }
}
