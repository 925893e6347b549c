// Colours carry meaning: hue = module, lightness = name, brightest = search hit; in a diff orange =
// more, blue = less. Boxes are matched in luminance, not in HSL lightness, so that every label keeps
// a contrast of 4.5 or more on every hue.
import type { Model } from "./model";

export type Rgb = [number, number, number];

export interface Palette {
  dark: boolean;
  background: Rgb;
  ink: string;
  hitInk: string;
  hit: Rgb;
  merged: Rgb;
  pruned: Rgb;
  // Luminance of the darkest and the lightest box.
  low: number;
  high: number;
  // Luminance of the boxes of the selected function: still readable, plainly apart.
  lifted: number;
  saturation: number;
  more: Rgb;
  less: Rgb;
  little: Rgb;
  outline: string;
}

export const DARK: Palette = {
  dark: true, background: [20, 18, 15], ink: "#fdf6ee", hitInk: "#1d0f04", hit: [255, 176, 102],
  merged: [74, 68, 61], pruned: [58, 53, 47], low: 0.08, high: 0.142, lifted: 0.166, saturation: 0.55,
  more: [178, 86, 22], less: [38, 103, 152], little: [84, 78, 71], outline: "#ece6dd",
};

export const LIGHT: Palette = {
  dark: false, background: [247, 244, 239], ink: "#2a1a0c", hitInk: "#1d0f04", hit: [240, 138, 60],
  merged: [203, 195, 184], pruned: [222, 215, 205], low: 0.46, high: 0.62, lifted: 0.38, saturation: 0.64,
  more: [240, 148, 76], less: [116, 178, 222], little: [214, 207, 198], outline: "#26211b",
};

// Pixels are written as one 32-bit word: A B G R on a little-endian machine.
export function word([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}

export function mix(a: Rgb, b: Rgb, t: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(a[i] + (b[i] - a[i]) * t)) as Rgb;
}

function fromHsl(h: number, s: number, l: number): Rgb {
  const a = s * Math.min(l, 1 - l);
  const channel = (n: number): number => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

export function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((v) => (v <= 10 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// The same colour, brighter or darker.
export function toLuminance(rgb: Rgb, wanted: number): Rgb {
  const by = (wanted / Math.max(luminance(rgb), 0.001)) ** (1 / 2.3);
  return rgb.map((v) => Math.min(255, Math.round(v * by))) as Rgb;
}

// The colour of a hue and saturation that has the wanted luminance.
export function ofLuminance(hue: number, saturation: number, wanted: number): Rgb {
  let low = 0;
  let high = 1;
  for (let i = 0; i < 12; i++) {
    const mid = (low + high) / 2;
    if (luminance(fromHsl(hue, saturation, mid)) < wanted) low = mid;
    else high = mid;
  }
  return fromHsl(hue, saturation, low);
}

export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return (h ^ (h >>> 12)) >>> 0;
}

export interface Tint {
  hue: number;
  // Factor on the palette's saturation: library code is less saturated.
  calm: number;
}

// Warm hues for the three heaviest modules, the rest of the wheel for the others; loud hues calmer.
const WARM: Tint[] = [[24, 1], [44, 0.95], [6, 0.78]].map(([hue, calm]) => ({ hue, calm }));
const WHEEL: Tint[] = [
  ...WARM,
  ...[[172, 0.72], [262, 0.46], [340, 0.5], [205, 0.66], [58, 0.7], [300, 0.34], [188, 0.66], [232, 0.46], [150, 0.5]].map(([hue, calm]) => ({ hue, calm })),
];

// Modules everybody shares keep one colour everywhere.
function sharedTint(module: string, kind: string): Tint | undefined {
  const base = module.slice(module.lastIndexOf("/") + 1);
  if (kind === "kernel" || base === "vmlinux" || base.startsWith("[kernel")) return { hue: 225, calm: 0.35 };
  if (/^(libc|ld-linux|ld-musl|libpthread|libm|libgcc_s|libstdc\+\+|linux-vdso|\[vdso)\b/.test(base)) return { hue: 205, calm: 0.45 };
  if (base === "runtime" || base === "java.base") return { hue: 262, calm: 0.4 };
  return undefined;
}

// The hue of each module: from its name, moved on when a heavier module already took it.
export function tints(model: Model): { frames: Tint[]; modules: Map<string, Tint> } {
  const { vft } = model;
  const own = new Float64Array(vft.frames.count);
  const column = vft.self[model.meta.defaultType * (model.meta.diff ? 2 : 1)];
  for (let i = 0; i < vft.nodes; i++) own[vft.frame[i]] += column[i];
  const weight = new Map<string, number>();
  for (let f = 1; f < vft.frames.count; f++) {
    if (model.pruned[f] || sharedTint(model.module(f), model.kind(f))) continue;
    const key = moduleKey(model, f);
    weight.set(key, (weight.get(key) ?? 0) + own[f]);
  }
  const modules = new Map<string, Tint>();
  const taken = new Set<Tint>();
  for (const [key] of [...weight].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))) {
    const list = taken.size < WARM.length ? WARM : WHEEL;
    let at = hash(key) % list.length;
    if (taken.size < WHEEL.length) while (taken.has(list[at])) at = (at + 1) % list.length;
    taken.add(list[at]);
    modules.set(key, list[at]);
  }
  const frames: Tint[] = [];
  for (let f = 0; f < vft.frames.count; f++) {
    const key = moduleKey(model, f);
    const tint = sharedTint(model.module(f), model.kind(f)) ?? modules.get(key) ?? WARM[0];
    modules.set(key, tint);
    frames.push(f === 0 ? { hue: 30, calm: 0.22 } : tint);
  }
  return { frames, modules };
}

export function moduleKey(model: Model, frame: number): string {
  return model.module(frame) || model.kind(frame) || "not known";
}

export function tintColour(palette: Palette, tint: Tint, lightness: number): Rgb {
  return ofLuminance(tint.hue, palette.saturation * tint.calm, palette.low + (palette.high - palette.low) * lightness);
}

// One colour per frame.
export function frameColours(model: Model, frames: Tint[], palette: Palette): Rgb[] {
  const cache = new Map<string, Rgb>();
  return frames.map((tint, f) => {
    if (model.pruned[f]) return palette.pruned;
    const lightness = (hash(model.name(f)) % 17) / 16;
    const key = `${tint.hue}/${tint.calm}/${lightness}`;
    let rgb = cache.get(key);
    if (!rgb) cache.set(key, (rgb = tintColour(palette, tint, lightness)));
    return rgb;
  });
}

export function diffColour(palette: Palette, strength: number): Rgb {
  return mix(palette.little, strength > 0 ? palette.more : palette.less, Math.min(1, Math.abs(strength)));
}
