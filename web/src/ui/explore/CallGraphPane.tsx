// Functions as boxes, calls as lines: how value flows when the same function is reached on many ways.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../../bench/app";
import { css, tintColour, units } from "../../flame";
import { callGraph, type GraphEdge, type GraphNode } from "./graph-layout";
import { useBench } from "./useBench";

const MOST = 40;
// Names below nine pixels are no names.
const LEAST_FIT = 0.85;
const ZOOM = [0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.25, 1.6, 2];

function sizeOf(name: string, share: number): [number, number] {
  const font = fontOf(share);
  return [Math.min(260, Math.max(96, name.length * font * 0.6 + 20)), font * 2.6 + 10];
}

// Functions with more self value have larger text.
function fontOf(share: number): number {
  return 11 + Math.min(7, Math.sqrt(share) * 14);
}

function curve(a: GraphNode, b: GraphNode, back: boolean): string {
  const [x1, x2] = [a.x + a.width / 2, b.x + b.width / 2];
  const [y1, y2] = [a.y + a.height, b.y];
  if (back) {
    const side = Math.max(a.x + a.width, b.x + b.width) + 24;
    return `M${a.x + a.width},${a.y + a.height / 2} C${side},${a.y} ${side},${b.y + b.height} ${b.x + b.width},${b.y + b.height / 2}`;
  }
  const bend = Math.max(18, (y2 - y1) / 2);
  return `M${x1},${y1} C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2 - 3}`;
}

export function CallGraphPane({ app }: { app: App }) {
  useBench(app);
  const tree = app.derived.base(app.state);
  const graph = useMemo(() => callGraph(tree, app.model, app.derived.columns(app.state), MOST, sizeOf), [tree]);
  const host = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(0);
  const [room, setRoom] = useState(800);
  useEffect(() => {
    const observer = new ResizeObserver(() => setRoom(host.current?.clientWidth ?? 800));
    observer.observe(host.current as HTMLElement);
    return () => observer.disconnect();
  }, []);
  const selected = app.selectedFunc();
  const whole = tree.weight[0] || 1;
  const fit = Math.min(1, (room - 32) / Math.max(1, graph.width));
  const scale = zoom || Math.max(LEAST_FIT, fit);
  const step = (by: number): void => {
    const at = ZOOM.findIndex((z) => z >= scale - 0.001);
    setZoom(ZOOM[Math.max(0, Math.min(ZOOM.length - 1, at + by))]);
  };
  // Where it begins is in the middle; a graph that is wider than its room would show an empty corner.
  const top = graph.nodes.find((n) => n.layer === 0);
  useEffect(() => {
    const el = host.current;
    if (el && top) el.scrollLeft = (top.x + top.width / 2) * scale + 16 - el.clientWidth / 2;
  }, [graph, scale, room]);
  // The selected function is brought into sight.
  useEffect(() => host.current?.querySelector(".gnode.sel")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [selected, graph]);
  const near = (from: GraphNode, key: string): GraphNode | undefined => {
    const sideways = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    const distance = (n: GraphNode): number => {
      const dx = n.x + n.width / 2 - from.x - from.width / 2;
      const dy = n.y - from.y;
      const [along, across] = sideways ? [dx * sign, dy] : [dy * sign, dx];
      return along <= 1 || (sideways && n.layer !== from.layer) ? Infinity : along + Math.abs(across) * 0.6;
    };
    return graph.nodes.map((n) => ({ n, d: distance(n) })).filter((x) => isFinite(x.d)).sort((a, b) => a.d - b.d)[0]?.n;
  };
  const onKey = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey || !e.key.startsWith("Arrow")) return;
    const from = graph.nodes.find((n) => n.func === selected);
    const next = from ? near(from, e.key) : graph.nodes[0];
    if (next) app.selectFunction(next.func);
    e.preventDefault();
    e.stopPropagation();
  };
  const line = (e: GraphEdge) => {
    const [a, b] = [graph.nodes[e.from], graph.nodes[e.to]];
    const on = a.func === selected || b.func === selected;
    return <path d={curve(a, b, e.back)} class={`gedge ${on ? "on" : ""}`} stroke-width={Math.max(1, 7 * Math.sqrt(e.weight / whole))} stroke-dasharray={e.skipped ? "5 4" : undefined} marker-end="url(#arrow)"><title>{`${app.model.name(app.model.funcFrame[a.func])} → ${app.model.name(app.model.funcFrame[b.func])}: ${units.percent(e.weight / whole)}`}</title></path>;
  };
  const box = (n: GraphNode) => {
    const frame = app.model.funcFrame[n.func];
    const name = app.model.name(frame);
    const font = fontOf(n.self / whole);
    const room = Math.floor((n.width - 14) / (font * 0.6));
    const words = `${units.percent(n.self / whole)} of ${units.percent(n.total / whole)}`;
    const on = n.func === selected;
    return (
      <g class={`gnode ${on ? "sel" : ""}`} transform={`translate(${n.x},${n.y})`} role="option" id={`g${n.func}`} aria-selected={on} onClick={() => app.selectFunction(n.func)} onDblClick={() => app.sandwich(n.func)}>
        <rect width={n.width} height={n.height} rx="5" fill={css(tintColour(app.palette, app.tints.frames[frame], 0.6))} />
        <text x={n.width / 2} y={font + 6} font-size={font} text-anchor="middle">{name.length > room ? `…${name.slice(-room + 1)}` : name}</text>
        <text x={n.width / 2} y={font * 2.2 + 8} font-size={Math.max(10, font * 0.8)} text-anchor="middle">{words}</text>
        <title>{name}</title>
      </g>
    );
  };
  return (
    <div class="callgraph">
      <div class="graph-tools"><span class="dim">{graph.nodes.length} functions{graph.hidden > 0 ? `, ${graph.hidden.toLocaleString("en-US")} smaller ones not shown` : ""} · self of total</span>
        <span class="seg push"><button type="button" aria-label="Smaller" onClick={() => step(-1)}>−</button><button type="button" onClick={() => setZoom(0)}>Fit</button><button type="button" aria-label="Larger" onClick={() => step(1)}>+</button></span></div>
      <div class="graph-scroll" ref={host} tabIndex={0} role="listbox" aria-label="Call graph. Arrow keys walk between functions." aria-activedescendant={graph.nodes.some((n) => n.func === selected) ? `g${selected}` : undefined} onKeyDown={onKey}>
        <svg width={graph.width * scale + 32} height={graph.height * scale + 32} viewBox={`${-16 / scale} ${-16 / scale} ${graph.width + 32 / scale} ${graph.height + 32 / scale}`} role="presentation">
          <defs><marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" class="garrow" /></marker></defs>
          {graph.edges.map(line)}
          {graph.nodes.map(box)}
        </svg>
      </div>
    </div>
  );
}
