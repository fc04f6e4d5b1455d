// The distribution of values: cumulative, complementary on a log axis (for the tail), or as a density. Values are
// sorted, so a pixel costs one binary search, however many there are.

import type { Container } from "../data/container";
import type { Axis, DistributionPlot, Mark } from "../data/report";
import type { Painter } from "../draw/painter";
import { brief, count, exact } from "../format/number";
import { drawMarks, type Curve } from "./marks";
import { COLORS, seriesColors, type Frame, type Mode, type Plot, type Point, type Series, type TableSource } from "./plot";
import { coordinate, Extent, firstAbove, valueAt, type Range } from "./scale";

const STEPS = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1];
const MODES = ["CDF", "1 − CDF", "Density"];

interface Values { name: string; values: Float64Array; first: number; shares: number[] | null }

export function distributionPlot(data: Container, plot: DistributionPlot): Plot {
  // A log axis has no zero; zeros count in the shares but are not drawn.
  const all = plot.series.map((s): Values => {
    const values = finiteEnd(data.f64(s.values));
    return { name: s.name, values, first: plot.x.log ? firstAbove(values, 0) : 0, shares: null };
  });
  return new DistributionChart(plot, all, plot.marks ?? []);
}

class DistributionChart implements Plot {
  readonly x: Axis;
  readonly series: Series[];
  readonly mode: Mode;
  private edges: number[] = [];

  constructor(plot: DistributionPlot, private readonly all: Values[], private readonly marks: Mark[]) {
    this.x = plot.x;
    const colors = seriesColors(plot.series);
    this.series = all.map((s, i) => ({ name: s.name, visible: true, swatch: i < COLORS ? "line" as const : "dashed" as const, color: colors[i]! }));
    const mode: Mode = { names: MODES, current: 0, set: (index) => (mode.current = index) };
    this.mode = mode;
  }

  get y(): Axis {
    const label = ["share of values up to x", "share of values above x", "share of values in each bin"][this.mode.current]!;
    return { label, unit: "share", log: this.mode.current === 1 };
  }

  private shown(): [Values, number][] {
    return this.all.map((s, i): [Values, number] => [s, i]).filter(([s, i]) => this.series[i]!.visible && s.values.length > s.first);
  }

  home(): { x: Range; y: Range } {
    const x = new Extent(this.x);
    const y = new Extent(this.y);
    for (const [s] of this.shown()) {
      x.add(s.values[s.first]!);
      x.add(s.values[s.values.length - 1]!);
      if (this.mode.current === 1) y.add(1 / s.values.length);
      if (this.mode.current === 2) this.shares(s).forEach((v) => y.add(v));
    }
    for (const mark of this.marks) if (mark.x != null) x.add(mark.x);
    if (this.mode.current === 0) return { x: x.range(0.02), y: { lo: 0, hi: 1.02 } };
    if (this.mode.current === 1) y.add(1);
    return { x: x.range(0.02), y: y.range(0.04, true) };
  }

  draw(p: Painter, f: Frame): void {
    const curves: Curve[] = [];
    for (const [s, i] of this.shown()) {
      const color = this.series[i]!.color(f.theme);
      p.group(`series-${i}`, () => curves.push({ points: this.mode.current === 2 ? this.drawDensity(p, f, s, color) : this.drawSteps(p, f, s, color, i >= COLORS), dots: false }));
    }
    p.group("marks", () => drawMarks(p, f, this.marks, curves, f.theme.reference));
  }

  private drawSteps(p: Painter, f: Frame, s: Values, color: string, dashed: boolean): number[] {
    const points: number[] = [];
    let before = NaN;
    const width = Math.ceil(f.right - f.left);
    for (let c = 0; c <= width; c++) {
      const share = this.share(s, f.x.value(f.left + c));
      if (this.mode.current === 1 && share <= 0) {
        points.push(f.left + c, f.y.px(before), f.left + c, f.bottom + 4);
        break;
      }
      // Draws a step: the old height up to this pixel, then the new one.
      if (share !== before && before === before) points.push(f.left + c, f.y.px(before));
      if (share !== before || c === width) points.push(f.left + c, f.y.px(share));
      before = share;
    }
    p.path(points, { color, width: 2, ...(dashed ? { dash: [6, 4] } : {}) });
    return points;
  }

  private share(s: Values, value: number): number {
    const atMost = firstAbove(s.values, value) / s.values.length;
    return this.mode.current === 1 ? 1 - atMost : atMost;
  }

  private drawDensity(p: Painter, f: Frame, s: Values, color: string): number[] {
    const shares = this.shares(s);
    const edges = this.edges;
    const points = [f.x.at(edges[0]!), f.y.px(0)];
    shares.forEach((share, k) => points.push(f.x.at(edges[k]!), f.y.px(share), f.x.at(edges[k + 1]!), f.y.px(share)));
    points.push(f.x.at(edges[edges.length - 1]!), f.y.px(0));
    p.area(points, color, 0.2);
    p.path(points, { color, width: 1.75 });
    return points;
  }

