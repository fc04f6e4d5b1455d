// Pictures (crates/report) and the page are two programs that draw the same description. Axis ranges, tick positions
// and tick labels must agree; crates/report/src/charts/plot/agreement.rs wrote the numbers.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { xyPlot } from "../src/charts/make";
import { Scale, type Range } from "../src/charts/scale";
import { decode } from "../src/data/container";
import type { Axis, ChartBlock } from "../src/data/report";
import { ticks, withEnds } from "../src/format/ticks";

interface Described { low: number; high: number; ticks: [number, string][] }

const read = (name: string) => readFileSync(new URL(`agreement/${name}`, import.meta.url));
const wanted = JSON.parse(read("axes.json").toString("utf8")) as { room: number; axes: Record<string, Described[]> };
const data = await decode(read("plots.page").toString("base64"));
const charts = data.header.sections![0]!.blocks as ChartBlock[];

function described(axis: Axis, range: Range, ends: number[] = []): Described {
  const scale = new Scale(axis, range, 0, 1);
  const [low, high] = [scale.lowValue, scale.highValue];
  const seen = ends.filter((end) => end >= low && end <= high);
  const found = withEnds(axis, seen, ticks(axis, low, high, wanted.room));
  return { low, high, ticks: found.map((t) => [t.value, t.label.replace(/\u202f/g, " ")]) };
}

function near(found: number, value: number): boolean {
  return Math.abs(found - value) <= 1e-12 * Math.max(Math.abs(found), Math.abs(value));
}

test("there is a chart for every description", () => {
  expect(charts.map((chart) => chart.title).sort()).toEqual(Object.keys(wanted.axes).sort());
});

for (const chart of charts) {
  test(chart.title, () => {
    const plot = xyPlot(data, chart.plot as Parameters<typeof xyPlot>[1])!;
    const home = plot.home();
    const found = [described(plot.x, home.x, plot.ends?.x)];
    if (!plot.categories) found.push(described(plot.y, home.y, plot.ends?.y));
    const expected = wanted.axes[chart.title]!;
    expect(found.length).toBe(expected.length);
    found.forEach((axis, i) => {
      const pictured = expected[i]!;
      expect(axis.ticks.map(([, label]) => label)).toEqual(pictured.ticks.map(([, label]) => label));
      expect([axis.low, axis.high].every((end, k) => near(end, [pictured.low, pictured.high][k]!)), `${axis.low} to ${axis.high}, pictured ${pictured.low} to ${pictured.high}`).toBe(true);
      axis.ticks.forEach(([value], k) => expect(near(value, pictured.ticks[k]![0]), `${value}, pictured ${pictured.ticks[k]![0]}`).toBe(true));
    });
  });
}
