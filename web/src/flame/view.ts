// A flame graph one can look around in. The canvas has the size of its host, never of the graph: a
// spacer makes the host scroll, and each frame paints what is inside.
import { isInside, type Tree } from "./tree";
import { nodeAt } from "./layout";
import { Picture, type Marks, type Scene } from "./picture";
import { visibleRows, type Drawn, type Window } from "./raster";

export interface ViewEvents {
  // Pointer over a box (or -1), with the place on the page.
  hover(node: number, x: number, y: number): void;
  // A click: select and zoom.
  pick(node: number): void;
  // After each painted frame.
  drawn?(result: Drawn, milliseconds: number): void;
}

export const ROW = 21;
const PAD = 8;
const ANIMATION_MS = 180;

export class FlameView {
  readonly canvas = document.createElement("canvas");
  private readonly spacer = document.createElement("div");
  private readonly picture: Picture;
  private scene: Scene | null = null;
  private up = false;
  private ratio = 1;
  private width = 0;
  private height = 0;
  private x0 = 0;
  private x1 = 1;
  private from = { x0: 0, x1: 1, at: 0 };
  private to: { x0: number; x1: number } | null = null;
  private frame = 0;
  private drag: { x: number; y: number; x0: number; moved: boolean } | null = null;
  selected = -1;
  hovered = -1;
  // Box the zoom stands on; the rows above it are drawn faint.
  private zoomed = 0;

  constructor(
    readonly host: HTMLElement,
    private readonly events: ViewEvents,
  ) {
    this.picture = new Picture(this.canvas);
    this.canvas.style.cssText = "display:block;position:sticky;top:0;touch-action:pan-y";
    this.canvas.setAttribute("aria-hidden", "true");
    this.spacer.append(this.canvas);
    host.append(this.spacer);
    new ResizeObserver(() => this.resize()).observe(host);
    host.addEventListener("scroll", () => this.redraw(), { passive: true });
    this.listen();
  }

  // Shows a tree; the zoom goes back to all of it unless told otherwise.
  show(scene: Scene, up: boolean, keepZoom = false): void {
    // Other values of the same boxes keep the place; another tree or direction starts at its root.
    const turned = this.up !== up || this.scene === null || this.scene.tree.parent !== scene.tree.parent;
    this.scene = scene;
    this.up = up;
    this.hovered = -1;
    if (!keepZoom) {
      this.x0 = 0;
      this.x1 = 1;
      this.to = null;
      this.zoomed = 0;
      if (this.selected >= scene.tree.count) this.selected = -1;
    }
    this.resize();
    if (turned) this.host.scrollTop = up ? this.host.scrollHeight : 0;
  }

  private get pitch(): number {
    return Math.round(ROW * this.ratio);
  }

  private resize(): void {
    if (!this.scene) return;
    this.ratio = window.devicePixelRatio || 1;
    const content = Math.ceil((this.scene.lay.rows * this.pitch) / this.ratio) + 2 * PAD;
    this.spacer.style.height = `${Math.max(content, this.host.clientHeight)}px`;
    this.width = this.host.clientWidth;
    this.height = this.host.clientHeight;
    if (this.width < 1 || this.height < 1) return;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    // A canvas of a new size is blank: it must not wait for the next frame.
    if (this.picture.resize(Math.round(this.width * this.ratio), Math.round(this.height * this.ratio))) this.draw();
    else this.redraw();
  }

  private window(): Window {
    const { ratio } = this;
    const scroll = this.host.scrollTop;
    const top = this.up ? this.spacer.offsetHeight - PAD - scroll : PAD - scroll;
    return {
      x0: this.x0, x1: this.x1,
      width: this.canvas.width, height: this.canvas.height,
      pitch: this.pitch, gap: Math.max(1, Math.round(ratio)), top: Math.round(top * ratio), up: this.up,
    };
  }

