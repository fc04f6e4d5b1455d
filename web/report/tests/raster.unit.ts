import { expect, test } from "vitest";
// @ts-expect-error the writer is plain JavaScript
import { random } from "./container.mjs";
import { activityAt, indexed, type Activities } from "../src/timeline/activities";
import { bandsOf, rasterise } from "../src/timeline/raster";

const KINDS = [{ name: "a", role: "computation" }, { name: "b", role: "wait" }, { name: "n", role: "noise" }] as const;

interface One { row: number; start: number; end: number; kind: number }

function activities(list: One[], rows: number): Activities {
  const n = list.length;
  return indexed({
    rows: Array.from({ length: rows }, (_, r) => `rank ${r}`), kinds: [...KINDS],
    row: Uint32Array.from(list, (o) => o.row), start: Float64Array.from(list, (o) => o.start), end: Float64Array.from(list, (o) => o.end),
    kind: Uint8Array.from(list, (o) => o.kind), peer: new Uint32Array(n), bytes: new Float64Array(n), tag: new Uint32Array(n),
  });
}

function sample(seed: number, rows: number, perRow: number, nested: boolean): One[] {
  const next = random(seed) as () => number;
  const list: One[] = [];
  for (let row = 0; row < rows; row++) {
    let t = next() * 10;
    for (let i = 0; i < perRow; i++) {
      const end = t + next() ** 3 * 5;
      list.push({ row, start: t, end, kind: next() < 0.02 ? 2 : next() < 0.6 ? 0 : 1 });
      t = nested ? t + next() * (end - t) * 1.5 : end + (next() < 0.1 ? next() * 3 : 0);
    }
  }
  return list;
}

/** The same by brute force: looks at every activity for every cell. */
function slowly(list: One[], t0: number, t1: number, columns: number, row0: number, row1: number): { index: number; sure: boolean }[] {
  const cell = (t1 - t0) / columns;
  return Array.from({ length: columns }, (_, c) => {
    const [from, to] = [t0 + c * cell, t0 + (c + 1) * cell];
    const time = [0, 0, 0];
    for (const o of list) {
      if (o.row < row0 || o.row >= row1) continue;
      time[o.kind]! += Math.max(0, Math.min(o.end, to) - Math.max(o.start, from));
    }
    const best = time[0] === 0 && time[1] === 0 ? 3 : time[0]! >= time[1]! ? 0 : 1;
    const share = time[2]! / cell / (row1 - row0);
    const level = share === 0 ? 0 : share < 0.15 ? 1 : share < 0.5 ? 2 : 3;
    const index = best === 3 && level === 0 ? 0 : 1 + best * 4 + level;
    // At the boundary between two answers, rounding decides; such cells are not compared.
    const tight = [0.15, 0.5].some((limit) => Math.abs(share - limit) < 1e-4) || time.some((t) => t > 0 && t < cell * 1e-4) || (best < 3 && Math.abs(time[0]! - time[1]!) < cell * 1e-4);
    return { index, sure: !tight };
  });
}

test.each([[1, 40, false], [2, 20_000, false], [3, 200, true], [4, 2000, true]])("cells are those of a plain sum (seed %d)", (seed, perRow, nested) => {
  const list = sample(seed, 3, perRow, nested);
  const a = activities(list, 3);
  let compared = 0;
  for (const [from, to] of [[0, 1], [0.2, 0.9], [0.5, 0.501], [0.4, 0.45]]) {
    const span = a.finish - a.begin;
    const [t0, t1] = [a.begin + from! * span, a.begin + to! * span];
    for (const band of [{ row0: 0, row1: 1 }, { row0: 0, row1: 3 }]) {
      const fast = rasterise(a, t0, t1, 97, [band]);
      slowly(list, t0, t1, 97, band.row0, band.row1).forEach(({ index, sure }, c) => {
        if (!sure) return;
        compared++;
        expect(fast[c], `cell ${c} of ${t0}..${t1}`).toBe(index);
      });
    }
  }
  expect(compared).toBeGreaterThan(300);
});

test("noise far smaller than a cell is seen, also without any length", () => {
  const a = activities([{ row: 0, start: 0, end: 1e9, kind: 0 }, { row: 0, start: 5e8, end: 5e8 + 1, kind: 2 }, { row: 0, start: 7e8, end: 7e8, kind: 2 }], 1);
  const cells = rasterise(a, 0, 1e9, 10, [{ row0: 0, row1: 1 }]);
  expect([...cells]).toEqual([1, 1, 1, 1, 1, 2, 1, 2, 1, 1]);
});

test("what is under the pointer: noise first, then the latest; also within others", () => {
  const a = activities([{ row: 0, start: 0, end: 100, kind: 0 }, { row: 0, start: 10, end: 20, kind: 2 }, { row: 0, start: 30, end: 35, kind: 1 }, { row: 1, start: 0, end: 5, kind: 1 }], 2);
  expect(activityAt(a, 0, 15, 0)).toBe(1);
  expect(activityAt(a, 0, 32, 0)).toBe(2);
  expect(activityAt(a, 0, 90, 0)).toBe(0);
  expect(activityAt(a, 0, 101, 0)).toBe(-1);
  expect(activityAt(a, 0, 101, 2)).toBe(0);
  expect(activityAt(a, 1, 3, 0)).toBe(3);
  expect(activityAt(a, 7, 3, 0)).toBe(-1);
});

test("activities out of order or of no kind are refused", () => {
  expect(() => activities([{ row: 0, start: 5, end: 6, kind: 0 }, { row: 0, start: 4, end: 6, kind: 0 }], 1)).toThrow(/not in order/);
  expect(() => activities([{ row: 0, start: 5, end: 6, kind: 9 }], 1)).toThrow(/not there/);
  expect(() => activities([{ row: 0, start: 5, end: 4, kind: 0 }], 1)).toThrow(/before it starts/);
});

test("rows thinner than a pixel share bands, every row in exactly one", () => {
  const { bands } = bandsOf({ t0: 0, t1: 1, row0: 0, row1: 1024 }, 500, 1024);
  expect(bands[0]).toEqual({ row0: 0, row1: 3 });
  expect(bands[bands.length - 1]!.row1).toBe(1024);
  expect(bands.reduce((n, band) => n + band.row1 - band.row0, 0)).toBe(1024);
});
