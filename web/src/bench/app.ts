// The workbench around one model: one state, one way to change it. Parts of the page subscribe and
// draw themselves. The report has one model for its life; the served page loads the next one into the
// same workbench.
import { type Layout, type Model, type Palette, type Tree, DARK, LIGHT, byPathKey, pathKey, pathOf, tints, widestOf } from "../flame";
import type { Address } from "./address";
import { Derived } from "./derive";
import { fromParams, toParams, type State } from "./state";

// A box that is selected, in one of the trees on the screen.
export interface Selection {
  pane: "main" | "callers";
  node: number;
  // Chosen in the table: the numbers shown are those of the whole function.
  whole: boolean;
}

export interface Changed {
  // Null when the model is new and nothing of what was drawn may be kept.
  before: State | null;
  selection: boolean;
  theme: boolean;
}

export class App {
  state: State;
  selection: Selection | null = null;
  palette: Palette = DARK;
  derived: Derived;
  tints;
  private readonly listeners: ((changed: Changed) => void)[] = [];
  private readonly disposers: (() => void)[] = [];
  private readonly zoomTrail: number[] = [];
  // The address as this workbench last wrote or read it.
  private known = "";
  private writing = false;
  // Messages for screen readers.
  announce: (text: string) => void = () => undefined;
  // Messages for everybody, where the page has a place for them.
  notify: (text: string) => void = (text) => this.announce(text);

  constructor(
    public model: Model,
    private readonly address: Address,
  ) {
    this.derived = new Derived(model);
    this.tints = tints(model);
    this.state = this.read();
    if (this.state.view === "sandwich") this.selection = { pane: "main", node: 0, whole: true };
    this.disposers.push(address.listen(() => this.restore()));
  }

  private read(): State {
    this.known = this.address.read();
    const given = new URLSearchParams(this.known);
    const state = fromParams(given, this.model);
    const key = Number(given.get("zoom"));
    // An address may name a box that this tree does not have.
    if (key > 0) state.zoom = Math.max(0, byPathKey(this.derived.main(state), this.model, key));
    return state;
  }

  private written(state: State): string {
    const out = toParams(state, this.model);
    if (state.zoom !== 0) out.set("zoom", String(pathKey(this.derived.main(state), this.model, state.zoom)));
    return out.toString();
  }

  private restore(): void {
    // Ignore changes written by this workbench, because finding a box by key searches all boxes.
    if (this.writing || this.address.read() === this.known) return;
    const next = this.read();
    if (this.written(next) !== this.written(this.state)) this.apply(next);
  }

  // Another response to the same query: keep zoom and selection if they still exist.
  load(model: Model): void {
    const { selection } = this;
    const tree = selection ? this.tree(selection.pane) : null;
    const key = selection && tree && selection.node < tree.count ? pathKey(tree, this.model, selection.node) : 0;
    const frame = this.selectedFunc() >= 0 ? this.model.funcFrame[this.selectedFunc()] : -1;
    const [name, module] = frame >= 0 ? [this.model.name(frame), this.model.module(frame)] : ["", ""];
    this.model = model;
    this.derived = new Derived(model);
    this.tints = tints(model);
    this.zoomTrail.length = 0;
    this.state = this.read();
    this.selection = null;
    if (selection && key) {
      let node = byPathKey(this.tree(selection.pane), model, key);
      if (node < 0) node = widestOf(this.tree(), model, model.findFunction(name, module));
      if (node >= 0) this.selection = { ...selection, pane: selection.pane, node };
    }
    this.start();
  }

  // Returns how to stop.
  subscribe(listener: (changed: Changed) => void): () => void {
    this.listeners.push(listener);
    return () => {
      const at = this.listeners.indexOf(listener);
      if (at >= 0) this.listeners.splice(at, 1);
    };
  }

  onDispose(dispose: () => void): void {
    this.disposers.push(dispose);
  }

  dispose(): void {
    this.listeners.length = 0;
    for (const dispose of this.disposers.splice(0)) dispose();
  }

  start(): void {
    this.tell({ before: null, selection: true, theme: true });
  }

