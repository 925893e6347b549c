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
const REST_MS = 120;

export class FlameView {
  readonly canvas = document.createElement("canvas");
  private readonly spacer = document.createElement("div");
  private readonly picture: Picture;
  private scene: Scene | null = null;
  private up = false;
  private ratio = 1;
  private width = 0;
  private height = 0;
  // Cached layout of the page, so that frames need not query it: height of the spacer, scroll position.
  private content = 0;
  private scroll = 0;
  private x0 = 0;
  private x1 = 1;
  private from = { x0: 0, x1: 1, at: 0 };
  private to: { x0: number; x1: number } | null = null;
  private frame = 0;
  // Set while the wheel turns: the time after which it counts as resting.
  private rest = 0;
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
    host.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.listen();
  }

  // Shows a tree, without zoom unless given. `again`: it is of the same query as the previous one, so
  // the scroll position is kept.
  show(scene: Scene, up: boolean, keepZoom = false, again = false): void {
    // Other values of the same boxes keep the place; another tree or direction starts at its root.
    const turned = this.up !== up || this.scene === null || (!again && this.scene.tree.parent !== scene.tree.parent);
    const fromRoot = up ? this.content - this.scroll : this.scroll;
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
    if (turned) this.scrollBy(up ? this.content : 0);
    else if (again) this.scrollBy(up ? this.content - fromRoot : fromRoot);
  }

  private scrolled(): void {
    this.scroll = this.host.scrollTop;
    this.redraw();
  }

  private scrollBy(top: number): void {
    this.host.scrollTop = top;
    this.scrolled();
  }

  private get pitch(): number {
    return Math.round(ROW * this.ratio);
  }

  private resize(): void {
    if (!this.scene) return;
    this.ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.host;
    const rows = Math.ceil((this.scene.lay.rows * this.pitch) / this.ratio) + 2 * PAD;
    const content = Math.max(rows, clientHeight);
    const same = content === this.content && clientWidth === this.width && clientHeight === this.height;
    if (!same) {
      this.spacer.style.height = `${content}px`;
      this.canvas.style.height = `${clientHeight}px`;
      // Rows that do not fit bring a bar to scroll by, which takes some of the width.
      this.width = this.host.clientWidth;
      this.height = clientHeight;
      this.content = content;
      this.canvas.style.width = `${this.width}px`;
    }
    this.scroll = this.host.scrollTop;
    if (this.width < 1 || this.height < 1) return;
    // A canvas of a new size is blank: it must not wait for the next frame.
    if (this.picture.resize(Math.round(this.width * this.ratio), Math.round(this.height * this.ratio))) this.draw();
    else this.redraw();
  }

  private window(): Window {
    const { ratio } = this;
    const top = this.up ? this.content - PAD - this.scroll : PAD - this.scroll;
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
    const moving = this.to !== null || this.drag?.moved === true || this.rest !== 0;
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
    const top = this.up ? this.content - PAD - (depth + 1) * row : PAD + depth * row;
    if (top < this.scroll + row) this.scrollBy(top - row * 2);
    else if (top + row > this.scroll + this.height - row) this.scrollBy(top + row * 3 - this.height);
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

  // While something moves only wide boxes are labelled; the others follow when it rests.
  private hurry(): void {
    clearTimeout(this.rest);
    this.rest = window.setTimeout(() => {
      this.rest = 0;
      this.redraw();
    }, REST_MS);
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
      this.hurry();
      const origin = this.canvas.getBoundingClientRect();
      const at = this.x0 + ((e.clientX - origin.left) / this.width) * span;
      const wide = Math.min(1, Math.max(1e-9, span * Math.exp(e.deltaY * 0.003)));
      const x0 = Math.min(1 - wide, Math.max(0, at - ((at - this.x0) / span) * wide));
      this.setRange(x0, x0 + wide, false);
    } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY) && span < 1) {
      e.preventDefault();
      this.hurry();
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
