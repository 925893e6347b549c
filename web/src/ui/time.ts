// Times in the server's formats, displayed in the user's time zone, with UTC in tooltips.

export const PRESETS: [string, string][] = [
  ["-5m", "Last 5 minutes"], ["-15m", "Last 15 minutes"], ["-1h", "Last hour"], ["-6h", "Last 6 hours"],
  ["-1d", "Last day"], ["-7d", "Last week"], ["-30d", "Last 30 days"],
];

const UNIT_WORDS: Record<string, string> = { s: "seconds", m: "minutes", h: "hours", d: "days", w: "weeks" };
const UNIT_MS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };

// Milliseconds since 1970 of "-1h", "now-15m", "2026-11-15", Unix seconds … nanoseconds; NaN when it is none.
export function toMs(text: string, now: number): number {
  if (text === "now") return now;
  const relative = text.match(/^(?:now)?-(\d+(?:\.\d+)?)(s|m|h|d|w)$/);
  if (relative) return now - Number(relative[1]) * UNIT_MS[relative[2]];
  if (/^\d+$/.test(text)) {
    const value = Number(text);
    if (text.length > 17) return value / 1e6;
    if (text.length > 14) return value / 1e3;
    return text.length > 11 ? value : value * 1e3;
  }
  return Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
}

const two = (n: number): string => String(n).padStart(2, "0");

function day(d: Date): string {
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

export function clock(ms: number, seconds = false): string {
  const d = new Date(ms);
  return `${two(d.getHours())}:${two(d.getMinutes())}${seconds ? `:${two(d.getSeconds())}` : ""}`;
}

// "14:02", or with the day when it is not today.
export function local(ms: number, now: number, seconds = false): string {
  if (!isFinite(ms)) return "–";
  const d = new Date(ms);
  return day(d) === day(new Date(now)) ? clock(ms, seconds) : `${day(d)} ${clock(ms, seconds)}`;
}

export function utc(ms: number): string {
  return isFinite(ms) ? `${new Date(ms).toISOString().replace("T", " ").slice(0, 19)} UTC` : "";
}

// "Last hour", "14:02 – 14:31", and the same in UTC.
export function rangeLabel(from: string, until: string, now: number): { text: string; title: string } {
  const [a, b] = [toMs(from, now), toMs(until, now)];
  const title = `${utc(a)} – ${utc(b)}`;
  if (until === "now") {
    const preset = PRESETS.find(([value]) => value === from);
    if (preset) return { text: preset[1], title };
    const relative = from.match(/^(?:now)?-(.+)$/);
    if (relative) return { text: `Last ${relative[1].replace(/^([\d.]+)(\w)$/, (_, n: string, unit: string) => `${n} ${UNIT_WORDS[unit] ?? unit}`)}`, title };
  }
  if (!isFinite(a) || !isFinite(b)) return { text: `${from} – ${until}`, title: "" };
  return { text: between(a, b, now), title };
}

// "14:02 – 14:31"; a day that is not today is said once.
export function between(from: number, until: number, now: number): string {
  const short = until - from < 600e3;
  const first = local(from, now, short);
  const last = local(until, now, short);
  return first.slice(0, 10) === last.slice(0, 10) && first.length > 10 ? `${first} – ${clock(until, short)}` : `${first} – ${last}`;
}

// "3 min ago"
export function ago(ms: number, now: number): string {
  const seconds = Math.max(0, (now - ms) / 1e3);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

// The range of the same length just before or after, or twice as long around it; in milliseconds.
export function shifted(from: number, until: number, by: number): [number, number] {
  const step = (until - from) * by;
  return [Math.round(from + step), Math.round(until + step)];
}

export function widened(from: number, until: number, now: number): [number, number] {
  const half = (until - from) / 2;
  const end = Math.min(now, until + half);
  return [Math.round(end - 4 * half), Math.round(end)];
}

// A value for <input type=datetime-local>, and back.
export function toInput(ms: number): string {
  return isFinite(ms) ? `${day(new Date(ms))}T${clock(ms, true)}` : "";
}
export function fromInput(text: string): string {
  const ms = new Date(text).getTime();
  return isFinite(ms) ? String(ms) : "";
}
