// Everything about the selected box; without one, what the file is made of.
import { css, moduleKey, neighbours, tintColour, units, type Neighbour } from "../flame";
import type { App } from "./app";
import { h, keyButton } from "./dom";
import { boxFacts, valueFacts, whereOf, type Fact } from "./facts";

const MOST = 8;

export class Detail {
  private shown = "";

  constructor(
    private readonly app: App,
    private readonly panel: HTMLElement,
    private readonly actions: { copyName: () => void; copyStack: () => void; sandwich: () => void },
    // Additional information of a page about a function, below its numbers.
    private readonly more: (func: number) => HTMLElement[] = () => [],
  ) {
    app.subscribe((changed) => {
      const key = app.factsKey();
      if (changed.before === null || key !== this.shown) this.update();
      this.shown = key;
    });
  }

  private update(): void {
    const { app } = this;
    const { selection } = app;
    const parts = selection && selection.node < app.tree(selection.pane).count && app.tree(selection.pane).frame[selection.node] !== 0 ? this.ofBox() : this.ofFile();
    this.panel.replaceChildren(...parts);
  }

  private list(facts: Fact[]): HTMLElement {
    return h("dl", null, ...facts.flatMap((f) => [h("dt", { text: f.label }), h("dd", { class: f.tone, text: f.value })]));
  }

  private ofBox(): HTMLElement[] {
    const { app, actions } = this;
    const selection = app.selection as NonNullable<typeof app.selection>;
    const tree = app.tree(selection.pane);
    const frame = tree.frame[selection.node];
    const func = app.model.funcOf[frame];
    const row = app.model.funcRow[func];
    const parts: HTMLElement[] = [h("h2", { text: app.model.name(frame) }), h("p", { text: whereOf(app, frame) || "module not known" })];
    if (!selection.whole || row < 0) parts.push(h("h3", { text: "This box" }), this.list(boxFacts(app, tree, selection.node)));
    if (row >= 0) {
      const { tableSelf, tableTotal } = app.derived.columns(app.state);
      parts.push(h("h3", { text: "The function, everywhere" }), this.list(valueFacts(app, tableSelf.map((r) => r[row]), tableTotal.map((r) => r[row]), row)));
    }
    parts.push(h("div", { class: "actions" },
      keyButton("Zoom", "↵", "Fill the width with this box", () => app.zoom(selection.node), { class: "btn", disabled: selection.pane !== "main" }),
      keyButton("Sandwich", "s", "Callers and callees", actions.sandwich, { class: "btn" }),
      keyButton("Copy name", "c", "Copy the name", actions.copyName, { class: "btn" }),
      keyButton("Copy stack", "C", "Copy the stack", actions.copyStack, { class: "btn" }),
    ));
    if (!app.model.pruned[frame]) {
      parts.push(...this.more(func));
      const { callers, callees } = neighbours(app.derived.base(app.state), app.model, func);
      parts.push(...this.neighbourList("Called by", callers), ...this.neighbourList("Calls", callees));
    }
    return parts;
  }

  // Shares of the list's own sum: how the function's callers (or callees) divide it.
  private neighbourList(title: string, list: Neighbour[]): HTMLElement[] {
    const { app } = this;
    if (list.length === 0) return [];
    const weigh = (n: Neighbour): number => n.value.reduce((a, b) => a + b, 0);
    const whole = list.reduce((sum, n) => sum + weigh(n), 0);
    const rows = list.slice(0, MOST).map((n) => {
      const frame = app.model.funcFrame[n.func];
      const name = app.model.name(frame);
      const plain = frame === 0 || app.model.pruned[frame] === 1;
      return h("li", null,
        plain ? h("span", { text: frame === 0 ? "no caller" : name }) : h("button", { type: "button", title: name, text: name, onclick: () => app.selectFunction(n.func) }),
        h("span", { text: units.percent(whole > 0 ? weigh(n) / whole : 0) }));
    });
    if (list.length > MOST) rows.push(h("li", { class: "faint" }, `and ${list.length - MOST} more`));
    return [h("h3", { text: title }), h("ul", { class: "mini" }, ...rows)];
  }

  private ofFile(): HTMLElement[] {
    const { app } = this;
    const { meta } = app.model;
    const tree = app.derived.base(app.state);
    const parts: HTMLElement[] = [h("h2", { class: "plain", text: meta.diff ? "What changed" : "The whole profile" })];
    parts.push(h("p", { text: "Click a box to zoom and see its numbers, or walk with the arrow keys." }));
    parts.push(this.list(valueFacts(app, tree.self.map((r) => r[0]), tree.total.map((r) => r[0])).slice(0, meta.diff ? 2 : 1)));
    parts.push(h("h3", { text: meta.diff ? "Self by module" : "Self by module, and its colour" }), this.modules());
    if (meta.notes.length > 0) parts.push(h("h3", { text: "Notes" }), h("ul", { class: "notes" }, ...meta.notes.map((n) => h("li", { text: n }))));
    return parts;
  }

  private modules(): HTMLElement {
    const { app } = this;
    const { tableSelf, totals } = app.derived.columns(app.state);
    const { frame } = app.model.vft.table;
    const whole = totals.reduce((a, b) => a + b, 0);
    const sums = new Map<string, number>();
    // From the table, which is exact however much of the tree was left out.
    for (const run of tableSelf)
      for (let r = 0; r < run.length; r++) {
        if (run[r] === 0) continue;
        const key = moduleKey(app.model, frame[r]);
        sums.set(key, (sums.get(key) ?? 0) + run[r]);
      }
    const sorted = [...sums].sort((a, b) => b[1] - a[1]);
    const rows = sorted.slice(0, 12).map(([key, own]) => {
      const swatch = h("i", { class: "swatch" });
      const tint = app.tints.modules.get(key);
      if (tint && !app.model.meta.diff) swatch.style.background = css(tintColour(app.palette, tint, 0.6));
      return h("li", null, h("span", { title: key }, app.model.meta.diff ? null : swatch, key), h("span", { text: units.percent(whole > 0 ? own / whole : 0) }));
    });
    if (sorted.length > 12) rows.push(h("li", { class: "faint" }, `and ${sorted.length - 12} more`));
    return h("ul", { class: "mini" }, ...rows);
  }
}
