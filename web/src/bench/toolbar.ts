// Above the picture: which view, how it lies, where the zoom is, what the search found.
import { ancestorShowing, pathOf, units } from "../flame";
import type { App } from "./app";
import { h, keyButton, press } from "./dom";
import type { Stage } from "./stage";
import type { State, ViewName } from "./state";

interface Toggle {
  button: HTMLButtonElement;
  on: (s: State) => boolean;
  usable?: (s: State) => boolean;
}

// The parts of a toolbar; the page puts them where it has room.
export class Toolbar {
  readonly views: HTMLElement;
  readonly lie: HTMLElement;
  // Only for a diff: kind of comparison, and legend of the colours.
  readonly compare: HTMLElement | null = null;
  readonly legend: HTMLElement | null = null;
  readonly match = h("div", { class: "match" });
  readonly trail = h("nav", { class: "trail", "aria-label": "Zoom" });
  private readonly toggles: Toggle[] = [];
  private hit = -1;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    // Views besides the pictures: name, word, key, what it shows.
    more: [ViewName, string, string, string][] = [],
  ) {
    const showTable = (): void => app.set({ table: !app.state.table }, false);
    this.views = h("span", { class: "seg", role: "group", "aria-label": "View" },
      this.toggle("Top-down", "1", "From the root to the leaves", () => app.set({ view: "flame", func: -1 }), (s) => s.view === "flame"),
      this.toggle("Bottom-up", "i", "Functions and their callers", () => this.invert(), (s) => s.view === "bottom-up"),
      this.toggle("Sandwich", "s", "Callers and callees of the selected function", () => this.sandwich(), (s) => s.view === "sandwich"),
      ...more.map(([view, word, key, title]) => this.toggle(word, key, title, () => app.set({ view, func: -1 }), (s) => s.view === view)),
    );
    const isPicture = (s: State): boolean => s.view === "flame" || s.view === "bottom-up";
    const turned = h("span", { class: "seg", role: "group", "aria-label": "Orientation" },
      this.toggle("Icicle", "", "Root at the top, f turns it", () => app.set({ up: false }), (s) => !s.up, isPicture),
      this.toggle("Flame", "f", "Root at the bottom, f turns it", () => app.set({ up: !app.state.up }), (s) => s.up, isPicture),
    );
    this.lie = h("span", { class: "lie" }, turned, h("span", { class: "seg", role: "group", "aria-label": "Picture" },
      this.toggle("By size", "o", "Order by size instead of by name", () => app.set({ order: app.state.order === "name" ? "weight" : "name" }), (s) => s.order === "weight"),
      this.toggle("Table", "t", "Function table on or off", showTable, (s) => s.table, undefined, "wide-only"),
    ));
    if (app.model.meta.diff) {
      this.compare = h("span", { class: "seg", role: "group", "aria-label": "Difference" },
        this.toggle("Shares", "m", "Scale both sides to the same total", () => app.set({ normalise: !app.state.normalise }), (s) => s.normalise),
        this.toggle("Swap", "w", "Swap before and after", () => app.set({ swap: !app.state.swap }), (s) => s.swap),
      );
      this.legend = h("span", { class: "legend" },
        h("i", { class: "less" }), "less", h("i", { class: "little" }), "little", h("i", { class: "more" }), "more", h("i", { class: "hatch" }), "+ new, − gone");
    }
    app.subscribe((changed) => {
      if (changed.before?.query !== app.state.query || changed.before?.view !== app.state.view) this.hit = -1;
      this.update();
    });
  }

  private toggle(label: string, key: string, title: string, act: () => void, on: Toggle["on"], usable?: Toggle["usable"], className = ""): HTMLButtonElement {
    const button = keyButton(label, key, title, act, className ? { class: className } : {});
    this.toggles.push({ button, on, usable });
    return button;
  }

  invert(): void {
    const { app } = this;
    app.set(app.state.view === "bottom-up" ? { view: "flame", func: -1 } : { view: "bottom-up", func: -1 });
    app.announce(app.state.view === "bottom-up" ? "Bottom-up" : "Top-down");
  }

  sandwich(): void {
    const { app } = this;
    const func = app.selectedFunc();
    if (app.state.view === "sandwich" && (func < 0 || func === app.state.func)) app.set({ view: "flame", func: -1 });
    else app.sandwich(func);
  }

  // Goes to the next (1) or previous (-1) hit, the widest first.
  step(by: number): void {
    const { app } = this;
    const hits = app.derived.hits(app.state);
    if (hits.length === 0) return app.announce("No match");
    this.hit = this.hit < 0 ? (by > 0 ? 0 : hits.length - 1) : (this.hit + by + hits.length) % hits.length;
    const node = hits[this.hit];
    const zoom = ancestorShowing(app.tree(), node, app.state.zoom, this.stage.width, 24);
    app.select({ pane: "main", node, whole: false });
    if (zoom !== app.state.zoom) app.zoom(zoom);
    this.stage.scrollTo({ pane: "main", node, whole: false });
    this.update();
    app.announce(`Match ${this.hit + 1} of ${hits.length}: ${app.model.name(app.tree().frame[node])}`);
  }

  private update(): void {
    const { app } = this;
    const s = app.state;
    for (const { button, on, usable } of this.toggles) {
      press(button, on(s));
      button.disabled = usable ? !usable(s) : false;
    }
    this.updateMatch();
    this.updateTrail();
  }

  private updateMatch(): void {
    const { app } = this;
    const s = app.state;
    const { active, error } = app.derived.matches(s);
    if (!active) return this.match.replaceChildren();
    if (error) return this.match.replaceChildren(h("span", { class: "up", text: "not a regular expression" }));
    const at = this.hit >= 0 ? `${units.count(this.hit + 1)} of ` : "";
    this.match.replaceChildren(
      h("span", null, "match ", h("strong", { text: s.query }), ` ${units.percent(app.derived.matchedShare(s))}`),
      h("span", { class: "faint", text: `${at}${units.count(app.derived.hitCount(s))} boxes` }),
      keyButton("", "N", "Previous match", () => this.step(-1), { class: "bare", "aria-label": "N: previous match" }),
      keyButton("", "n", "Next match", () => this.step(1), { class: "bare", "aria-label": "n: next match" }),
    );
  }

  // all › main › … › the box: a long way is shortened in the middle.
  private updateTrail(): void {
    const { app } = this;
    const tree = app.tree();
    const path = pathOf(tree, app.state.zoom);
    this.trail.hidden = path.length < 2;
    if (path.length < 2) return;
    const shown = path.length > 7 ? [path[0], -1, ...path.slice(-5)] : path;
    const parts: Node[] = [];
    for (const node of shown) {
      if (parts.length) parts.push(h("span", { class: "sep", "aria-hidden": "true" }, "›"));
      const last = node === app.state.zoom;
      if (node < 0) parts.push(h("span", { class: "faint", text: `${path.length - 6} more` }));
      else parts.push(h("button", { type: "button", "aria-current": last ? "true" : null, text: app.model.name(tree.frame[node]), onclick: () => app.zoom(node) }));
    }
    parts.push(keyButton("", "Esc", "Back", () => app.back(), { class: "bare", "aria-label": "Esc: back" }), keyButton("", "0", "Show everything", () => app.zoom(0), { class: "bare", "aria-label": "0: show everything" }));
    this.trail.replaceChildren(...parts);
  }
}
