// A function's values over the range as a sparkline, requested when a function stays selected.
import { get } from "../api";
import { h } from "../../bench/dom";
import { view } from "../router";
import { niceStep, type SeriesReply } from "../series";
import { toMs } from "../time";
import { question } from "../view";

const WAIT_MS = 150;
const WIDTH = 256;
const HEIGHT = 44;

export function path(values: (number | null)[], width: number, height: number): string {
  const most = Math.max(...values.map((v) => v ?? 0), 1e-12);
  const points = values.flatMap((v, i) => (v === null ? [] : [`${((i / Math.max(1, values.length - 1)) * width).toFixed(1)},${(height - 2 - (v / most) * (height - 4)).toFixed(1)}`]));
  return points.length > 1 ? `M${points.join("L")}` : "";
}

// One element that shows the function it was last given.
export function spark(type: () => string): (name: string) => HTMLElement {
  const box = h("div", { class: "spark", "aria-hidden": "true" });
  let shown = "";
  let timer = 0;
  let control = new AbortController();
  const ask = async (name: string, key: string): Promise<void> => {
    control.abort();
    control = new AbortController();
    try {
      const reply = await get<SeriesReply>("series", [...question({ ...view.peek(), type: type() }), ["function", name], ["step", step()]], control.signal);
      if (key !== shown) return;
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("d", path(reply.series[0]?.values ?? [], WIDTH, HEIGHT));
      svg.append(line);
      box.replaceChildren(svg);
    } catch {
      // A failure is only a missing sparkline; the page reports when the server does not respond.
    }
  };
  return (name) => {
    const key = JSON.stringify([name, view.peek().query, view.peek().from, view.peek().until, type()]);
    if (key === shown) return box;
    shown = key;
    box.replaceChildren();
    clearTimeout(timer);
    timer = window.setTimeout(() => void ask(name, key), WAIT_MS);
    return box;
  };
}

// About sixty points, but not narrower than profiles usually come.
function step(): string {
  const { from, until } = view.peek();
  const length = toMs(until, 0) - toMs(from, 0);
  return `${niceStep((isFinite(length) ? length : 3600e3) / 60) / 1e3}s`;
}
