// Times in the server's formats, displayed in the user's time zone, with UTC in tooltips.

export const PRESETS: [string, string][] = [
  ["-5m", "Last 5 minutes"], ["-15m", "Last 15 minutes"], ["-1h", "Last hour"], ["-6h", "Last 6 hours"],
  ["-1d", "Last day"], ["-7d", "Last week"], ["-30d", "Last 30 days"],
];

const UNIT_WORDS: Record<string, string> = { s: "seconds", m: "minutes", h: "hours", d: "days", w: "weeks" };
const UNIT_MS: Record<string, number> = {
  ns: 1e-6, us: 1e-3, "µs": 1e-3, ms: 1, s: 1e3, m: 60e3, min: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3, y: 365 * 86400e3,
};

// "1h30m", "1.5h", "90" (seconds).
function durationMs(text: string): number {
  let [rest, sum] = [text, 0];
  do {
    const part = rest.match(/^([\d.]+)(ns|us|µs|ms|min|[smhdwy])?/);
    if (!part || (!part[2] && part[0] !== rest)) return NaN;
    sum += Number(part[1]) * UNIT_MS[part[2] ?? "s"];
    rest = rest.slice(part[0].length);
  } while (rest);
  return sum;
}

// A number of so many digits is not seconds: how many of its units a millisecond has.
const PER_MS: Record<number, number> = { 13: 1, 16: 1e3, 19: 1e6 };

// Milliseconds since 1970 of "-1h", "now-1h30m", "2026-11-15", "2026-11-15 10:00", Unix seconds …
// nanoseconds; NaN when it is none. The same as src/query/when.c, so that pages show the range that the
// server used: dates without an offset are UTC.
export function toMs(text: string, now: number): number {
  const ms = parsed(text.trim(), now);
  return Math.abs(ms) < MOST_MS ? ms : NaN;
}

// Nanoseconds since 1970 have 63 bits.
const MOST_MS = 2 ** 63 / 1e6;

function parsed(given: string, now: number): number {
  if (given === "now") return now;
  const relative = given.match(/^(?:now)?([-+])(.+)$/);
  if (relative) return now + (relative[1] === "-" ? -1 : 1) * durationMs(relative[2]);
  if (/^\d+$/.test(given)) return given.length in PER_MS ? Number(given) / PER_MS[given.length] : Number(given) * 1e3;
  if (/^\d+\.\d+$/.test(given)) return Number(given) * 1e3;
  const date = given.match(/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:Z|(:\d\d(?:\.\d+)?)(Z|[-+]\d\d:\d\d)?)?)?$/i);
  return date ? Date.parse(`${date[1]}T${date[2] ?? "00:00"}${date[3] ?? ":00"}${date[4] ?? "Z"}`) : NaN;
}

// Whether it moves with the time at which it is read.
export const isRelative = (text: string): boolean => /^\s*(now|[-+])/.test(text);

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

// "+05:45": how far clocks here are from UTC at a moment.
function offsetText(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  return `${minutes < 0 ? "−" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

// "14:02 – 14:31"; a day that is not today is said once. Where clocks were changed in between, "01:30" may
// be two moments: both ends say their offset.
export function between(from: number, until: number, now: number, seconds = until - from < 600e3): string {
  const first = local(from, now, seconds);
  const last = local(until, now, seconds);
  const changed = isFinite(from) && isFinite(until) && offsetText(from) !== offsetText(until);
  const end = first.slice(0, 10) === last.slice(0, 10) && first.length > 10 ? clock(until, seconds) : last;
  return changed ? `${first} ${offsetText(from)} – ${end} ${offsetText(until)}` : `${first} – ${end}`;
}

// Under an axis, `apart` milliseconds from the next: days where the axis has several, and where one begins.
export function tick(ms: number, apart: number, days: boolean): string {
  return days && (apart >= 86400e3 || clock(ms) === "00:00") ? day(new Date(ms)) : clock(ms, apart < 60e3);
}

// The moments of [from, until) at which clocks here show whole multiples of `every` milliseconds. Offsets
// from UTC are whole quarters of an hour.
export function wholeTimes(from: number, until: number, every: number): number[] {
  const step = [900e3, 300e3, 60e3].find((s) => every % s === 0) ?? every;
  const out: number[] = [];
  for (let ms = Math.ceil(from / step) * step; ms < until; ms += step)
    if ((ms - new Date(ms).getTimezoneOffset() * 60e3) % every === 0) out.push(ms);
  return out;
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
