import { describe, expect, test } from "vitest";
import { brief, count, exact, grouped, many, picoseconds, tick } from "../src/format/number";

const plain = (text: string) => text.replace(/\u202f/g, " ");

describe("brief", () => {
  test.each([
    [5.33e-6, "seconds", "5.33 µs"], [0, "seconds", "0 s"], [1, "seconds", "1 s"], [0.9999, "seconds", "1 s"], [999.6e-6, "seconds", "1 ms"],
    [1e-3, "seconds", "1 ms"], [3600, "seconds", "3,600 s"], [-2.5e-3, "seconds", "−2.5 ms"], [1.2e-13, "seconds", "120 fs"],
    [1000, "hertz", "1 kHz"], [250, "hertz", "250 Hz"], [1.5e9, "hertz", "1.5 GHz"],
    [1024, "bytes", "1 KiB"], [1048576, "bytes", "1 MiB"], [1000, "bytes", "1,000 B"], [1536, "bytes", "1.5 KiB"],
    [2.5e9, "bytes per second", "2.5 GB/s"],
    [0.1, "share", "10 %"], [0.0123, "share", "1.23 %"], [9.9, "share", "990 %"], [9.9999, "share", "10×"], [49310, "share", "49,310×"], [0, "slowdown", "0 %"], [0.1, "slowdown", "+10 %"], [-0.05, "slowdown", "−5 %"], [0.999, "slowdown", "2×"], [9, "slowdown", "10×"], [148.05, "factor", "148×"], [2.5, "factor", "2.5×"],
    [1048576, "count", "1,048,576"], [12345.678, "none", "12,346"], [1e-7, "none", "1e−7"], [NaN, "seconds", "–"], [Infinity, "count", "–"],
  ] as const)("%f %s", (value, unit, wanted) => expect(plain(brief(value, unit))).toBe(wanted));
});

describe("exact", () => {
  test.each([
    [5.333333333e-6, "seconds", "5.33333 µs"], [148.05, "factor", "148.05×"], [16777217, "count", "16,777,217"], [24.73, "factor", "24.73×"],
    [0.123456789, "share", "12.3457 %"], [1048576, "bytes", "1 MiB"], [0.5, "count", "0.5"],
  ] as const)("%f %s", (value, unit, wanted) => expect(plain(exact(value, unit))).toBe(wanted));
});

describe("picoseconds", () => {
  test.each([
    [0, "0 s"], [1, "1 ps"], [999, "999 ps"], [1000, "1 ns"], [5330000, "5.33 µs"], [1234567891, "1.234567891 ms"],
    [9007199254740991, "9,007.199254740991 s"], [-1500, "−1.5 ns"], [NaN, "–"],
  ])("%d", (value, wanted) => expect(plain(picoseconds(value))).toBe(wanted));
});

test("labels of one axis share prefix and decimals", () => {
  const labels = [0, 0.5e-3, 1e-3, 1.5e-3].map((v) => plain(tick(v, "seconds", 0.5e-3, 1.5e-3)));
  expect(labels).toEqual(["0.0 ms", "0.5 ms", "1.0 ms", "1.5 ms"]);
  expect(plain(tick(0.25, "share", 0.05, 1))).toBe("25 %");
  expect(tick(-2, "none", 1, 2)).toBe("−2");
  expect([0, 4, 9, 0.5].map((v) => plain(tick(v, "slowdown", 5, 20)))).toEqual(["0 %", "5×", "10×", "+50 %"]);
});

test("groups, zeros, plurals", () => {
  expect(grouped(1234567.1, 3)).toBe("1,234,567.1");
  expect(grouped(-0.0001, 2)).toBe("0");
  expect(count(999)).toBe("999");
  expect(many(1, "row")).toBe("1 row");
  expect(many(2000, "activity", "activities")).toBe("2,000 activities");
});
