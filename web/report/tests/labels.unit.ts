import { expect, test } from "vitest";
import { Labels } from "../src/charts/labels";

test("a name covers neither another nor what is marked, and stays in the chart", () => {
  const labels = new Labels({ left: 0, top: 0, width: 100, height: 30 });
  const at = (left: number, top: number) => ({ left, top, width: 60, height: 15 });
  labels.avoid({ left: 91, top: 16, width: 8, height: 8 });
  expect(labels.place([at(-5, 0), at(5, 0)])).toEqual(at(5, 0));
  expect(labels.place([at(10, 5), at(35, 15), at(20, 15)])).toEqual(at(20, 15));
  expect(labels.place([at(0, 0), at(0, 20)])).toBe(null);
});

test("a name covers a line only if it has no other place", () => {
  const labels = () => {
    const made = new Labels({ left: 0, top: 0, width: 100, height: 60 });
    made.avoidLine([0, 0, 100, 10, NaN, NaN, 1e4, 1e4]);
    return made;
  };
  const at = (left: number, top: number) => ({ left, top, width: 60, height: 15 });
  expect(labels().place([at(0, 0), at(0, 20)])).toEqual(at(0, 20));
  expect(labels().place([at(0, 0)])).toEqual(at(0, 0));
});