  /**
   * Bins of equal width on the axis, the same for all series so that their heights are comparable. The width is the
   * narrowest that the Freedman-Diaconis rule gives for any series, limited to 12 to 160 bins.
   */
  private binEdges(): number[] {
    let [lo, hi, width] = [Infinity, -Infinity, Infinity];
    for (const { values, first } of this.all) {
      if (values.length <= first) continue;
      const at = (q: number) => coordinate(this.x, values[first + Math.round(q * (values.length - 1 - first))]!);
      lo = Math.min(lo, at(0));
      hi = Math.max(hi, at(1));
      const advised = (2 * (at(0.75) - at(0.25))) / Math.cbrt(values.length - first);
      if (advised > 0) width = Math.min(width, advised);
    }
    if (!(hi >= lo)) return [0, 1];
    if (hi === lo) return [lo - 0.5, hi + 0.5];
    const n = Math.max(12, Math.min(160, Math.ceil((hi - lo) / width)));
    return Array.from({ length: n + 1 }, (_, k) => lo + ((hi - lo) * k) / n);
  }

  private shares(s: Values): number[] {
    if (s.shares) return s.shares;
    this.edges = this.edges.length ? this.edges : this.binEdges();
    const n = this.edges.length - 1;
    let below = s.first;
    return (s.shares = Array.from({ length: n }, (_, k) => {
      const end = k === n - 1 ? s.values.length : firstAbove(s.values, valueAt(this.x, this.edges[k + 1]!), true);
      const share = (end - below) / s.values.length;
      below = Math.max(below, end);
      return share;
    }));
  }

  nearest(f: Frame, px: number, py: number): Point | null {
    let best: Point | null = null;
    let distance = Infinity;
    for (const [s, i] of this.shown()) {
      const at = Math.min(s.values.length - 1, Math.max(s.first, firstAbove(s.values, f.x.value(px)) - 1));
      const point = this.reading(s, i, at);
      const d = Math.abs(f.y.px(point.y) - py);
      if (d < distance) [distance, best] = [d, point];
    }
    return best;
  }

  private reading(s: Values, series: number, at: number, label?: string): Point {
    const value = s.values[at]!;
    const atMost = firstAbove(s.values, value);
    const n = s.values.length;
    const rows: [string, string][] = [
      [this.x.label, exact(value, this.x.unit)],
      ["at most this", `${exact(atMost / n, "share")} (${count(atMost)} of ${count(n)})`],
      ["above", exact((n - atMost) / n, "share")],
    ];
    return { series, index: at, x: value, y: this.height(s, value), title: label ? `${s.name}, ${label}` : s.name, rows };
  }

  private height(s: Values, value: number): number {
    if (this.mode.current < 2) return this.share(s, value);
    const shares = this.shares(s);
    const edges = this.edges;
    return shares[Math.max(0, Math.min(shares.length - 1, firstAbove(edges, coordinate(this.x, value)) - 1))]!;
  }

  length(): number {
    return STEPS.length;
  }

  point(series: number, index: number): Point {
    const s = this.all[series]!;
    if (s.values.length === 0) return { series, index, x: NaN, y: NaN, title: s.name, rows: [["values", "0"]] };
    const q = STEPS[index]!;
    // The smallest value that at least a share q of all values do not exceed.
    const at = Math.max(0, Math.ceil(q * s.values.length - 1e-9) - 1);
    const name = q === 0 ? "least" : q === 1 ? "greatest" : q === 0.5 ? "median" : `${exact(q, "share")} quantile`;
    return { ...this.reading(s, series, at, name), index };
  }

  nothing(): string | null {
    if (this.all.some((s) => s.values.length > s.first)) return null;
    return this.all.some((s) => s.values.length > 0) ? `Nothing to draw: every ${this.x.label} is 0.` : "Nothing to draw: there are no values.";
  }

  describe(): string {
    const parts = this.all.filter((s) => s.values.length).map((s) => {
      const at = (q: number) => brief(s.values[Math.max(0, Math.ceil(q * s.values.length) - 1)]!, this.x.unit);
      return `${s.name}, ${count(s.values.length)} values from ${at(0)} to ${at(1)}, median ${at(0.5)}, 99 % at most ${at(0.99)}`;
    });
    const marks = this.marks.length ? ` Marked: ${this.marks.map((mark) => mark.name).join(", ")}.` : "";
    return `Distribution of ${this.x.label}: ${parts.join("; ")}.${marks}`;
  }

  table(): TableSource {
    return {
      columns: ["series", "quantile", this.x.label, "at most this", "above"],
      length: this.all.length * STEPS.length,
      row: (i) => {
        const point = this.point(Math.floor(i / STEPS.length), i % STEPS.length);
        return [this.all[point.series]!.name, exact(STEPS[i % STEPS.length]!, "share"), ...point.rows.map(([, value]) => value)];
      },
    };
  }
}

function finiteEnd(values: Float64Array): Float64Array {
  let end = values.length;
  while (end > 0 && !Number.isFinite(values[end - 1]!)) end--;
  return end === values.length ? values : values.subarray(0, end);
}
