// Plots without a page: positions of boxes, and which dots share a colour.

import { expect, test } from "vitest";
import { xyPlot } from "../src/charts/make";
import type { Frame, Plot } from "../src/charts/plot";
import { Scale } from "../src/charts/scale";
import { Container } from "../src/data/container";
import { lightTheme } from "../src/draw/theme";

const columns: Float64Array[] = [];
const column = (values: number[]) => columns.push(Float64Array.from(values)) - 1;
const data = new Container({ columns: [], title: "" }, columns);
const count = { label: "processes", unit: "count" as const, log: true, base: 2 };
const seconds = { label: "time", unit: "seconds" as const, log: false };

function boxes(name: string, x: number[]) {
  const v = column(x.map(() => 1));
  const none = column([]);
  return { name, x: column(x), low: v, q1: v, median: v, q3: v, high: v, count: v, median_low: v, median_high: v, outlier_x: none, outlier_y: none, reference: null };
}

function frame(plot: Plot, width: number): Frame {
  const { x, y } = plot.home();
  return { x: new Scale(plot.x, x, 0, width), y: new Scale(plot.y, y, 100, 0), left: 0, top: 0, right: width, bottom: 100, theme: lightTheme() };
}

const middle = (plot: Plot, f: Frame, series: number, index: number) => {
  const point = plot.point(series, index);
  return f.x.px(point.x) + plot.offset!(f, point);
};

test("boxes of many series stand side by side within the axes", () => {
  const names = Array.from({ length: 12 }, (_, i) => `series ${i}`);
  const plot = xyPlot(data, { type: "boxes", x: count, y: seconds, series: names.map((name) => boxes(name, [2, 4, 8])) })!;
  const f = frame(plot, 300);
  const places = [0, 1, 2].flatMap((index) => names.map((_, series) => middle(plot, f, series, index)));
  expect(places[0]).toBeGreaterThan(0);
  expect(places[places.length - 1]).toBeLessThan(300);
  for (let i = 1; i < places.length; i++) expect(places[i]).toBeGreaterThan(places[i - 1]!);
});

test("a box that is alone at its place stands on it", () => {
  const plot = xyPlot(data, { type: "boxes", x: count, y: seconds, series: [boxes("a", [16, 256]), boxes("b", [64, 256])] })!;
  const f = frame(plot, 600);
  expect(middle(plot, f, 0, 0)).toBe(f.x.px(16));
  expect(middle(plot, f, 1, 0)).toBe(f.x.px(64));
  expect(middle(plot, f, 0, 1) + middle(plot, f, 1, 1)).toBeCloseTo(2 * f.x.px(256), 9);
});

test("of 31 sources seven have a colour, the rest share one and keep their names", () => {
  const series = Array.from({ length: 31 }, (_, i) => ({ name: `source ${i}`, x: column([i, i + 0.5]), y: column([1, 2]) }));
  const plot = xyPlot(data, { type: "scatter", x: seconds, y: seconds, series })!;
  expect(plot.series.map((s) => s.name)).toEqual([...Array.from({ length: 7 }, (_, i) => `source ${i}`), "24 others"]);
  expect(new Set(plot.series.map((s) => s.color(lightTheme()))).size).toBe(8);
  expect(plot.length(7)).toBe(48);
  expect([plot.point(7, 0), plot.point(7, 47)].map((point) => [point.title, point.x])).toEqual([["source 7", 7], ["source 30", 30.5]]);
  expect(plot.table().row(61)[0]).toBe("source 30");
});

test("a sum of the other series is grey and takes no colour from them", () => {
  const series = [true, false, false].map((sum, i) => ({ name: `series ${i}`, edges: column([1, 2, 3]), counts: column([i, 1]), sum }));
  const plot = xyPlot(data, { type: "histogram", x: seconds, y: count, series })!;
  const theme = lightTheme();
  expect(plot.series.map((s) => s.color(theme))).toEqual([theme.others, theme.series[0], theme.series[1]]);
});
