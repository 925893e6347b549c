// The picture in the middle: one flame graph, or the two halves of a sandwich.
import { FlameView, makeSkin, signOf, change, type Scene, type Tree } from "../flame";
import type { App, Changed, Selection } from "./app";
import { h } from "./dom";
import type { State } from "./state";
import { Tooltip } from "./tooltip";

export type PaneName = Selection["pane"];

export class Stage {
  readonly element = h("div", { class: "stage" });
  readonly views: Record<PaneName, FlameView>;
  private readonly tooltip: Tooltip;
  private readonly hosts: Record<PaneName, HTMLElement>;
  private readonly middle = h("div", { class: "middle" });
  private readonly nothing = h("p", { class: "nothing", hidden: true });
  private readonly shown: Record<PaneName, Scene | null> = { main: null, callers: null };
  private readonly looks: Record<PaneName, string> = { main: "", callers: "" };
  // Data of the last frame for the footer.
  onDrawn: (boxes: number, merged: number, of: number, milliseconds: number) => void = () => undefined;

  constructor(private readonly app: App) {
    this.tooltip = new Tooltip(app);
    this.hosts = { callers: h("div", { class: "pane callers" }), main: h("div", { class: "pane" }) };
    this.element.append(this.hosts.callers, this.middle, this.hosts.main, this.nothing);
    this.views = { callers: this.makeView("callers"), main: this.makeView("main") };
    app.subscribe((changed) => this.update(changed));
  }

  private makeView(pane: PaneName): FlameView {
    const { app } = this;
    return new FlameView(this.hosts[pane], {
      hover: (node, x, y) => this.tooltip.show(pane, node, x, y),
      pick: (node) => {
        app.select({ pane, node, whole: false });
        if (pane === "main") app.zoom(node);
      },
      drawn: (drawn, ms) => {
        if (pane === "main") this.onDrawn(drawn.boxes, drawn.merged, this.shown.main?.tree.count ?? 0, ms);
      },
    });
  }

  private scene(tree: Tree, s: State): Scene {
    const { app } = this;
    const lay = app.derived.layout(tree, s);
    const samples = app.derived.samples(s);
    const diff = app.model.meta.diff ? { totals: app.derived.compareTotals(s), samples } : null;
    const skin = makeSkin(app.model, tree, lay, {
      palette: app.palette, tints: app.tints.frames, matches: app.derived.matches(s), func: app.selectedFunc(), diff,
    });
    const labelOf = (node: number): string => {
      const name = app.model.name(tree.frame[node]);
      if (!diff || node === 0) return name;
      return signOf[change(tree.total[0][node], tree.total[1][node], diff.totals[0], diff.totals[1], samples).mark] + name;
    };
    return { tree, lay, skin, palette: app.palette, labelOf };
  }

  private update(changed: Changed): void {
    const { app } = this;
    const s = app.state;
    const sandwich = s.view === "sandwich";
    this.element.classList.toggle("sandwich", sandwich);
    this.nothing.hidden = app.tree().weight[0] > 0;
    this.nothing.textContent = `No data of type ${app.model.meta.types[s.type].name}${app.model.meta.types.length > 1 ? ": choose another type above." : "."}`;
    // A model that was loaded into this workbench, not its first.
    const again = changed.before === null && this.shown.main !== null;
    if (sandwich) {
      this.middle.textContent = `callers above · ${app.model.name(app.model.funcFrame[s.func])} · callees below`;
      this.show("callers", app.tree("callers"), true, again);
    }
    this.show("main", app.tree(), sandwich ? false : s.up, again);
    const zoomChanged = changed.before === null || changed.before.zoom !== s.zoom || changed.before.view !== s.view;
    if (again && s.zoom === 0) return;
    if (zoomChanged || changed.before?.order !== s.order || changed.before?.type !== s.type || this.valuesChanged(changed.before, s))
      this.views.main.zoomTo(s.zoom, changed.before !== null && changed.before.view === s.view);
  }

  private valuesChanged(a: State | null, b: State): boolean {
    return a === null || a.normalise !== b.normalise || a.swap !== b.swap;
  }

  private show(pane: PaneName, tree: Tree, up: boolean, again: boolean): void {
    const view = this.views[pane];
    const { selection } = this.app;
    view.selected = selection && selection.pane === pane ? selection.node : -1;
    const { state: s, palette } = this.app;
    const old = this.shown[pane];
    // A million colours are made again only when one of them could differ.
    const look = [palette.dark, s.query, s.regex, s.order, s.normalise, this.app.selectedFunc()].join("/");
    if (old === null || old.tree !== tree || look !== this.looks[pane]) this.shown[pane] = this.scene(tree, s);
    this.looks[pane] = look;
    view.show(this.shown[pane] as Scene, up, old !== null && old.tree === tree, again);
    view.redraw();
  }

  scrollTo(selection: Selection): void {
    this.views[selection.pane].scrollTo(selection.node);
  }

  get width(): number {
    return this.views.main.canvas.clientWidth || 1;
  }

  scenes(): Scene[] {
    const list = this.app.state.view === "sandwich" ? [this.shown.callers, this.shown.main] : [this.shown.main];
    return list.filter((s): s is Scene => s !== null);
  }
}
