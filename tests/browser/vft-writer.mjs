// A small writer of VFT (docs/formats/vft.md) for tests: folded stacks in, bytes out.
import { gzipSync } from "node:zlib";

/**
 * @typedef {{ name: string, module?: string, file?: string, line?: number, kind?: string }} Frame
 * @typedef {{ stack: (string | Frame)[], values: number[] }} Sample
 * @typedef {{ types?: {name: string, unit: string}[], diff?: boolean, verdicts?: number[], meta?: Record<string, unknown> }} Options
 */

/** @param {string | Frame} f @returns {Frame} */
const asFrame = (f) => (typeof f === "string" ? { name: f } : f);

/** @param {Sample[]} samples @param {Options} [options] @returns {Uint8Array<ArrayBuffer>} */
export function writeVft(samples, options = {}) {
  const types = options.types ?? [{ name: "cpu", unit: "nanoseconds" }];
  const columns = types.length * (options.diff ? 2 : 1);
  /** @type {Map<string, number>} */
  const strings = new Map([["", 0]]);
  const str = (/** @type {string} */ s) => {
    if (!strings.has(s)) strings.set(s, strings.size);
    return /** @type {number} */ (strings.get(s));
  };
  /** @type {{ key: Map<string, number>, list: Frame[] }} */
  const frames = { key: new Map(), list: [] };
  const frame = (/** @type {Frame} */ f) => {
    const key = JSON.stringify([f.name, f.module, f.file, f.line, f.kind]);
    let id = frames.key.get(key);
    if (id === undefined) frames.key.set(key, (id = frames.list.push(f) - 1));
    return id;
  };
  frames.list.push({ name: "all" });

  const nodes = [{ parent: 0, frame: 0, self: new Array(columns).fill(0), children: new Map() }];
  /** @type {Map<number, { self: number[], total: number[] }>} */
  const rows = new Map();
  for (const { stack, values } of samples) {
    let at = 0;
    const seen = new Set();
    for (const given of stack) {
      const f = frame(asFrame(given));
      let next = nodes[at].children.get(f);
      if (next === undefined) {
        next = nodes.push({ parent: at, frame: f, self: new Array(columns).fill(0), children: new Map() }) - 1;
        nodes[at].children.set(f, next);
      }
      at = next;
      if (!rows.has(f)) rows.set(f, { self: new Array(columns).fill(0), total: new Array(columns).fill(0) });
      if (!seen.has(f)) values.forEach((v, c) => (/** @type {{total: number[]}} */ (rows.get(f)).total[c] += v));
      seen.add(f);
    }
    values.forEach((v, c) => {
      nodes[at].self[c] += v;
      const row = rows.get(nodes[at].frame);
      if (row) row.self[c] += v;
    });
  }
  const totals = Array.from({ length: columns }, (_, c) => samples.reduce((sum, s) => sum + s.values[c], 0));
  const meta = {
    title: "test.pb.gz", subtitle: "a test", generator: "vestal test", types, default_type: 0, diff: options.diff === true,
    totals, scale: new Array(columns).fill(1), nodes_total: nodes.length, nodes_pruned: 0, pruned_share: 0,
    functions_total: rows.size, notes: [], ...options.meta,
  };
  const table = [...rows].filter(([f]) => frames.list[f].kind !== "pruned");
  const list = frames.list;
  const words = {
    name: list.map((f) => str(f.name)), module: list.map((f) => str(f.module ?? "")), file: list.map((f) => str(f.file ?? "")),
    line: list.map((f) => f.line ?? 0), kind: list.map((f) => str(f.kind ?? (f === list[0] ? "" : "native"))),
  };
  const text = [...strings.keys()].map((s) => Buffer.from(s));
  const offsets = [0];
  for (const t of text) offsets.push(offsets[offsets.length - 1] + t.length);

  const metaBytes = Buffer.from(JSON.stringify(meta));
  /** @type {Uint8Array[]} */
  const parts = [];
  let size = 0;
  const put = (/** @type {ArrayBufferView} */ view) => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    parts.push(bytes, new Uint8Array((8 - (bytes.length % 8)) % 8));
    size += Math.ceil(bytes.length / 8) * 8;
  };
  const header = Buffer.alloc(8);
  header.write("VFT1");
  header.writeUInt32LE(metaBytes.length, 4);
  put(header);
  put(metaBytes);
  put(Uint32Array.of(nodes.length, list.length, text.length, table.length, columns, offsets[text.length], options.verdicts ? 1 : 0, 0));
  put(Uint32Array.from(nodes, (n) => n.parent));
  put(Uint32Array.from(nodes, (n) => n.frame));
  const runs = (/** @type {number[][]} */ perItem) => Float64Array.from(Array.from({ length: columns }, (_, c) => perItem.map((v) => v[c])).flat());
  put(runs(nodes.map((n) => n.self)));
  for (const w of [words.name, words.module, words.file, words.line, words.kind]) put(Uint32Array.from(w));
  put(Uint32Array.from(table, ([f]) => f));
  put(runs(table.map(([, r]) => r.self)));
  put(runs(table.map(([, r]) => r.total)));
  put(Uint32Array.from(offsets));
  put(Buffer.concat(text));
  if (options.verdicts) {
    const given = options.verdicts;
    put(Uint32Array.from(table, (_, i) => given[i] ?? 5));
    for (const value of [0.001, 0.1, 0.02]) put(new Float64Array(table.length).fill(value));
  }

  const out = new Uint8Array(size);
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** @param {string} template @param {Uint8Array} vft @param {string} title */
export function fillTemplate(template, vft, title) {
  const escaped = title.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const block = `<script type="application/octet-stream" id="vestal-data">${gzipSync(vft).toString("base64")}</script>`;
  return template.replace("<!--VESTAL-TITLE-->", () => escaped).replace("<!--VESTAL-DATA-->", () => block);
}
