// Times in zones whose days and hours begin elsewhere, and on days on which clocks are changed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { between, clock, isRelative, local, tick, toMs, wholeTimes } from "../src/ui/time";

const ZONES = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Europe/Berlin", "Australia/Lord_Howe"];

function inZone<T>(zone: string, body: () => T): T {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    return body();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

test("a page reads times as the server does, in every zone", () => {
  const source = readFileSync("../tests/unit/query/test_when.c", "utf8");
  const now = Number(source.match(/#define NOW (\d+)LL/)?.[1]) / 1e6;
  const good = [...source.matchAll(/CHECK_INT\(when\("([^"]+)"\), (NOW|0)(?: ([-+]) ([\d *L]+))?\);/g)];
  const bad = [...(source.match(/bad\[\] = \{([^}]*)\}/)?.[1] ?? "").matchAll(/"([^"]*)"/g)].map((m) => m[1]);
  assert.ok(good.length >= 18 && bad.length >= 12, `${good.length} and ${bad.length} examples`);
  for (const zone of ZONES)
    inZone(zone, () => {
      for (const [, text, base, sign, off] of good) {
        const ns = (off ?? "0").replace(/L/g, "").split("*").reduce((product, n) => product * Number(n), 1);
        assert.equal(toMs(text, now), (base === "NOW" ? now : 0) + ((sign === "-" ? -1 : 1) * ns) / 1e6, `${text} in ${zone}`);
      }
      for (const text of bad) assert.ok(isNaN(toMs(text, now)), `${text} in ${zone}`);
    });
  assert.deepEqual(["now", "-1h", "now-1h", "+5m", "1763200000", "2026-11-15"].map(isRelative), [true, true, true, true, false, false]);
});

test("both ends of a range say their day, and their offset where clocks were changed in between", () => {
  const now = Date.UTC(2026, 10, 19, 12);
  const said = (zone: string, from: number, hours: number): string => inZone(zone, () => between(from, from + hours * 3600e3, now));
  assert.equal(said("Asia/Kathmandu", Date.UTC(2026, 10, 14, 18, 15), 24), "2026-11-15 00:00 – 2026-11-16 00:00");
  assert.equal(said("Asia/Kathmandu", Date.UTC(2026, 10, 14, 18, 15), 1), "2026-11-15 00:00 – 01:00");
  assert.equal(said("Asia/Kathmandu", Date.UTC(2026, 10, 18, 18, 15), 1), "00:00 – 01:00");
  assert.equal(said("America/St_Johns", Date.UTC(2026, 10, 1, 3), 1), "2026-11-01 00:30 – 01:30");
  // 02:00 was 01:00 again.
  assert.equal(said("America/St_Johns", Date.UTC(2026, 10, 1, 4), 1), "2026-11-01 01:30 −02:30 – 01:30 −03:30");
  assert.equal(said("Europe/Berlin", Date.UTC(2026, 9, 25, 0), 2), "2026-10-25 02:00 +02:00 – 03:00 +01:00");
  assert.equal(said("UTC", Date.UTC(2026, 9, 25, 0), 2), "2026-10-25 00:00 – 02:00");
});

test("an axis has whole hours and whole days of its zone, none twice and none left out", () => {
  for (const zone of ZONES)
    inZone(zone, () => {
      for (const every of [1, 10, 60, 600, 1800, 3600, 7200, 21600, 86400].map((s) => s * 1e3)) {
        const from = Date.UTC(2026, 9, 20, 7, 31, 7);
        const until = from + Math.min(16 * 86400e3, every * 5000);
        const found = wholeTimes(from, until, every);
        // The slow way: every quarter of an hour, minute or second.
        const step = every >= 900e3 ? 900e3 : every >= 60e3 ? 60e3 : 1e3;
        const wanted = [];
        for (let ms = Math.ceil(from / step) * step; ms < until; ms += step) {
          const d = new Date(ms);
          const days = Math.round(Date.UTC(d.getFullYear(), d.getMonth(), d.getDate()) / 86400e3);
          const seconds = days * 86400 + d.getHours() * 3600 + d.getMinutes() * 60 + d.getSeconds();
          if (seconds % (every / 1e3) === 0) wanted.push(ms);
        }
        assert.deepEqual(found, wanted, `${zone}, ${every / 1e3} s`);
      }
    });
});

test("a mark under an axis of days says the day where one begins", () => {
  inZone("Asia/Kathmandu", () => {
    const midnight = Date.UTC(2026, 10, 18, 18, 15);
    assert.equal(tick(midnight, 86400e3, true), "2026-11-19");
    assert.equal(tick(midnight, 6 * 3600e3, true), "2026-11-19");
    assert.equal(tick(midnight + 6 * 3600e3, 6 * 3600e3, true), "06:00");
    assert.equal(tick(midnight, 3600e3, false), "00:00");
    assert.equal(tick(midnight + 30e3, 30e3, false), "00:00:30");
    assert.equal(clock(midnight), "00:00");
    assert.equal(local(midnight, midnight + 3600e3), "00:00");
  });
});
