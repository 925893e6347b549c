// Before and after of one box or function. Shares are compared, not values, so two recordings of
// different length compare; a change that sampling alone explains is called noise.

export type Mark = "same" | "more" | "less" | "added" | "removed";

export interface Change {
  mark: Mark;
  noise: boolean;
  before: number;
  after: number;
  // Shares of their own side, and the difference in percentage points / 100.
  shareBefore: number;
  shareAfter: number;
  delta: number;
}

// Number of samples of each side; 0 = unknown.
export interface Samples {
  before: number;
  after: number;
}

// Without a sample count: changes below both limits are too small to paint.
const LEAST_POINTS = 0.0005;
const LEAST_RATIO = 0.02;
const SIGMAS = 3;

function share(value: number, total: number): number {
  return total > 0 ? value / total : 0;
}

// Three standard errors of the difference of two shares, since a graph compares hundreds of boxes at
// once and two would paint one in twenty by chance. Each is estimated with one sample more than was
// seen, so that 0 against 1 is not a discovery.
export function noiseLimit(shareBefore: number, shareAfter: number, samples: Samples): number {
  const variance = (p: number, n: number): number => {
    const q = Math.min(1, (p * n + 1) / (n + 2)); // p may pass 1 when values are compared
    return (q * (1 - q)) / n;
  };
  return SIGMAS * Math.sqrt(variance(shareBefore, samples.before) + variance(shareAfter, samples.after));
}

export function change(before: number, after: number, totalBefore: number, totalAfter: number, samples: Samples): Change {
  const shareBefore = share(before, totalBefore);
  const shareAfter = share(after, totalAfter);
  const delta = shareAfter - shareBefore;
  const counted = samples.before > 0 && samples.after > 0;
  const larger = Math.max(shareBefore, shareAfter);
  const noise = counted
    ? Math.abs(delta) <= noiseLimit(shareBefore, shareAfter, samples)
    : Math.abs(delta) < LEAST_POINTS && Math.abs(delta) < larger * 0.5 ? true : Math.abs(delta) < larger * LEAST_RATIO;
  let mark: Mark = "same";
  if (before === 0 && after > 0) mark = "added";
  else if (before > 0 && after === 0) mark = "removed";
  else if (!noise && delta !== 0) mark = delta > 0 ? "more" : "less";
  return { mark, noise: noise || delta === 0, before, after, shareBefore, shareAfter, delta };
}

const VERDICTS: (Mark | "noise" | "unknown")[] = ["noise", "more", "less", "added", "removed", "unknown"];
const OPPOSITE: Partial<Record<string, Mark>> = { more: "less", less: "more", added: "removed", removed: "added" };

// The same change with the server's verdicts; without one, keep the estimate made here.
export function judged(c: Change, verdict: number, swap: boolean): Change {
  const word = VERDICTS[verdict] ?? "unknown";
  if (word === "unknown") return c;
  if (word === "noise") return { ...c, noise: true, mark: c.mark === "added" || c.mark === "removed" ? c.mark : "same" };
  return { ...c, noise: false, mark: (swap ? OPPOSITE[word] : undefined) ?? (word as Mark) };
}

// How strongly a box is painted, -1 (all gone) .. 0 .. 1 (all new).
export function strength(c: Change): number {
  if (c.noise) return 0;
  const sum = c.shareBefore + c.shareAfter;
  if (sum === 0) return 0;
  const ratio = c.delta / sum;
  return Math.sign(ratio) * Math.sqrt(Math.abs(ratio));
}

export const signOf: Record<Mark, string> = { same: "", more: "", less: "", added: "+ ", removed: "− " };
