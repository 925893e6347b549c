// Values over time as paths of an SVG.

// A line through the points; where nothing was measured it is broken, and a lone point is a short dash.
export function linePath(values: (number | null)[], width: number, height: number, most: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const y = (v: number): string => (height - 1 - (most > 0 ? Math.min(1, v / most) : 0) * (height - 2)).toFixed(1);
  let out = "";
  let open = false;
  values.forEach((v, i) => {
    if (v === null || v === undefined) {
      open = false;
      return;
    }
    const x = i * step;
    if (open) out += `L${x.toFixed(1)},${y(v)}`;
    else {
      const alone = values[i + 1] === null || values[i + 1] === undefined;
      out += `M${Math.max(0, alone ? x - step * 0.4 : x).toFixed(1)},${y(v)}${alone ? `h${Math.max(1, step * 0.8).toFixed(1)}` : ""}`;
    }
    open = true;
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