  // Key of everything the numbers of the selected box depend on: with an equal key nothing changes.
  factsKey(): string {
    const { type, view, func, zoom, normalise, swap } = this.state;
    return [type, view, func, this.selection ? "" : zoom, normalise, swap, JSON.stringify(this.selection), this.palette.dark].join("/");
  }

  private tell(changed: Changed): void {
    for (const listener of [...this.listeners]) listener(changed);
  }

  // Changes the view; `push` makes a step that "back" undoes.
  set(patch: Partial<State>, push = true): void {
    const next = { ...this.state, ...patch };
    // Another tree has other boxes: a zoom into the old one is meaningless.
    if (patch.zoom === undefined && this.boxesKey(next) !== this.boxesKey(this.state)) next.zoom = 0;
    const params = this.written(next);
    const changed = params !== this.written(this.state);
    this.apply(next);
    if (!changed) return;
    this.writing = true;
    this.address.write(params, push);
    this.writing = false;
    this.known = this.address.read();
  }

  // Two states with the same key show the same boxes, maybe with other widths.
  private boxesKey(s: State): string {
    return s.view !== "bottom-up" && s.view !== "sandwich" ? "" : `${s.view}/${s.func}/${s.type}/${s.normalise}/${s.swap}`;
  }

  private apply(next: State): void {
    const before = this.state;
    const func = this.selectedFunc();
    this.state = next;
    if (this.boxesKey(before) !== this.boxesKey(next)) {
      this.zoomTrail.length = 0;
      // The selected function stays selected in the new tree.
      const node = func >= 0 ? widestOf(this.tree(), this.model, func) : -1;
      this.selection = node >= 0 ? { pane: "main", node, whole: false } : null;
    }
    this.tell({ before, selection: true, theme: false });
  }

  tree(pane: "main" | "callers" = "main"): Tree {
    return pane === "callers" ? this.derived.callers(this.state) : this.derived.main(this.state);
  }
  layout(pane: "main" | "callers" = "main"): Layout {
    return this.derived.layout(this.tree(pane), this.state);
  }

  zoom(node: number): void {
    if (node === this.state.zoom) return;
    this.zoomTrail.push(this.state.zoom);
    this.set({ zoom: node });
    const tree = this.tree();
    this.announce(node === 0 ? "Showing everything" : `Zoomed to ${this.model.name(tree.frame[node])}, depth ${pathOf(tree, node).length - 1}`);
  }

  // One step back: the zoom before this one, then the search, then the view.
  back(): void {
    if (this.state.zoom !== 0) {
      const previous = this.zoomTrail.pop() ?? 0;
      this.set({ zoom: previous === this.state.zoom ? 0 : previous });
    } else if (this.state.query !== "") this.set({ query: "" });
    else if (this.state.view !== "flame") this.set({ view: "flame", func: -1 });
    else this.select(null);
  }

  select(selection: Selection | null): void {
    this.selection = selection;
    this.tell({ before: this.state, selection: true, theme: false });
  }

  // Function of the selected box, or -1.
  selectedFunc(): number {
    if (!this.selection) return -1;
    const tree = this.tree(this.selection.pane);
    return this.selection.node < tree.count ? this.model.funcOf[tree.frame[this.selection.node]] : -1;
  }

  selectFunction(func: number): void {
    let node = widestOf(this.tree(), this.model, func);
    if (node < 0) {
      // Not among these callees; or not in the tree at all, which has the widest boxes only.
      this.set({ view: "flame", func: -1, zoom: 0 });
      node = widestOf(this.tree(), this.model, func);
    }
    if (node >= 0) this.select({ pane: "main", node, whole: true });
    else this.notify(`Its boxes are too small to be drawn: focus on ${this.model.name(this.model.funcFrame[func])} to see them`);
  }

  sandwich(func: number): void {
    if (func < 0 || this.model.funcFrame[func] === 0) return this.notify("Select a function first");
    this.set({ view: "sandwich", func, zoom: 0 });
    this.select({ pane: "main", node: 0, whole: true });
    this.announce(`Callers and callees of ${this.model.name(this.model.funcFrame[func])}`);
  }

  setTheme(dark: boolean): void {
    this.palette = dark ? DARK : LIGHT;
    this.tell({ before: this.state, selection: false, theme: true });
  }
}
