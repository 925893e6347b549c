// A few lines over one stretch of time, with a scale, the times at both ends, and the values under the pointer.
import { useState } from "preact/hooks";
import { local, utc } from "../time";
import { areaPath, linePath, mostOf } from "./paths";

export interface Line {
  name: string;
  values: (number | null)[];
  tone: string;
}

interface Props {
  lines: Line[];
  from: number;
  step: number;
  say: (value: number) => string;
  label: string;
  height?: number;
}

const WIDTH = 1000;

export function Lines({ lines, from, step, say, label, height = 96 }: Props) {
  const [at, setAt] = useState(-1);
  const points = Math.max(0, ...lines.map((l) => l.values.length));
  const most = mostOf(...lines.map((l) => l.values));
  const now = Date.now();
  const until = from + points * step;
  const move = (e: PointerEvent): void => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
    setAt(Math.max(0, Math.min(points - 1, Math.round(((e.clientX - box.left) / box.width) * (points - 1)))));
  };
  return (
    <div class="lines" role="img" aria-label={`${label}, ${local(from, now)} to ${local(until, now)}, at most ${say(most)}`}>
      <div class="lines-plot" onPointerMove={move} onPointerLeave={() => setAt(-1)}>
        <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" style={{ height: `${height}px` }} aria-hidden="true">
          {lines.map((l, i) => <g class={l.tone}>{i === 0 && <path class="area" d={areaPath(l.values, WIDTH, height, most)} />}<path class="stroke" d={linePath(l.values, WIDTH, height, most)} /></g>)}
        </svg>
        {at >= 0 && <i class="lines-at" style={{ left: `${(at / Math.max(1, points - 1)) * 100}%` }} />}
        <span class="lines-most">{say(most)}</span>
      </div>
      <div class="lines-feet">
        <span title={utc(from)}>{local(from, now)}</span>
        <span class="lines-now">{at < 0 ? "" : `${local(from + at * step, now, step < 60e3)}: ${lines.map((l) => { const v = l.values[at]; return `${l.name} ${v === null || v === undefined ? "–" : say(v)}`; }).join(", ")}`}</span>
        <span title={utc(until)}>{local(until, now)}</span>
      </div>
    </div>
  );
}
