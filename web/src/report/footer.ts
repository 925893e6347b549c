// Honest numbers: what is on the screen, what is not in the file, and what the writer noted.
import { units } from "../flame";
import type { App } from "../bench/app";
import { h } from "../bench/dom";
import type { Stage } from "../bench/stage";

export class Footer {
  private readonly shown = h("span", { class: "push" });
  private readonly time = h("span", { title: "Time to paint the last frame" });
  private drawn = { boxes: 0, merged: 0 };

  constructor(
    private readonly app: App,
    footer: HTMLElement,
    stage: Stage,
  ) {
    const { meta } = app.model;
    footer.append(h("span", { text: meta.generator || "vestal" }));
    if (meta.notes.length > 0) footer.append(h("span", { class: "note", text: meta.notes.join(" · "), title: meta.notes.join("\n") }));
    footer.append(this.shown, this.time);
    stage.onDrawn = (boxes, merged, _of, ms) => {
      this.time.textContent = `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
      if (boxes !== this.drawn.boxes || merged !== this.drawn.merged) {
        this.drawn = { boxes, merged };
        this.update();
      }
    };
    app.subscribe(() => this.update());
  }

  private update(): void {
    const { app, drawn } = this;
    const { meta, vft } = app.model;
    const say = (n: number): string => n.toLocaleString("en-US");
    const parts = [`shown: ${say(drawn.boxes)} boxes`];
    if (drawn.merged > 0) parts.push(`${say(drawn.merged)} too narrow, in grey`);
    parts.push(`in the file: ${say(vft.nodes)}`);
    if (meta.nodesPruned > 0) parts.push(`pruned: ${say(meta.nodesPruned)} boxes, ${units.percent(meta.prunedShare)} of value`);
    else parts.push("nothing pruned");
    const { unexpanded } = app.tree();
    if (unexpanded > 0) parts.push(`${say(unexpanded)} small callers not unfolded`);
    this.shown.textContent = parts.join(" · ");
  }
}
