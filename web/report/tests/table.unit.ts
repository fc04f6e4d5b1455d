// Rows in which all is 0 are folded.

import { expect, test } from "vitest";
import { isIdle, runs } from "../src/ui/table";

test("a row is idle if all its shares and slowdowns are 0, whatever its sizes and times", () => {
  const row = (...texts: string[]) => isIdle(texts.map((text) => ({ text, value: null })), texts.map(() => true));
  expect(row("1,024", "0 %", "+0 %", "48", "6.870 µs")).toBe(true);
  expect(row("1,024", "0 % *", "0 % to 0 %", "0\u202f%")).toBe(true);
  expect(row("1,024", "0 %", "+0.1 %")).toBe(false);
  expect(row("1,024", "0 %", "0 % to +0.1 %")).toBe(false);
  expect(row("1,024", "0 %", "3.4×")).toBe(false);
  // The first column names the row, and a row without shares is not one of no effect.
  expect(row("0 %", "12 %")).toBe(false);
  expect(row("0 %", "0 ns", "")).toBe(false);
  expect(isIdle([{ text: "a" }, { text: "0 %" }], [false, false])).toBe(false);
});

test("only neighbours are folded, and only several", () => {
  expect(runs([true, false, true, true, true, false])).toEqual([
    { from: 0, to: 1, folded: false }, { from: 1, to: 2, folded: false }, { from: 2, to: 5, folded: true }, { from: 5, to: 6, folded: false }]);
  expect(runs([])).toEqual([]);
});
