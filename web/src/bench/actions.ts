// Actions of keys and buttons on the selected box.
import { folded, neighbour, stackNames, ancestorShowing, units, type Step } from "../flame";
import type { App } from "./app";
import { copyText } from "./clipboard";
import type { Stage } from "./stage";

export class Actions {
  constructor(
    private readonly app: App,
    private readonly stage: () => Stage,
  ) {}

  private async copy(text: string, what: string): Promise<void> {
    this.app.notify((await copyText(text)) ? `Copied ${what}` : "The browser did not allow copying");
  }

  copyName(): void {
    const { app } = this;
    if (!app.selection) return app.notify("Select a box first");
    const tree = app.tree(app.selection.pane);
    void this.copy(app.model.name(tree.frame[app.selection.node]), "the name");
  }

  copyStack(): void {
    const { app } = this;
    if (!app.selection) return app.notify("Select a box first");
    const { pane, node } = app.selection;
    const reversed = pane === "callers" || app.state.view === "bottom-up";
    void this.copy(stackNames(app.tree(pane), app.model, node, reversed).join("\n"), "the stack");
  }

  copyFolded(): void {
    const { app } = this;
    const text = folded(app.tree(), app.model, app.state.zoom, app.state.view === "bottom-up");
    void this.copy(text, `${units.count(text.split("\n").length - 1)} stacks`);
  }

  nextType(by: number): void {
    const { app } = this;
    const n = app.model.meta.types.length;
    app.set({ type: (app.state.type + by + n) % n });
    app.announce(units.typeLabel(app.model.meta.types[app.state.type]));
  }

  zoomSelected(): void {
    const { app } = this;
    if (app.selection?.pane === "main") app.zoom(app.selection.node);
  }

  // Walks by what is seen: up is up on the screen, whichever way the tree grows.
  walk(key: string): void {
    const { app } = this;
    const pane = app.selection?.pane ?? "main";
    const tree = app.tree(pane);
    const from = app.selection?.node ?? -1;
    if (from < 0) return this.arrive(pane, app.state.zoom);
    const growsUp = pane === "callers" || (app.state.view !== "sandwich" && app.state.up);
    const step: Step = key === "ArrowLeft" ? "left" : key === "ArrowRight" ? "right" : (key === "ArrowUp") === growsUp ? "child" : "parent";
    // Through the middle of a sandwich, from one half to the other.
    if (app.state.view === "sandwich" && from === 0 && step === "parent") return this.arrive(pane === "main" ? "callers" : "main", 0);
    this.arrive(pane, neighbour(tree, app.layout(pane), from, step));
  }

  private arrive(pane: "main" | "callers", node: number): void {
    const { app } = this;
    const stage = this.stage();
    app.select({ pane, node, whole: false });
    if (pane === "main") {
      const tree = app.tree();
      const zoom = node <= app.state.zoom && tree.depth[node] < tree.depth[app.state.zoom] ? app.state.zoom : ancestorShowing(tree, node, app.state.zoom, stage.width, 3);
      if (zoom !== app.state.zoom) app.zoom(zoom);
    }
    stage.scrollTo({ pane, node, whole: false });
  }
}
