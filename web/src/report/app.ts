// The report: one state, one way to change it. Parts of the page subscribe and draw themselves.
import { type Layout, type Model, type Palette, type Tree, DARK, LIGHT, pathOf, tints, widestOf } from "../flame";
import { Derived } from "./derive";
import { fromHash, toHash, type State } from "./state";

// A box that is selected, in one of the trees on the screen.
export interface Selection {
  pane: "main" | "callers";
  node: number;
  // Chosen in the table: the numbers shown are those of the whole function.
  whole: boolean;
}

export interface Changed {
  before: State | null;
  selection: boolean;
  theme: boolean;
}

export class App {
  state: State;
  selection: Selection | null = null;
  palette: Palette = DARK;
  readonly derived: Derived;
  readonly tints;
  private readonly listeners: ((changed: Changed) => void)[] = [];
  private readonly zoomTrail: number[] = [];
  // Messages for people who listen instead of look.
  announce: (text: string) => void = () => undefined;

  constructor(readonly model: Model) {
    this.derived = new Derived(model);
    this.tints = tints(model);
    this.state = this.sane(fromHash(location.hash, model));
    const restore = (): void => {
      const next = this.sane(fromHash(location.hash, model));
      if (toHash(next, model) !== toHash(this.state, model)) this.apply(next);
    };
    addEventListener("popstate", restore);
    addEventListener("hashchange", restore);
  }

  subscribe(listener: (changed: Changed) => void): void {
    this.listeners.push(listener);
  }

  start(): void {
    this.tell({ before: null, selection: true, theme: true });
  }

  private tell(changed: Changed): void {
    for (const listener of this.listeners) listener(changed);
  }

  // An address may name a box that this tree does not have.
  private sane(state: State): State {
    if (state.zoom >= this.derived.main(state).count) state.zoom = 0;
    return state;
  }

  // Changes the view; `push` makes a step that "back" undoes.
  set(patch: Partial<State>, push = true): void {
    const next = { ...this.state, ...patch };
    // Another tree has other boxes: a zoom into the old one is meaningless.
    if (patch.zoom === undefined && this.boxesKey(next) !== this.boxesKey(this.state)) next.zoom = 0;
    const hash = toHash(next, this.model);
    if (hash !== toHash(this.state, this.model)) {
      try {
        history[push ? "pushState" : "replaceState"](null, "", `#${hash}`);
      } catch {
        // A sandboxed frame has no history; the page works without.
      }
    }
    this.apply(next);
  }

  // Two states with the same key show the same boxes, maybe with other widths.
  private boxesKey(s: State): string {
    return s.view === "flame" ? "" : `${s.view}/${s.func}/${s.type}/${s.normalise}/${s.swap}`;
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
    const node = widestOf(this.tree(), this.model, func);
    if (node >= 0) this.select({ pane: "main", node, whole: true });
    else this.set({ view: "flame", func: -1, zoom: 0 });
  }

  sandwich(func: number): void {
    if (func < 0 || this.model.funcFrame[func] === 0) return this.announce("Select a function first");
    this.set({ view: "sandwich", func, zoom: 0 });
    this.select({ pane: "main", node: 0, whole: true });
    this.announce(`Callers and callees of ${this.model.name(this.model.funcFrame[func])}`);
  }

  setTheme(dark: boolean): void {
    this.palette = dark ? DARK : LIGHT;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.tell({ before: this.state, selection: false, theme: true });
  }
}
