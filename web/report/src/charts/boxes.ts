// Box plots over processes: box, whiskers, outliers, the confidence interval of the median as a narrow bar, and the
// noise-free run as a separate line.

import type { Container } from "../data/container";
import type { BoxesPlot } from "../data/report";
import type { Painter } from "../draw/painter";
import { brief, count, exact } from "../format/number";
import { COLORS, nearestOf, noPoints, seriesColor, type Frame, type Plot, type Point, type Series, type TableSource } from "./plot";
import { coordinate, Extent, type Range } from "./scale";

const WIDEST = 30; // largest width of a box and its margins, in pixels
const FILLED = 0.72; // share of the space between two positions

interface Boxes {
  name: string;
  x: Float64Array;
  low: Float64Array;
  q1: Float64Array;
  median: Float64Array;
  q3: Float64Array;
  high: Float64Array;
  count: Float64Array;
  medianLow: Float64Array;
  medianHigh: Float64Array;
  outlierX: Float64Array;
  outlierY: Float64Array;
  reference: Float64Array | null;
}

export function boxesPlot(data: Container, plot: BoxesPlot): Plot {
  const all = plot.series.map((s): Boxes => ({
    name: s.name,
    x: data.f64(s.x), low: data.f64(s.low), q1: data.f64(s.q1), median: data.f64(s.median), q3: data.f64(s.q3),
    high: data.f64(s.high), count: data.f64(s.count), medianLow: data.f64(s.median_low), medianHigh: data.f64(s.median_high),
    outlierX: data.f64(s.outlier_x), outlierY: data.f64(s.outlier_y),
    reference: s.reference == null ? null : data.f64(s.reference),
  }));
  return new BoxesChart(plot, all);
}

class BoxesChart implements Plot {
  readonly x;
  readonly y;
  readonly series: Series[];
  private readonly spacing: number;

  constructor(plot: BoxesPlot, private readonly all: Boxes[]) {
    this.x = plot.x;
    this.y = plot.y;
    this.series = all.map((s, i) => ({ name: s.name, visible: true, swatch: "box" as const, color: seriesColor(i) }));
    if (all.some((s) => s.reference)) {
      this.series.push({ name: "without noise", visible: true, swatch: "line", color: (t) => t.reference });
    }
    this.spacing = smallestGap(all.flatMap((s) => Array.from(s.x, (v) => coordinate(plot.x, v))));
  }

  private get referenceShown(): boolean {
    return this.series[this.all.length]?.visible === true;
  }

  home(): { x: Range; y: Range } {
    const x = new Extent(this.x);
    const y = new Extent(this.y);
    this.all.forEach((s, i) => {
      x.addAll(s.x);
      if (!this.series[i]!.visible) return;
      for (const column of [s.low, s.high, s.outlierY]) y.addAll(column);
      if (s.reference && this.referenceShown) y.addAll(s.reference);
    });
    const range = x.range(0);
    const margin = Math.min(this.spacing, range.hi - range.lo) * 0.6;
    return { x: { lo: range.lo - margin, hi: range.hi + margin }, y: y.range(0.05, y.lo >= 0) };
  }

  /** Places the boxes of several series at one x side by side around it, within the space to the next x; a single box is centred. */
  private slot(f: Frame): { width: number; offset: (series: number, x: number) => number } {
    const standing = new Map<number, number[]>();
    this.all.forEach((s, i) => {
      if (!this.series[i]!.visible) return;
      s.x.forEach((x) => {
        const here = standing.get(x);
        if (!here) standing.set(x, [i]);
        else if (here[here.length - 1] !== i) here.push(i);
      });
    });
    let most = 1;
    standing.forEach((here) => (most = Math.max(most, here.length)));
    const each = Math.min(WIDEST, (f.x.length(this.spacing) * FILLED) / most);
    return {
      width: Math.max(1.5, each * 0.82),
      offset: (series, x) => {
        const here = standing.get(x) ?? [];
        const place = here.indexOf(series);
        return place < 0 ? 0 : (place - (here.length - 1) / 2) * each;
      },
    };
  }

  offset(f: Frame, point: Point): number {
    return this.slot(f).offset(point.series, point.x);
  }

  draw(p: Painter, f: Frame): void {
    const slot = this.slot(f);
    this.all.forEach((s, i) => {
      if (!this.series[i]!.visible) return;
      const color = this.series[i]!.color(f.theme);
      p.group(`series-${i}`, () => {
        this.drawOutliers(p, f, s, color, (x) => slot.offset(i, x));
        for (let k = 0; k < s.x.length; k++) this.drawBox(p, f, s, k, color, f.x.px(s.x[k]!) + slot.offset(i, s.x[k]!), slot.width, i >= COLORS);
      });
    });
    if (this.referenceShown) p.group("reference", () => this.all.forEach((s, i) => this.drawReference(p, f, s, i)));
  }

  private drawBox(p: Painter, f: Frame, s: Boxes, k: number, color: string, x: number, width: number, dashed: boolean): void {
    const [low, q1, median, q3, high] = [s.low, s.q1, s.median, s.q3, s.high].map((c) => f.y.px(c[k]!)) as [number, number, number, number, number];
    if (!Number.isFinite(median)) return;
    const half = width / 2;
    p.line(x, low, x, q1, { color, opacity: 0.9 });
    p.line(x, q3, x, high, { color, opacity: 0.9 });
    p.line(x - half * 0.5, low, x + half * 0.5, low, { color });
    p.line(x - half * 0.5, high, x + half * 0.5, high, { color });
    // A box without height would vanish, so it is at least one pixel high.
    const height = Math.max(1, q1 - q3);
    p.rect(x - half, q3, width, height, f.theme.paper);
    p.rect(x - half, q3, width, height, color, f.theme.dark ? 0.34 : 0.24);
    p.frame(x - half, q3, width, height, { color, width: 1.25, ...(dashed ? { dash: [5, 3] } : {}) });
    const [from, to] = [f.y.px(s.medianHigh[k]!), f.y.px(s.medianLow[k]!)];
    if (Number.isFinite(from) && Number.isFinite(to) && to - from > 1) p.rect(x - half * 0.45, from, half * 0.9, to - from, color, 0.5);
    p.line(x - half, median, x + half, median, { color, width: 2.5 });
  }

