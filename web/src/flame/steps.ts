// Steps over boxes too narrow to see. Slots are taken in blocks of 32 and of 1,024; each block knows
// its widest box and the widest gap between two of its boxes. If both are below a pixel, the block is
// drawn as one grey line without visiting its boxes. Blocks may reach over the end of a row: they only
// seem wider then.

export interface Steps {
  // Per block of 32.
  wide: Float32Array;
  gap: Float32Array;
  // Per block of 1,024.
  wideFar: Float32Array;
  gapFar: Float32Array;
}

const NEAR = 5;
const FAR = 10;
const NEAR_SIZE = 1 << NEAR;
const FAR_SIZE = 1 << FAR;

export function stepsOf(x0: Float64Array, x1: Float64Array): Steps {
  const count = x0.length;
  const wide = new Float32Array(Math.ceil(count / NEAR_SIZE));
  const gap = new Float32Array(wide.length);
  for (let b = 0; b < wide.length; b++) {
    const end = Math.min(count, (b + 1) << NEAR);
    let widest = 0;
    let gapest = 0;
    for (let s = b << NEAR; s < end; s++) {
      if (x1[s] - x0[s] > widest) widest = x1[s] - x0[s];
      if (s + 1 < end && x0[s + 1] - x1[s] > gapest) gapest = x0[s + 1] - x1[s];
    }
    wide[b] = widest;
    gap[b] = gapest;
  }
  const wideFar = new Float32Array(Math.ceil(count / FAR_SIZE));
  const gapFar = new Float32Array(wideFar.length);
  const each = 1 << (FAR - NEAR);
  for (let b = 0; b < wide.length; b++) {
    const far = b >> (FAR - NEAR);
    wideFar[far] = Math.max(wideFar[far], wide[b]);
    gapFar[far] = Math.max(gapFar[far], gap[b]);
    // From the block before to this one.
    const first = b << NEAR;
    if (b % each !== 0) gapFar[far] = Math.max(gapFar[far], x0[first] - x1[first - 1]);
  }
  return { wide, gap, wideFar, gapFar };
}

// First slot in (from, to) that is not part of the line of narrow boxes that begins at `from`: it is at
// least `least` wide, or at least `apart` away from the one before it, or begins at or beyond `stop`.
export function endOfNarrow(x0: Float64Array, x1: Float64Array, steps: Steps, from: number, to: number, least: number, apart: number, stop: number): number {
  let s = from + 1;
  while (s < to) {
    const left = x0[s];
    if (left >= stop || left - x1[s - 1] >= apart) return s;
    if ((s & (NEAR_SIZE - 1)) === 0) {
      if ((s & (FAR_SIZE - 1)) === 0 && s + FAR_SIZE <= to && steps.wideFar[s >> FAR] < least && steps.gapFar[s >> FAR] < apart && x0[s + FAR_SIZE - 1] < stop) {
        s += FAR_SIZE;
        continue;
      }
      if (s + NEAR_SIZE <= to && steps.wide[s >> NEAR] < least && steps.gap[s >> NEAR] < apart && x0[s + NEAR_SIZE - 1] < stop) {
        s += NEAR_SIZE;
        continue;
      }
    }
    if (x1[s] - left >= least) return s;
    s++;
  }
  return to;
}
