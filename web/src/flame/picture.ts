// One finished picture on a canvas: boxes, labels, outlines. Used for the screen and for paper.
import { css, word, type Palette } from "./colour";
import { Labels } from "./labels";
import type { Layout } from "./layout";
import { Painter, rowTop, type Drawn, type Skin, type Window } from "./raster";
import type { Tree } from "./tree";

export interface Scene {
  tree: Tree;
  lay: Layout;
  skin: Skin;
  palette: Palette;
  labelOf: (node: number) => string;
}

export interface Marks {
  selected: number;
  hovered: number;
  // Rows above this depth lie outside the zoom and are drawn faint.
  faintAbove: number;
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Inter, sans-serif';

export class Picture {
  readonly context: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private readonly painter = new Painter();
  private readonly labels: Labels;
  // What the canvas holds: rows in these lines, this background around them.
  private lines: [number, number] = [0, 0];
  private background = -1;

  constructor(readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser gives no 2D canvas");
    this.context = context;
    this.labels = new Labels(context);
  }

  // Returns whether the size changed.
  resize(width: number, height: number): boolean {
    if (this.image && this.image.width === width && this.image.height === height) return false;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.background = -1;
    return true;
  }

  // `ratio` = device pixels per CSS pixel; labels need boxes of `labelWidth` CSS pixels.
  draw(scene: Scene, win: Window, ratio: number, marks: Marks, labelWidth = 28): Drawn {
    if (!this.image) return { boxes: 0, merged: 0 };
    const { context, painter } = this;
    const drawn = painter.paint(this.pixels, scene.lay, scene.skin, win, labelWidth * ratio);
    this.put(scene.skin.background);
    if (marks.faintAbove > 0) this.faint(scene, win, marks.faintAbove);
    this.write(scene, win, ratio);
    context.strokeStyle = scene.palette.outline;
    if (marks.hovered >= 0 && marks.hovered !== marks.selected) this.outline(scene, win, marks.hovered, ratio, 0.55);
    if (marks.selected >= 0) this.outline(scene, win, marks.selected, 1.5 * ratio, 1);
    return drawn;
  }

  // Only the lines that hold rows, or did in the last frame, go to the canvas.
  private put(background: number): void {
    const image = this.image as ImageData;
    const { above, below } = this.painter;
    const all = background !== this.background;
    const from = all ? 0 : Math.min(above, this.lines[0]);
    const to = all ? image.height : Math.max(below, this.lines[1]);
    if (from < to) this.context.putImageData(image, 0, 0, 0, from, image.width, to - from);
    this.lines = [above, below];
    this.background = background;
  }

  private write(scene: Scene, win: Window, ratio: number): void {
    const { context, labels } = this;
    const { labelled } = this.painter;
    const size = Math.min(11.5 * ratio, win.pitch * 0.62);
    if (size < 5) return;
    labels.setFont(`${size}px ${FONT}`);
    context.textBaseline = "middle";
    const hit = word(scene.palette.hit);
    const pad = 5 * ratio;
    const middle = (win.pitch - win.gap) / 2 + 0.5 * ratio;
    const { colour, paintOf } = scene.skin;
    // All labels of one ink, then those on hits: a change of colour is dearer than a label.
    for (const onHit of [false, true]) {
      let inked = false;
      for (let i = 0; i < labelled.count; i++) {
        const slot = labelled.slot[i];
        if ((colour[paintOf[slot]] === hit) !== onHit) continue;
        const left = labelled.left[i];
        const text = labels.fit(scene.labelOf(scene.lay.node[slot]), labelled.right[i] - left - 2 * pad);
        if (text === "") continue;
        if (!inked) context.fillStyle = onHit ? scene.palette.hitInk : scene.palette.ink;
        inked = true;
        context.fillText(text, left + pad, labelled.top[i] + middle);
      }
    }
  }

  private faint(scene: Scene, win: Window, rows: number): void {
    const { context } = this;
    const a = rowTop(win, 0);
    const b = rowTop(win, rows);
    context.globalAlpha = 0.45;
    context.fillStyle = css(scene.palette.background);
    context.fillRect(0, win.up ? b + win.pitch : a, win.width, Math.abs(b - a));
    context.globalAlpha = 1;
  }

  private outline(scene: Scene, win: Window, node: number, thick: number, alpha: number): void {
    const { context } = this;
    const scale = win.width / (win.x1 - win.x0);
    const slot = scene.lay.slotOf[node];
    const left = Math.max(-thick, (scene.lay.x0[slot] - win.x0) * scale);
    const right = Math.min(win.width + thick, (scene.lay.x1[slot] - win.x0) * scale);
    if (right < 0 || left > win.width) return;
    const top = rowTop(win, scene.tree.depth[node]);
    context.globalAlpha = alpha;
    context.lineWidth = thick;
    context.strokeRect(left + thick / 2, top + thick / 2, Math.max(2 * thick, right - left - win.gap - thick), win.pitch - win.gap - thick);
    context.globalAlpha = 1;
  }
}