  // Draws at most one circle per 2 × 2 pixels: a thousand outliers on one spot look like one anyway.
  private drawOutliers(p: Painter, f: Frame, s: Boxes, color: string, offset: (x: number) => number): void {
    const seen = new Set<number>();
    const centres: number[] = [];
    for (let i = 0; i < s.outlierX.length; i++) {
      const x = f.x.px(s.outlierX[i]!) + offset(s.outlierX[i]!);
      const y = f.y.px(s.outlierY[i]!);
      if (!(x > f.left - 4 && x < f.right + 4 && y > f.top - 4 && y < f.bottom + 4)) continue;
      const key = (Math.round(x) << 14) | ((y / 2) | 0);
      if (seen.has(key)) continue;
      seen.add(key);
      centres.push(x, y);
    }
    p.circles(centres, 1.8, { stroke: { color, width: 0.9 }, opacity: 0.65 });
  }

  private drawReference(p: Painter, f: Frame, s: Boxes, i: number): void {
    if (!s.reference || !this.series[i]!.visible) return;
    const points: number[] = [];
    for (let k = 0; k < s.x.length; k++) points.push(f.x.px(s.x[k]!), f.y.px(s.reference[k]!));
    p.path(points, { color: f.theme.reference, width: 1.75 });
    p.circles(points, 2, { fill: f.theme.reference });
  }

  nearest(f: Frame, px: number, py: number): Point | null {
    const slot = this.slot(f);
    let best: [number, number] | null = null;
    let distance = Infinity;
    this.all.forEach((s, i) => {
      if (!this.series[i]!.visible) return;
      for (let k = 0; k < s.x.length; k++) {
        const dx = Math.abs(f.x.px(s.x[k]!) + slot.offset(i, s.x[k]!) - px);
        // Anywhere above or below a box selects it; height only decides between boxes at the same x.
        const dy = Math.abs(f.y.px(s.median[k]!) - py) * 0.02;
        if (dx + dy < distance) [distance, best] = [dx + dy, [i, k]];
      }
    });
    return best ? this.point(best[0], best[1]) : nearestOf(this, f, px, py);
  }

  length(series: number): number {
    return this.all[series]?.x.length ?? 0;
  }

  point(series: number, index: number): Point {
    const s = this.all[series]!;
    const y = (column: Float64Array) => exact(column[index]!, this.y.unit);
    const rows: [string, string][] = [
      ["median", y(s.median)],
      ["its interval", `${y(s.medianLow)} – ${y(s.medianHigh)}`],
      ["quartiles", `${y(s.q1)} – ${y(s.q3)}`],
      ["whiskers", `${y(s.low)} – ${y(s.high)}`],
      ["values", count(s.count[index]!)],
    ];
    const outliers = this.outliersAt(s, s.x[index]!);
    if (outliers) rows.push(["outliers", count(outliers)]);
    if (s.reference) rows.push(["without noise", y(s.reference)]);
    return { series, index, x: s.x[index]!, y: s.median[index]!, title: `${s.name}, ${this.x.label} ${exact(s.x[index]!, this.x.unit)}`, rows };
  }

  private outliersAt(s: Boxes, x: number): number {
    let n = 0;
    for (let i = 0; i < s.outlierX.length; i++) if (s.outlierX[i] === x) n++;
    return n;
  }

  nothing(): string | null {
    return noPoints(this.x, this.y, this.all.map((s) => ({ x: s.x, y: s.median })));
  }

  describe(): string {
    const parts = this.all.filter((s) => s.x.length).map((s) => {
      const last = s.x.length - 1;
      return `${s.name} has a median of ${brief(s.median[0]!, this.y.unit)} at ${exact(s.x[0]!, this.x.unit)} and ${brief(s.median[last]!, this.y.unit)} at ${exact(s.x[last]!, this.x.unit)}`;
    });
    return `Box plots of ${this.y.label} over ${this.x.label}: ${parts.join("; ")}.`;
  }

  table(): TableSource {
    const places = this.all.flatMap((s) => Array.from(s.x, (_, k) => [s, k] as const));
    return {
      columns: ["series", this.x.label, "low whisker", "first quartile", "median", "median from", "median to", "third quartile", "high whisker", "values", "without noise"],
      length: places.length,
      row: (i) => {
        const [s, k] = places[i]!;
        const y = (c: Float64Array) => exact(c[k]!, this.y.unit);
        return [s.name, exact(s.x[k]!, this.x.unit), y(s.low), y(s.q1), y(s.median), y(s.medianLow), y(s.medianHigh), y(s.q3), y(s.high), count(s.count[k]!), s.reference ? y(s.reference) : "–"];
      },
    };
  }
}

function smallestGap(coordinates: number[]): number {
  const sorted = [...new Set(coordinates)].filter(Number.isFinite).sort((a, b) => a - b);
  let gap = Infinity;
  for (let i = 1; i < sorted.length; i++) {
    const d = sorted[i]! - sorted[i - 1]!;
    if (d > 1e-9) gap = Math.min(gap, d);
  }
  return Number.isFinite(gap) ? gap : 0.5;
}