  redraw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.scene || this.width < 1 || this.height < 1) return;
    const start = performance.now();
    if (this.to) this.animate(start);
    const moving = this.to !== null || this.drag?.moved === true;
    const drawn = this.picture.draw(this.scene, this.window(), this.ratio, this.marks(), moving ? 44 : 28);
    this.events.drawn?.(drawn, performance.now() - start);
    if (this.to) this.redraw();
  }

  private marks(): Marks {
    const faintAbove = this.scene && this.zoomed < this.scene.tree.count ? this.scene.tree.depth[this.zoomed] : 0;
    return { selected: this.selected, hovered: this.hovered, faintAbove };
  }

  private animate(now: number): void {
    if (!this.to) return;
    const t = Math.min(1, (now - this.from.at) / ANIMATION_MS);
    const ease = 1 - (1 - t) ** 3;
    // Interpolate the edges in a way that keeps a deep zoom smooth: both ends as shares of the way.
    this.x0 = this.from.x0 + (this.to.x0 - this.from.x0) * ease;
    this.x1 = this.from.x1 + (this.to.x1 - this.from.x1) * ease;
    if (t >= 1) {
      this.x0 = this.to.x0;
      this.x1 = this.to.x1;
      this.to = null;
    }
  }

  // Makes the part [x0, x1] of the whole fill the width.
  setRange(x0: number, x1: number, smooth: boolean): void {
    const least = 1e-12;
    if (!(x1 - x0 > least)) [x0, x1] = [Math.max(0, x0 - least), Math.min(1, x0 + least)];
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (smooth && !calm) {
      this.from = { x0: this.x0, x1: this.x1, at: performance.now() };
      this.to = { x0, x1 };
    } else {
      this.to = null;
      this.x0 = x0;
      this.x1 = x1;
    }
    this.redraw();
  }

  get range(): [number, number] {
    return this.to ? [this.to.x0, this.to.x1] : [this.x0, this.x1];
  }

  zoomTo(node: number, smooth = true): void {
    if (!this.scene) return;
    const slot = this.scene.lay.slotOf[node];
    this.zoomed = node;
    this.setRange(this.scene.lay.x0[slot], this.scene.lay.x1[slot], smooth);
    this.scrollTo(node);
  }

  // Scrolls so that the row of the node is on the screen.
  scrollTo(node: number): void {
    if (!this.scene) return;
    const row = this.pitch / this.ratio;
    const depth = this.scene.tree.depth[node];
    const top = this.up ? this.spacer.offsetHeight - PAD - (depth + 1) * row : PAD + depth * row;
    const { scrollTop, clientHeight } = this.host;
    if (top < scrollTop + row) this.host.scrollTop = top - row * 2;
    else if (top + row > scrollTop + clientHeight - row) this.host.scrollTop = top + row * 3 - clientHeight;
  }

  select(node: number): void {
    this.selected = node;
    this.redraw();
  }

  // Place of a box on the page in CSS pixels.
  boxOf(node: number): DOMRect {
    const win = this.window();
    const { lay, tree } = (this.scene as Scene);
    const slot = lay.slotOf[node];
    const scale = this.width / (win.x1 - win.x0);
    const row = this.pitch / this.ratio;
    const depth = tree.depth[node];
    const origin = this.canvas.getBoundingClientRect();
    const top = win.top / this.ratio + (this.up ? -(depth + 1) * row : depth * row);
    return new DOMRect(origin.left + (lay.x0[slot] - win.x0) * scale, origin.top + top, (lay.x1[slot] - lay.x0[slot]) * scale, row - 1);
  }

  nodeAtPoint(clientX: number, clientY: number): number {
    if (!this.scene) return -1;
    const win = this.window();
    const origin = this.canvas.getBoundingClientRect();
    const y = (clientY - origin.top) * this.ratio;
    const depth = this.up ? Math.floor((win.top - y) / win.pitch) : Math.floor((y - win.top) / win.pitch);
    const [first, last] = visibleRows(win, this.scene.lay.rows);
    if (depth < first || depth > last) return -1;
    return nodeAt(this.scene.lay, depth, win.x0 + ((clientX - origin.left) / this.width) * (win.x1 - win.x0));
  }

  private hover(node: number, x: number, y: number): void {
    if (node !== this.hovered) {
      this.hovered = node;
      this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
      this.redraw();
    }
    this.events.hover(node, x, y);
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (e) => {
      if (this.drag && e.buttons === 1 && e.pointerType === "mouse") this.pan(e);
      else this.hover(this.nodeAtPoint(e.clientX, e.clientY), e.clientX, e.clientY);
    });
    canvas.addEventListener("pointerleave", (e) => this.hover(-1, e.clientX, e.clientY));
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button === 0) this.drag = { x: e.clientX, y: e.clientY, x0: this.x0, moved: false };
    });
    canvas.addEventListener("click", (e) => {
      const moved = this.drag?.moved === true;
      this.drag = null;
      if (moved) return this.redraw();
      const node = this.nodeAtPoint(e.clientX, e.clientY);
      if (node >= 0) this.events.pick(node);
    });
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
  }

  private pan(e: PointerEvent): void {
    const drag = this.drag;
    if (!drag) return;
    const span = this.x1 - this.x0;
    if (!drag.moved) {
      if (Math.abs(e.clientX - drag.x) < 4 || span >= 1) return;
      drag.moved = true;
      this.canvas.setPointerCapture(e.pointerId);
      this.hover(-1, e.clientX, e.clientY);
    }
    const x0 = Math.min(1 - span, Math.max(0, drag.x0 - ((e.clientX - drag.x) / this.width) * span));
    this.setRange(x0, x0 + span, false);
  }

  // Ctrl + wheel zooms at the pointer, a sideways wheel pans; a plain wheel scrolls as everywhere.
  private wheel(e: WheelEvent): void {
    const span = this.x1 - this.x0;
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      const origin = this.canvas.getBoundingClientRect();
      const at = this.x0 + ((e.clientX - origin.left) / this.width) * span;
      const wide = Math.min(1, Math.max(1e-9, span * Math.exp(e.deltaY * 0.003)));
      const x0 = Math.min(1 - wide, Math.max(0, at - ((at - this.x0) / span) * wide));
      this.setRange(x0, x0 + wide, false);
    } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY) && span < 1) {
      e.preventDefault();
      const x0 = Math.min(1 - span, Math.max(0, this.x0 + (e.deltaX / this.width) * span));
      this.setRange(x0, x0 + span, false);
    }
  }
}

// The box to zoom to so that `node` is at least `wanted` pixels wide, staying inside `zoom` if possible.
export function ancestorShowing(tree: Tree, node: number, zoom: number, width: number, wanted: number): number {
  const fits = (a: number): boolean => tree.weight[a] > 0 && (tree.weight[node] / tree.weight[a]) * width >= wanted;
  if (isInside(tree, node, zoom) && fits(zoom)) return zoom;
  let best = node;
  while (best !== 0 && fits(tree.parent[best])) best = tree.parent[best];
  return best;
}
