// Histograms with given bin counts: filled steps, drawn over each other.

import type { Container } from "../data/container";
import { ReportError } from "../data/container";
import type { HistogramPlot } from "../data/report";
import type { Painter } from "../draw/painter";
import { brief, exact, many } from "../format/number";
import { COLORS, seriesColors, type Frame, type Plot, type Point, type Series, type TableSource } from "./plot";
import { Extent, firstAbove, homeRange, valueAt, type Range } from "./scale";

interface Bins { name: string; edges: Float64Array; counts: Float64Array }

export function histogramPlot(data: Container, plot: HistogramPlot): Plot {
  const all = plot.series.map((s): Bins => ({ name: s.name, edges: data.f64(s.edges), counts: data.f64(s.counts) }));
  if (all.some((s) => s.edges.length !== s.counts.length + 1)) throw new ReportError("A histogram needs one edge more than it has counts.");
  return new HistogramChart(plot, all);
}

class HistogramChart implements Plot {
  readonly x;
  readonly y;
  readonly series: Series[];

  constructor(plot: HistogramPlot, private readonly all: Bins[]) {
    this.x = plot.x;
    this.y = plot.y;
    const colors = seriesColors(plot.series);
    this.series = all.map((s, i) => ({ name: s.name, visible: true, swatch: "box" as const, color: colors[i]! }));
  }

  home(): { x: Range; y: Range } {
    const x = new Extent(this.x);
    const y = new Extent(this.y);
    this.all.forEach((s, i) => {
      x.addAll(s.edges);
      if (this.series[i]!.visible) y.addAll(s.counts);
    });
    const range = y.range(0.05, true);
    // On a log axis, a bin with a count of one also needs a visible height.
    return { x: homeRange(this.x, x, 0.01), y: this.y.log ? { lo: range.lo - 0.3, hi: range.hi } : range };
  }

  draw(p: Painter, f: Frame): void {
    this.all.forEach((s, i) => {
      if (!this.series[i]!.visible || s.counts.length === 0) return;
      const color = this.series[i]!.color(f.theme);
      const floor = Math.min(f.bottom + 2, f.y.px(0));
      const left = (k: number) => Math.max(f.left - 2, f.x.px(s.edges[k]!));
      const points = [left(0), floor];
      s.counts.forEach((n, k) => {
        const y = Math.min(floor, f.y.px(n));
        points.push(left(k), y, left(k + 1), y);
      });
      points.push(left(s.counts.length), floor);
      p.group(`series-${i}`, () => {
        p.area(points, color, this.all.length > 1 ? 0.22 : 0.32);
        p.path(points, { color, width: 1.5, ...(i >= COLORS ? { dash: [6, 4] } : {}) });
      });
    });
  }

  nearest(f: Frame, px: number, py: number): Point | null {
    const value = f.x.value(px);
    let best: Point | null = null;
    let distance = Infinity;
    this.all.forEach((s, i) => {
      const k = firstAbove(s.edges, value) - 1;
      if (!this.series[i]!.visible || k < 0 || k >= s.counts.length) return;
      const d = Math.abs(f.y.px(s.counts[k]!) - py);
      if (d < distance) [distance, best] = [d, this.point(i, k)];
    });
    return best;
  }

  length(series: number): number {
    return this.all[series]?.counts.length ?? 0;
  }

  point(series: number, index: number): Point {
    const s = this.all[series]!;
    const [from, to] = [s.edges[index]!, s.edges[index + 1]!];
    const middle = this.x.log && from > 0 ? valueAt(this.x, (Math.log10(from) + Math.log10(to)) / 2) : this.x.log ? to : (from + to) / 2;
    const rows: [string, string][] = [
      [this.x.label, `${exact(from, this.x.unit)} – ${exact(to, this.x.unit)}`],
      [this.y.label, exact(s.counts[index]!, this.y.unit)],
    ];
    return { series, index, x: middle, y: s.counts[index]!, title: s.name, rows };
  }

  nothing(): string | null {
    return this.all.some((s) => s.counts.some((n) => n > 0)) ? null : "Nothing to draw: there are no values.";
  }

  describe(): string {
    const parts = this.all.filter((s) => s.counts.length).map((s) => {
      let top = 0;
      s.counts.forEach((n, k) => (top = n > s.counts[top]! ? k : top));
      return `${s.name}, ${many(s.counts.length, "bin")}, the fullest from ${brief(s.edges[top]!, this.x.unit)} to ${brief(s.edges[top + 1]!, this.x.unit)} with ${brief(s.counts[top]!, this.y.unit)}`;
    });
    return `Histogram of ${this.x.label}: ${parts.join("; ")}.`;
  }

  table(): TableSource {
    const places = this.all.flatMap((s) => Array.from(s.counts, (_, k) => [s, k] as const));
    return {
      columns: ["series", "from", "to", this.y.label],
      length: places.length,
      row: (i) => {
        const [s, k] = places[i]!;
        return [s.name, exact(s.edges[k]!, this.x.unit), exact(s.edges[k + 1]!, this.x.unit), exact(s.counts[k]!, this.y.unit)];
      },
    };
  }
}
