import { expect, test } from "vitest";
import type { Axis } from "../src/data/report";
import { ticks, withEnds } from "../src/format/ticks";

const axis = (more: Partial<Axis>): Axis => ({ label: "", unit: "none", log: false, ...more });
const labels = (list: { label: string }[]) => list.map((t) => t.label.replace(/\u202f/g, " ")).filter(Boolean);

test("linear steps are one, two or five", () => {
  expect(labels(ticks(axis({}), 0, 10, 5))).toEqual(["0", "2", "4", "6", "8", "10"]);
  expect(labels(ticks(axis({ unit: "share" }), 0, 1, 4))).toEqual(["0 %", "50 %", "100 %"]);
});

test("ends have ticks, and none stands too near", () => {
  const steps = axis({ unit: "count" });
  expect(labels(withEnds(steps, [0, 19], ticks(steps, -0.5, 19.5, 5)))).toEqual(["0", "5", "10", "15", "19"]);
  expect(labels(withEnds(steps, [0, 21], ticks(steps, -0.5, 21.5, 5)))).toEqual(["0", "5", "10", "15", "21"]);
  expect(labels(withEnds(steps, [], ticks(steps, 0, 2, 10)))).toEqual(["0", "1", "2"]);
  expect(labels(withEnds(steps, [3, 3], ticks(steps, 2.5, 3.5, 5)))).toEqual(["3"]);
});

test("names stand at even distances; empty ones have no tick", () => {
  const steps = axis({ unit: "count", names: ["16", "", "21", "22", "23"] });
  expect(ticks(steps, -0.5, 4.5, 9).map((t) => [t.value, t.label])).toEqual([[0, "16"], [2, "21"], [3, "22"], [4, "23"]]);
  expect(labels(withEnds(steps, [0, 4], ticks(steps, -0.5, 4.5, 2)))).toEqual(["16", "22"]);
  expect(labels(ticks(steps, 1.5, 3.2, 9))).toEqual(["21", "22"]);
});

test("steps of bytes are whole in their prefix", () => {
  expect(labels(ticks(axis({ unit: "bytes" }), 0, 5e6, 5))).toEqual(["0 MiB", "1 MiB", "2 MiB", "3 MiB", "4 MiB"]);
});

test("shares beyond ten wholes are factors", () => {
  expect(labels(ticks(axis({ unit: "share" }), 0, 40, 4))).toEqual(["0×", "10×", "20×", "30×", "40×"]);
  expect(labels(ticks(axis({ unit: "slowdown", log: true }), 0.1, 100, 9))).toEqual(["+10 %", "2×", "10×", "100×"]);
  expect(labels(ticks(axis({ unit: "share", log: true }), 0.01, 1000, 9))).toEqual(["1 %", "10 %", "100 %", "10×", "100×", "1,000×"]);
});

test("counts have no fractions", () => {
  expect(labels(ticks(axis({ unit: "count" }), 0, 2, 10))).toEqual(["0", "1", "2"]);
});

test("powers of two, every second labelled where room is short", () => {
  const found = ticks(axis({ log: true, base: 2, unit: "count" }), 1.5, 70, 4);
  expect(found.map((t) => t.value)).toEqual([2, 4, 8, 16, 32, 64]);
  expect(labels(found)).toEqual(["4", "16", "64"]);
});

test("decades with their minor ticks", () => {
  const found = ticks(axis({ log: true, unit: "seconds" }), 1e-6, 1e-3, 5);
  expect(labels(found)).toEqual(["1 µs", "10 µs", "100 µs", "1 ms"]);
  expect(found.length).toBe(28);
});

test("a log axis within a decade has even steps; an empty range has none", () => {
  expect(labels(ticks(axis({ log: true }), 2, 4, 4))).toEqual(["2.0", "2.5", "3.0", "3.5", "4.0"]);
  expect(ticks(axis({}), 1, 1, 5)).toEqual([]);
});
