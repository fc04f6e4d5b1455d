// Plots without a page: positions of boxes, and which dots share a colour.

import { expect, test } from "vitest";
import { xyPlot } from "../src/charts/make";
import type { Frame, Plot } from "../src/charts/plot";
import { Scale } from "../src/charts/scale";
import { Container } from "../src/data/container";
import type { Painter } from "../src/draw/painter";
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
  return { x: new Scale(plot.x, x, 0, width), y: new Scale(plot.y, y, 100, 0), left: 0, top: 0, right: width, bottom: 100, width, theme: lightTheme() };
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

const NO_SERIES = { type: "lines", x: count, y: seconds, series: [] } as const;

test("where there is nothing to draw, a sentence says why", () => {
  const log = { label: "slowdown", unit: "slowdown" as const, log: true };
  const line = (y: number[]) => ({ name: "a", role: "simulated" as const, x: column(y.map((_, i) => i + 1)), y: column(y), low: null, high: null });
  const bar = (value: number) => ({ name: "tick", value, low: null, high: null });
  const said = (plot: Parameters<typeof xyPlot>[1]) => xyPlot(data, plot)!.nothing();
  expect(said({ ...NO_SERIES, series: [] })).toBe("Nothing to draw: there are no values.");
  expect(said({ type: "lines", x: count, y: log, series: [line([0, 0])] })).toBe("Nothing to draw: every slowdown is 0.");
  expect(said({ type: "lines", x: count, y: log, series: [line([0, 0.2])] })).toBe(null);
  expect(said({ type: "lines", x: count, y: seconds, series: [line([0, 0])] })).toBe(null);
  expect(said({ type: "scatter", x: seconds, y: seconds, series: [{ name: "a", x: column([]), y: column([]) }] })).toBe("Nothing to draw: there are no values.");
  expect(said({ type: "bars", x: { ...seconds, label: "time saved" }, bars: [bar(0), bar(0)] })).toBe("Nothing to draw: time saved is 0 in all 2 cases.");
  expect(said({ type: "bars", x: seconds, bars: [bar(0), bar(1)] })).toBe(null);
  expect(said({ type: "distribution", x: log, series: [{ name: "a", values: column([0, 0]) }] })).toBe("Nothing to draw: every slowdown is 0.");
  expect(said({ type: "histogram", x: seconds, y: count, series: [{ name: "a", edges: column([0, 1]), counts: column([0]) }] })).toBe("Nothing to draw: there are no values.");
  expect(said({ type: "heat", x: seconds, y: seconds, value: seconds, xs: column([1]), ys: column([1]), values: column([NaN]) })).toBe("Nothing to draw: no cell has a value.");
});

test("numbers of bars stay where they are when the chart is zoomed", () => {
  const bars = [{ name: "tick", value: 0.4, low: 0.3, high: 0.5, note: "leaves 2 %" }, { name: "daemon", value: 0.01, low: null, high: null, note: "" }];
  const plot = xyPlot(data, { type: "bars", x: { label: "gain", unit: "share", log: false }, bars })!;
  const texts = (f: Frame) => {
    const out: [number, number, string][] = [];
    plot.drawAround!({ text: (x: number, y: number, text: string) => out.push([x, y, text]) } as unknown as Painter, f);
    return out;
  };
  const { y } = plot.home();
  const at = (lo: number, hi: number): Frame => ({ x: new Scale(plot.x, { lo, hi }, 100, 600), y: new Scale(plot.y, y, 0, 100), left: 100, top: 0, right: 600, bottom: 100, width: 760, theme: lightTheme() });
  const home = texts(at(0, 0.5));
  expect(home.map(([, , text]) => text.replace(/[\u202f\u00a0]/g, " "))).toEqual(["40 %", "tick", "leaves 2 %", "1 %", "daemon"]);
  expect(home.map(([x]) => x > 600)).toEqual([true, false, true, true, false]);
  expect(texts(at(0, 0.02))).toEqual(home);
});
