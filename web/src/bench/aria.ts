// The flame graph for screen readers: a tree of the selected box, its ancestors, siblings and children.
// The stage is the tree that has the focus; its active item is the selected box.
import { pathOf } from "../flame";
import type { App } from "./app";
import { h } from "./dom";
import { spoken } from "./facts";
import type { Stage } from "./stage";

const MOST_CHILDREN = 50;
const MOST_PATH = 60;

export class AriaTree {
  private readonly tree = h("div", { class: "sr" });
  private readonly live = h("div", { class: "sr", role: "status", "aria-live": "polite" });

  private shown = "";

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
  ) {
    const el = stage.element;
    el.setAttribute("role", "tree");
    el.setAttribute("tabindex", "0");
    el.setAttribute("aria-label", "Flame graph. Arrow keys walk between boxes, Enter zooms, Escape goes back, question mark lists the keys.");
    el.append(this.tree);
    document.body.append(this.live);
    app.onDispose(() => this.live.remove());
    app.announce = (text) => (this.live.textContent = text);
    app.subscribe((changed) => {
      const key = app.factsKey();
      if (changed.before === null || key !== this.shown) this.update();
      this.shown = key;
    });
  }

  private update(): void {
    const { app } = this;
    const pane = app.selection?.pane ?? "main";
    const tree = app.tree(pane);
    const selected = app.selection && app.selection.node < tree.count ? app.selection.node : app.state.zoom;
    const item = (node: number, expanded: boolean | null): HTMLElement =>
      h("div", { role: "treeitem", id: `f${node}`, "aria-level": tree.depth[node] + 1, "aria-selected": String(node === selected), "aria-expanded": expanded === null ? null : String(expanded), text: spoken(app, tree, node) });
    const path = pathOf(tree, selected);
    const items: HTMLElement[] = [];
    for (const node of path.slice(-MOST_PATH)) items.push(item(node, true));
    const children: number[] = [];
    for (let i = selected + 1; i < tree.count; i++) if (tree.parent[i] === selected) children.push(i);
    children.sort((a, b) => tree.weight[b] - tree.weight[a]);
    for (const node of children.slice(0, MOST_CHILDREN)) items.push(item(node, null));
    this.tree.replaceChildren(...items);
    this.stage.element.setAttribute("aria-activedescendant", `f${selected}`);
  }
}
