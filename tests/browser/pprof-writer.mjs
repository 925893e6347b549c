// A small writer of pprof for tests: stacks (outermost first) with values in, bytes out.
import { gzipSync } from "node:zlib";

const varint = (value) => {
  const out = [];
  let n = BigInt(value);
  for (; n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  out.push(Number(n));
  return Buffer.from(out);
};
const bytes = (field, data) => Buffer.concat([varint((field << 3) | 2), varint(data.length), data]);
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const join = (...parts) => Buffer.concat(parts);

/**
 * @param {{ stack: { name: string, module?: string, file?: string, line?: number }[], values: number[] }[]} samples
 * @param {{ types: [string, string][], timeMs: number, durationMs: number }} options
 */
export function writePprof(samples, { types, timeMs, durationMs }) {
  const strings = new Map([["", 0]]);
  const str = (s) => strings.get(s) ?? (strings.set(s, strings.size), strings.size - 1);
  const ids = { location: new Map(), function: new Map(), mapping: new Map() };
  const id = (kind, key, value) => {
    if (!ids[kind].has(key)) ids[kind].set(key, { n: ids[kind].size + 1, ...value });
    return ids[kind].get(key).n;
  };
  const type = ([name, unit]) => join(number(1, str(name)), number(2, str(unit)));
  const head = types.map((t) => bytes(1, type(t)));
  const body = samples.map(({ stack, values }) => {
    const locations = [...stack].reverse().map((f) => {
      const mapping = id("mapping", f.module ?? "", {});
      const func = id("function", `${f.name}/${f.module}`, { name: str(f.name), file: str(f.file ?? "") });
      return id("location", `${f.name}/${f.module}/${f.line}`, { mapping, func, line: f.line ?? 0 });
    });
    return bytes(2, join(bytes(1, Buffer.concat(locations.map(varint))), bytes(2, Buffer.concat(values.map(varint)))));
  });
  const mappings = [...ids.mapping].map(([name, m]) => bytes(3, join(number(1, m.n), number(2, m.n << 20), number(3, (m.n + 1) << 20), number(5, str(name)))));
  const locations = [...ids.location.values()].map((l) => bytes(4, join(number(1, l.n), number(2, l.mapping), number(3, (l.mapping << 20) + l.n * 16), bytes(4, join(number(1, l.func), number(2, l.line))))));
  const functions = [...ids.function.values()].map((f) => bytes(5, join(number(1, f.n), number(2, f.name), number(3, f.name), number(4, f.file))));
  const times = [number(9, BigInt(Math.round(timeMs)) * 1000000n), number(10, BigInt(Math.round(durationMs)) * 1000000n), bytes(11, type(["cpu", "nanoseconds"])), number(12, 10000000)];
  const table = [...strings.keys()].map((s) => bytes(6, Buffer.from(s)));
  return gzipSync(join(...head, ...body, ...mappings, ...locations, ...functions, ...table, ...times));
}
