// Values over time, stacked by a label. Dragging chooses a range; with the keyboard arrows move it and
// Enter takes it.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Grid } from "../series";
import { between, local, tick, utc } from "../time";

export interface Mark {
  time: number;
  text: string;
}

interface Props {
  grid: Grid;
  colours: string[];
  marks: Mark[];
  // The chosen range, when it is not all of it.
  selected: [number, number] | null;
  dark: boolean;
  say: (value: number) => string;
  onSelect: (from: number, until: number) => void;
  onClear: () => void;
}

const HEIGHT = 108;

// Each group on top of those before it.
function stacked(grid: Grid): (number | null)[][] {
  const base = new Float64Array(grid.times.length);
  return grid.groups.map((g) => g.values.map((v, i) => {
    if (v === null) return base[i] > 0 ? base[i] : null;
    return (base[i] += v);
  }));
}

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Above the bars, beside what the upper line stands for, which ends at `free`.
function drawMarks(u: uPlot, marks: Mark[], free: number): void {
  const { ctx } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * ratio}px ${css("--font")}`;
  ctx.strokeStyle = css("--ember");
  ctx.fillStyle = css("--text");
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  const right = u.bbox.left + u.bbox.width;
  const places = marks.map((m) => ({ text: m.text, x: Math.round(u.valToPos(m.time / 1e3, "x", true)) + 0.5 })).filter(({ x }) => x >= u.bbox.left && x <= right);
  places.forEach(({ text, x }, i) => {
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top - 12 * ratio);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    const width = ctx.measureText(text).width;
    // Words only where they cover neither each other nor another line.
    const left = x + 6 * ratio + width > right ? x - 6 * ratio - width : x + 6 * ratio;
    if (left < free || places.some((other, k) => k !== i && other.x > left - 2 * ratio && other.x < left + width + 2 * ratio)) return;
    ctx.fillText(text, left, u.bbox.top - 3 * ratio);
    free = left + width + 12 * ratio;
  });
  ctx.restore();
}

// What the upper line stands for.
function drawScale(u: uPlot, say: Props["say"]): number {
  const max = u.scales.y.max ?? 0;
  const ratio = devicePixelRatio;
  u.ctx.save();
  u.ctx.font = `${10 * ratio}px ${css("--font")}`;
  u.ctx.fillStyle = css("--faint");
  u.ctx.textAlign = "left";
  u.ctx.textBaseline = "alphabetic";
  u.ctx.fillText(say(max), u.bbox.left, u.bbox.top - 3 * ratio);
  const end = u.bbox.left + u.ctx.measureText(say(max)).width + 12 * ratio;
  u.ctx.restore();
  return end;
}

function options(width: number, props: () => Props): uPlot.Options {
  const p = props();
  const bars = uPlot.paths.bars?.({ size: [0.86, Infinity, 1], align: 1 });
  const grid = css("--line");
  return {
    width, height: HEIGHT, padding: [18, 0, 0, 0], legend: { show: false }, pxAlign: 1,
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 4 } },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    scales: { x: { time: true, range: () => [p.grid.from / 1e3, p.grid.until / 1e3] }, y: { range: (_u, _min, max) => [0, Math.max(max, 1e-9)] } },
    axes: [
      { size: 20, gap: 3, space: hasDays(p.grid) ? 80 : 50, font: `11px ${css("--font")}`, stroke: css("--faint"), grid: { show: false }, ticks: { show: false }, values: (u, ticks, _axis, _space, apart) => ticks.map((t) => tickText(u, t * 1e3, p.grid, apart)) },
      { show: true, size: 0, gap: 0, grid: { stroke: grid, width: 1 }, ticks: { show: false }, values: () => [], splits: (_u, _i, _min, max) => [max] },
    ],
    // The last group is the whole stack: it is drawn first, the others over it.
    series: [{}, ...p.grid.groups.map((_, i) => ({ fill: p.colours[i], stroke: p.colours[i], width: 0, paths: bars, points: { show: false } })).reverse()],
    hooks: {
      draw: [(u) => drawMarks(u, props().marks, drawScale(u, props().say))],
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        const at = (px: number): number => Math.round(u.posToVal(px, "x") * 1e3);
        props().onSelect(at(u.select.left), at(u.select.left + u.select.width));
      }],
    },
  };
}

const hasDays = (grid: Grid): boolean => grid.until - grid.from > 2 * 86400e3;

// Nothing where the edge would cut it.
function tickText(u: uPlot, ms: number, grid: Grid, apart: number): string {
  const text = tick(ms, apart * 1e3, hasDays(grid));
  const half = text.length * 3.4;
  const at = u.valToPos(ms / 1e3, "x");
  return at < half || at > u.width - half ? "" : text;
}

function showSelection(u: uPlot, selected: [number, number] | null): void {
  if (!selected) return u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  const left = Math.max(0, u.valToPos(selected[0] / 1e3, "x"));
  const right = Math.min(u.over.clientWidth, u.valToPos(selected[1] / 1e3, "x"));
  u.setSelect({ left, top: 0, width: Math.max(1, right - left), height: u.over.clientHeight }, false);
}

export function Timeline(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { grid, colours, dark } = props;

  useEffect(() => {
    const el = host.current as HTMLDivElement;
    const data = [grid.times.map((t) => t / 1e3), ...stacked(grid).reverse()] as uPlot.AlignedData;
    const u = new uPlot(options(Math.max(200, el.clientWidth), () => latest.current), data, el);
    plot.current = u;
    showSelection(u, latest.current.selected);
    u.over.addEventListener("pointermove", (e) => hover(u, e));
    u.over.addEventListener("pointerleave", () => tip.current && (tip.current.hidden = true));
    u.over.addEventListener("dblclick", () => latest.current.onClear());
    const observer = new ResizeObserver(() => {
      if (el.clientWidth === 0 || el.clientWidth === u.width) return;
      u.setSize({ width: el.clientWidth, height: HEIGHT });
      showSelection(u, latest.current.selected);
    });
    observer.observe(el);
    return () => {
      observer.disconnect();
      u.destroy();
    };
  }, [grid, colours.join(), dark]);

  useEffect(() => {
    if (plot.current) showSelection(plot.current, props.selected);
  }, [props.selected?.[0], props.selected?.[1], grid]);

  useEffect(() => plot.current?.redraw(), [props.marks]);

  const hover = (u: uPlot, e: PointerEvent): void => {
    const box = tip.current;
    const p = latest.current;
    if (!box) return;
    const i = Math.floor((u.posToVal(e.offsetX, "x") * 1e3 - p.grid.times[0]) / p.grid.step);
    const time = p.grid.times[i];
    box.hidden = time === undefined || e.buttons === 1;
    if (time === undefined) return;
    const rows = p.grid.groups.map((g, k) => ({ name: g.name, value: g.values[i], colour: p.colours[k] })).filter((r) => r.value !== null && r.value !== undefined);
    box.replaceChildren(...[line(between(time, time + p.grid.step, Date.now(), true), utc(time))], ...rows.slice(0, 10).map((r) => line(r.name || "all", p.say(r.value as number), r.colour)));
    if (rows.length === 0) box.append(line("nothing was measured", ""));
    const left = Math.min(e.offsetX + 14, u.over.clientWidth - box.offsetWidth - 4);
    box.style.transform = `translate(${Math.max(0, left)}px, ${HEIGHT - 16}px)`;
  };

  // A range by keyboard: arrows move it, with Shift they move its end.
  const onKey = (e: KeyboardEvent): void => {
    const { selected } = props;
    const span = grid.until - grid.from;
    const current = selected ?? [grid.from + span * 0.75, grid.until];
    const step = (e.key === "ArrowLeft" ? -1 : 1) * Math.max(grid.step, span / 60);
    if (e.key === "Escape" && selected) props.onClear();
    else if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      if (!selected) props.onSelect(Math.round(current[0]), Math.round(current[1]));
      else {
        const from = e.shiftKey ? current[0] : Math.max(grid.from, Math.min(grid.until - grid.step, current[0] + step));
        const until = e.shiftKey ? Math.min(grid.until, Math.max(from + grid.step, current[1] + step)) : from + current[1] - current[0];
        props.onSelect(Math.round(from), Math.round(until));
      }
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const words = props.selected ? `${local(props.selected[0], Date.now(), true)} to ${local(props.selected[1], Date.now(), true)} chosen` : "all of it";
  return (
    <div class="timeline" tabIndex={0} role="group" onKeyDown={onKey}
      aria-label={`Time line from ${local(grid.from, Date.now())} to ${local(grid.until, Date.now())}, ${words}. Left and right choose and move a range, Shift changes its end, Escape takes it away.`}>
      <div ref={host} aria-hidden="true" />
      <div ref={tip} class="tip inside" hidden aria-hidden="true" />
    </div>
  );
}

function line(name: string, value: string, colour?: string): HTMLElement {
  const row = document.createElement("div");
  const label = document.createElement("span");
  if (colour) {
    const swatch = document.createElement("i");
    swatch.className = "swatch";
    swatch.style.background = colour;
    label.append(swatch);
  }
  label.append(name);
  const number = document.createElement("span");
  number.textContent = value;
  row.append(label, number);
  return row;
}
