// The box under the pointer.
import type { App, Selection } from "./app";
import { h } from "./dom";
import { boxFacts, whereOf } from "./facts";

export class Tooltip {
  private readonly element = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  private shown = "";

  constructor(private readonly app: App) {
    document.body.append(this.element);
    const hide = (): void => void (this.element.hidden = true);
    addEventListener("scroll", hide, { capture: true, passive: true });
    app.subscribe((changed) => changed.before === null && (this.shown = ""));
    app.onDispose(() => {
      removeEventListener("scroll", hide, { capture: true });
      this.element.remove();
    });
  }

  show(pane: Selection["pane"], node: number, x: number, y: number): void {
    const { app, element } = this;
    if (node < 0) {
      element.hidden = true;
      return;
    }
    const tree = app.tree(pane);
    const key = `${pane}/${node}/${JSON.stringify(app.state)}`;
    if (key !== this.shown) {
      this.shown = key;
      const frame = tree.frame[node];
      const where = whereOf(app, frame);
      element.replaceChildren(
        h("b", { text: app.model.name(frame) }),
        where ? h("p", { text: where }) : "",
        h("dl", null, ...boxFacts(app, tree, node).flatMap((f) => [h("dt", { text: f.label }), h("dd", { class: f.tone, text: f.value })])),
      );
    }
    element.hidden = false;
    const { offsetWidth: w, offsetHeight: t } = element;
    const left = x + 14 + w > innerWidth - 8 ? Math.max(8, x - 14 - w) : x + 14;
    const top = y + 18 + t > innerHeight - 8 ? Math.max(8, y - 12 - t) : y + 18;
    element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
