import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeVft, VftError } from "../src/flame";
import { writeVft } from "../../tests/browser/vft-writer.mjs";
import { modelOf } from "./helpers";

const bytes = (): Uint8Array<ArrayBuffer> =>
  writeVft([{ stack: [{ name: "main", module: "app", file: "main.c", line: 7 }, "wörk"], values: [3] }, { stack: ["main"], values: [1] }]);

const countsAt = (buffer: ArrayBuffer): number => Math.ceil((8 + new DataView(buffer).getUint32(4, true)) / 8) * 8;

test("decoder reads what the writer wrote", () => {
  const vft = decodeVft(bytes().buffer);
  assert.equal(vft.nodes, 4);
  assert.equal(vft.meta.types[0].unit, "nanoseconds");
  assert.deepEqual([...vft.parent], [0, 0, 1, 0]);
  assert.deepEqual([...vft.self[0]], [0, 0, 3, 1]);
  const name = (f: number): string => vft.strings.get(vft.frames.name[f]);
  assert.deepEqual([0, 1, 2, 3].map(name), ["all", "main", "wörk", "main"]);
  assert.equal(vft.frames.line[1], 7);
  assert.equal(vft.strings.get(0), "");
});

test("decoder refuses an unknown magic and a newer version", () => {
  const other = bytes();
  other[0] = 0x50;
  assert.throws(() => decodeVft(other.buffer), /does not begin/);
  const newer = bytes();
  newer[3] = 0x32;
  assert.throws(() => decodeVft(newer.buffer), /version 2/);
  assert.throws(() => decodeVft(new ArrayBuffer(0)), VftError);
});

test("decoder refuses every cut of a file", () => {
  const whole = bytes();
  for (let n = 0; n + 8 < whole.length; n += 3) assert.throws(() => decodeVft(whole.slice(0, n).buffer), VftError, `cut at ${n}`);
});

test("decoder refuses a child before its parent", () => {
  const b = bytes();
  new Uint32Array(b.buffer, countsAt(b.buffer) + 32)[1] = 3;
  assert.throws(() => decodeVft(b.buffer), /before its parent/);
});

test("decoder refuses a frame outside the table", () => {
  const b = bytes();
  new Uint32Array(b.buffer, countsAt(b.buffer) + 32 + 16)[2] = 99;
  assert.throws(() => decodeVft(b.buffer), /outside its table/);
});

test("decoder refuses counts that do not fit the types", () => {
  const b = bytes();
  new Uint32Array(b.buffer, countsAt(b.buffer))[4] = 2;
  assert.throws(() => decodeVft(b.buffer), /do not fit/);
});

test("decoder refuses values that are not numbers", () => {
  const b = bytes();
  new Float64Array(b.buffer, countsAt(b.buffer) + 64)[1] = NaN;
  assert.throws(() => decodeVft(b.buffer), /not a number/);
});

test("decoder survives random damage with a sentence or a tree", () => {
  let seed = 1;
  const random = (n: number): number => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) % n;
  for (let round = 0; round < 400; round++) {
    const b = bytes();
    for (let i = 0; i < 3; i++) b[random(b.length)] = random(256);
    try {
      decodeVft(b.buffer);
    } catch (e) {
      assert.ok(e instanceof VftError, String(e));
    }
  }
});

test("frames of one function are one function, the root is its own", () => {
  const model = modelOf([["all;work", 1], ["work", 2]]);
  assert.equal(new Set(model.funcOf).size, 3);
  assert.notEqual(model.funcOf[0], model.funcOf[1]);
});
