// Values over time as paths of an SVG.

const MOST_GAP = 2;

// How many points without a value a line bridges: profiles at every second or third point leave gaps
// that are artefacts of the step; only longer ones are real gaps.
export function usualGap(values: (number | null)[]): number {
  const gaps: number[] = [];
  let last = -1;
  values.forEach((v, i) => {
    if (v === null || v === undefined) return;
    if (last >= 0) gaps.push(i - last - 1);
    last = i;
  });
  // With few points the usual distance is unknown, and gaps between rare points are real.
  return gaps.length < 4 ? 0 : Math.min(MOST_GAP, gaps.sort((a, b) => a - b)[Math.floor(gaps.length * 0.75)]);
}

// A line through the points; where nothing was measured it is broken, and a lone point is a short dash.
export function linePath(values: (number | null)[], width: number, height: number, most: number): string {
  const gap = usualGap(values);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const y = (v: number): string => (height - 1 - (most > 0 ? Math.min(1, v / most) : 0) * (height - 2)).toFixed(1);
  const known = (i: number): boolean => values[i] !== null && values[i] !== undefined;
  // The next point that the line goes to from here, or -1.
  const nextOf = (i: number): number => {
    for (let k = i + 1; k <= i + 1 + gap && k < values.length; k++) if (known(k)) return k;
    return -1;
  };
  let out = "";
  let reached = -1;
  values.forEach((v, i) => {
    if (v === null || v === undefined) return;
    const x = i * step;
    const next = nextOf(i);
    if (reached === i) out += `L${x.toFixed(1)},${y(v)}`;
    else {
      const alone = next < 0;
      out += `M${Math.max(0, alone ? x - step * 0.4 : x).toFixed(1)},${y(v)}${alone ? `h${Math.max(1, step * 0.8).toFixed(1)}` : ""}`;
    }
    reached = next;
  });
  return out;
}

// The same line closed along the bottom, one area for each piece.
export function areaPath(values: (number | null)[], width: number, height: number, most: number): string {
  return linePath(values, width, height, most).split("M").filter(Boolean).map((piece) => {
    const first = piece.match(/^([\d.]+),/)?.[1] ?? "0";
    const last = piece.match(/h([\d.]+)$/) ? (Number(first) + Number(piece.match(/h([\d.]+)$/)?.[1])).toFixed(1) : piece.match(/([\d.]+),[\d.]+$/)?.[1] ?? first;
    return `M${piece}L${last},${height}L${first},${height}Z`;
  }).join("");
}

// The highest value of several lines, for one scale.
export function mostOf(...lines: (number | null)[][]): number {
  let most = 0;
  for (const line of lines) for (const v of line) if (v !== null && v > most) most = v;
  return most;
}
