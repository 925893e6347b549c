// A sparkline next to a number, hidden from screen readers, which get the number.
import { areaPath, linePath, mostOf } from "./paths";

export function Spark({ values, width = 120, height = 24, most = mostOf(values), tone = "" }: { values: (number | null)[]; width?: number; height?: number; most?: number; tone?: string }) {
  return (
    <svg class={`sparkline ${tone}`} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="floor" d={`M0,${height - 0.5}H${width}`} />
      <path class="area" d={areaPath(values, width, height, most)} />
      <path class="stroke" d={linePath(values, width, height, most)} />
    </svg>
  );
}
