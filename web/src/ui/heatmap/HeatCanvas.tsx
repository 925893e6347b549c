// The map itself: drawn on a canvas, chosen with the pointer or with the keyboard.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { niceStep } from "../series";
import { local, wholeTimes } from "../time";
import { blockOf, blockText, cornersOf, strengthOf, type Block, type Heat } from "./grid";

interface Props {
  heat: Heat;
  selected: Block | null;
  second: Block | null;
  dark: boolean;
  say: (value: number) => string;
  // `more`: a second block beside the first.
  onSelect: (block: Block, more: boolean) => void;
  onClear: () => void;
}

// Rows as high as the window has room for, with space left for the picture below.
const pitchFor = (height: number): number => Math.max(3, Math.min(8, Math.round(height / 190)));
const AXIS = 18;
const LEFT = 52;

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function rgb(text: string): number[] {
  const hex = text.replace("#", "");
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function shades(): string[] {
  const [from, to] = [rgb(css("--raise")), rgb(css("--ember"))];
  return Array.from({ length: 33 }, (_, i) => `rgb(${from.map((v, c) => Math.round(v + ((to[c] - v) * i) / 32)).join(",")})`);
}

function drawMap(ctx: CanvasRenderingContext2D, heat: Heat, width: number, pitch: number): void {
  const wide = width / heat.columns;
  const palette = shades();
  const gap = wide >= 3 ? 1 : 0;
  ctx.fillStyle = palette[0];
  ctx.globalAlpha = 0.55;
  ctx.fillRect(LEFT, 0, width, heat.rows * pitch - 1);
  ctx.globalAlpha = 1;
  for (let c = 0; c < heat.columns; c++) {
    const x = LEFT + c * wide;
    for (let r = 0; r < heat.rows; r++) {
      const value = heat.cells[c * heat.rows + r];
      if (value <= 0) continue;
      ctx.fillStyle = palette[Math.round(strengthOf(value, heat.full) * 32)];
      ctx.fillRect(x, (heat.rows - 1 - r) * pitch, Math.max(0.75, wide - gap), pitch - (pitch > 4 ? 1 : 0));
    }
  }
}

function drawAxes(ctx: CanvasRenderingContext2D, heat: Heat, width: number, pitch: number): void {
  const height = heat.rows * pitch;
  ctx.font = `11px ${css("--font")}`;
  ctx.fillStyle = css("--faint");
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  for (const ms of [0, 250, 500, 750, 1000]) {
    const y = Math.max(6, Math.min(height - 6, height - (ms / heat.row) * pitch));
    ctx.fillText(ms === 1000 ? "1 s" : `${ms} ms`, LEFT - 6, y);
  }
  ctx.textAlign = "left";
  const now = Date.now();
  // At times people say: whole seconds, tens, minutes.
  const each = width / heat.columns / heat.column;
  const every = niceStep(110 / each);
  const until = heat.from + heat.columns * heat.column;
  for (const ms of wholeTimes(heat.from, until - 60 / each, every))
    ctx.fillText(local(ms, now, every < 60e3).replace(/^\d{4}-/, ""), LEFT + (ms - heat.from) * each, height + AXIS / 2 + 2);
}

function drawBlock(ctx: CanvasRenderingContext2D, heat: Heat, block: Block, width: number, pitch: number, colour: string, dashed: boolean): void {
  const [c0, r0, c1, r1] = cornersOf(heat, block);
  const wide = width / heat.columns;
  const x0 = Math.max(LEFT, LEFT + c0 * wide);
  const x1 = Math.min(LEFT + width, LEFT + c1 * wide);
  if (x1 <= LEFT || x0 >= LEFT + width) return;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.setLineDash(dashed ? [5, 3] : []);
  ctx.strokeRect(x0 - 1, (heat.rows - r1) * pitch - 1, Math.max(4, x1 - x0 + 1), (r1 - r0) * pitch + 1);
  ctx.setLineDash([]);
}

export function HeatCanvas(props: Props) {
  const { heat, selected, second, dark, say } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<{ from: [number, number]; to: [number, number]; more: boolean } | null>(null);
  const [cursor, setCursor] = useState<[number, number]>([Math.floor(heat.columns / 2), Math.floor(heat.rows / 2)]);
  const [hover, setHover] = useState<[number, number] | null>(null);
  const [keyboard, setKeyboard] = useState(false);
  const anchor = useRef<[number, number] | null>(null);
  const [pitch, setPitch] = useState(pitchFor(innerHeight));
  const height = heat.rows * pitch + AXIS;
  const plot = Math.max(40, width - LEFT - 1);

  useLayoutEffect(() => {
    const el = box.current as HTMLDivElement;
    const observer = new ResizeObserver(() => {
      setWidth(el.clientWidth);
      setPitch(pitchFor(innerHeight));
    });
    observer.observe(el);
    setWidth(el.clientWidth);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setCursor(([c, r]) => [Math.min(c, heat.columns - 1), Math.min(r, heat.rows - 1)]), [heat.columns, heat.rows]);

  const shown = drag ? blockOf(heat, drag.from, drag.to) : null;
  useEffect(() => {
    const el = canvas.current;
    if (!el || width === 0) return;
    const ratio = devicePixelRatio;
    el.width = width * ratio;
    el.height = height * ratio;
    const ctx = el.getContext("2d") as CanvasRenderingContext2D;
    ctx.scale(ratio, ratio);
    drawMap(ctx, heat, plot, pitch);
    drawAxes(ctx, heat, plot, pitch);
    const first = shown && !drag?.more ? shown : selected;
    const other = shown && drag?.more ? shown : second;
    if (first) drawBlock(ctx, heat, first, plot, pitch, css("--text"), false);
    if (other) drawBlock(ctx, heat, other, plot, pitch, css("--text"), true);
    if (keyboard) drawBlock(ctx, heat, blockOf(heat, cursor, cursor), plot, pitch, css("--ember"), false);
  }, [heat, width, pitch, dark, selected && blockText(selected), second && blockText(second), shown && blockText(shown), keyboard, cursor]);

  const cellAt = (e: PointerEvent): [number, number] => {
    const rect = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    const column = Math.floor(((e.clientX - rect.left - LEFT) / plot) * heat.columns);
    const row = heat.rows - 1 - Math.floor((e.clientY - rect.top) / pitch);
    return [Math.max(0, Math.min(heat.columns - 1, column)), Math.max(0, Math.min(heat.rows - 1, row))];
  };
  const onKey = (e: KeyboardEvent): void => {
    const step: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const [dc, dr] = step[e.key] ?? [0, 0];
    if (dc || dr) {
      const by = e.ctrlKey || e.metaKey ? 10 : 1;
      const next: [number, number] = [Math.max(0, Math.min(heat.columns - 1, cursor[0] + dc * by)), Math.max(0, Math.min(heat.rows - 1, cursor[1] + dr * by))];
      if (e.shiftKey) {
        anchor.current ??= cursor;
        setDrag({ from: anchor.current, to: next, more: drag?.more ?? false });
      } else {
        anchor.current = null;
        setDrag(null);
      }
      setKeyboard(true);
      setCursor(next);
    } else if (e.key === "Enter" || e.key === " " || e.key === "x") {
      const from = anchor.current ?? cursor;
      props.onSelect(blockOf(heat, from, cursor), e.key === "x");
      anchor.current = null;
      setDrag(null);
    } else if (e.key === "Escape") {
      if (drag) setDrag(null);
      else props.onClear();
      anchor.current = null;
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const at = hover ?? (keyboard ? cursor : null);
  const words = (cell: [number, number]): string => {
    const ms = heat.from + cell[0] * heat.column;
    return `${local(ms, Date.now(), true)}${heat.column > 1000 ? ` for ${heat.column / 1000} s` : ""}, ${cell[1] * heat.row} – ${(cell[1] + 1) * heat.row} ms: ${say(heat.cells[cell[0] * heat.rows + cell[1]])}`;
  };
  return (
    <div class="heat" ref={box} tabIndex={0} role="group" onKeyDown={onKey} onFocus={() => setKeyboard(box.current?.matches(":focus-visible") ?? false)} onBlur={() => setKeyboard(false)}
      aria-label="Heat map. Arrows move, Shift and arrows choose a block, Enter shows its stacks, x compares a second block with it, Escape takes it away.">
      <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} aria-hidden="true"
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          // Not every pointer can be captured; the drag then ends at the edge.
          try { e.currentTarget.setPointerCapture(e.pointerId); } catch { /* as it is */ }
          const cell = cellAt(e);
          setCursor(cell);
          setKeyboard(false);
          setDrag({ from: cell, to: cell, more: e.ctrlKey || e.metaKey || e.shiftKey });
        }}
        onPointerMove={(e) => {
          const cell = cellAt(e);
          setHover(cell);
          if (drag && e.buttons & 1) setDrag({ ...drag, to: cell });
        }}
        onPointerUp={(e) => {
          if (!drag) return;
          props.onSelect(blockOf(heat, drag.from, cellAt(e)), drag.more);
          setDrag(null);
        }}
        onPointerCancel={() => setDrag(null)} onPointerLeave={() => setHover(null)} />
      <p class="heat-at" aria-live="polite">{at ? words(at) : " "}</p>
    </div>
  );
}
