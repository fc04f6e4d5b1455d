// Scatter plots of up to millions of points: a few are drawn as circles, many are counted into cells whose colour
// intensity shows the count.

import type { Container } from "../data/container";
import { ReportError } from "../data/container";
import type { ScatterPlot } from "../data/report";
import { mix } from "../draw/color";
import type { Painter } from "../draw/painter";
import type { Theme } from "../draw/theme";
import { brief, count, exact } from "../format/number";
import { COLORS, noPoints, seriesColor, type Frame, type Plot, type Point, type Series, type TableSource } from "./plot";
import { Extent, firstAbove, homeRange, type Range } from "./scale";

/** Points of one colour. `parts` are the series that share it: where each begins, and its name. */
interface Cloud { name: string; x: Float64Array; y: Float64Array; cx: Float64Array; cy: Float64Array; parts: { from: number; name: string }[] }

const FEW = 4000;
const CELL = 2; // pixels
const LEVELS = 12;

export function scatterPlot(data: Container, plot: ScatterPlot): Plot {
  const clouds = plot.series.map((s): Cloud => {
    const [x, y] = [data.f64(s.x), data.f64(s.y)];
    if (x.length !== y.length) throw new ReportError("A scatter plot needs as many y as x.");
    return { name: s.name, x, y, cx: coordinates(x, plot.x.log), cy: coordinates(y, plot.y.log), parts: [{ from: 0, name: s.name }] };
  });
  return new ScatterChart(plot, folded(clouds));
}

/** With more series than colours, the first seven keep their own and the rest becomes one cloud. Important series come first. */
function folded(clouds: Cloud[]): Cloud[] {
  if (clouds.length <= COLORS) return clouds;
  const rest = clouds.slice(COLORS - 1);
  const joined = (column: "x" | "y" | "cx" | "cy") => {
    const out = new Float64Array(rest.reduce((n, s) => n + s.x.length, 0));
    rest.reduce((at, s) => (out.set(s[column], at), at + s.x.length), 0);
    return out;
  };
  let from = 0;
  const parts = rest.map((s) => ({ from: (from += s.x.length) - s.x.length, name: s.name }));
  const others = { name: `${count(rest.length)} others`, x: joined("x"), y: joined("y"), cx: joined("cx"), cy: joined("cy"), parts };
  return [...clouds.slice(0, COLORS - 1), others];
}

function nameOf(s: Cloud, index: number): string {
  return s.parts[firstAbove(s.parts.map((part) => part.from), index) - 1]?.name ?? s.name;
}

// Computes logarithms once, not in every frame.
function coordinates(values: Float64Array, log: boolean): Float64Array {
  return log ? values.map((v) => (v > 0 ? Math.log10(v) : NaN)) : values;
}

class ScatterChart implements Plot {
  readonly x;
  readonly y;
  readonly series: Series[];

  constructor(plot: ScatterPlot, private readonly clouds: Cloud[]) {
    this.x = plot.x;
    this.y = plot.y;
    this.series = clouds.map((s, i) => ({ name: s.name, visible: true, swatch: "dot" as const, color: s.parts.length > 1 ? (t: Theme) => t.others : seriesColor(i) }));
  }

  private shown(): [Cloud, number][] {
    return this.clouds.map((s, i): [Cloud, number] => [s, i]).filter(([, i]) => this.series[i]!.visible);
  }

  home(): { x: Range; y: Range } {
    const x = new Extent({ ...this.x, log: false });
    const y = new Extent({ ...this.y, log: false });
    for (const [s] of this.shown()) {
      x.addAll(s.cx);
      y.addAll(s.cy);
    }
    return { x: homeRange(this.x, x, 0.02), y: homeRange(this.y, y, 0.04) };
  }

  draw(p: Painter, f: Frame): void {
    for (const [s, i] of this.shown()) {
      const color = this.series[i]!.color(f.theme);
      p.group(`series-${i}`, () => {
        const few = this.few(f, s);
        if (few) p.circles(few, few.length > 1500 ? 1.8 : 2.6, { fill: color, opacity: few.length > 1500 ? 0.45 : 0.6 });
        else this.drawCells(p, f, s, color);
      });
    }
  }

  /** Pixels of the points in view, or null if there are too many. */
  private few(f: Frame, s: Cloud): number[] | null {
    const out: number[] = [];
    const { x, y } = f;
    for (let i = 0; i < s.cx.length; i++) {
      const cx = s.cx[i]!;
      const cy = s.cy[i]!;
      if (!(cx >= x.range.lo && cx <= x.range.hi && cy >= y.range.lo && cy <= y.range.hi)) continue;
      if (out.length >= 2 * FEW) return null;
      out.push(x.at(cx), y.at(cy));
    }
    return out;
  }

  private drawCells(p: Painter, f: Frame, s: Cloud, color: string): void {
    const columns = Math.max(1, Math.floor((f.right - f.left) / CELL));
    const rows = Math.max(1, Math.floor((f.bottom - f.top) / CELL));
    const counts = new Uint32Array(columns * rows);
    const { x, y } = f;
    const kx = columns / (x.range.hi - x.range.lo);
    const ky = rows / (y.range.hi - y.range.lo);
    let most = 0;
    for (let i = 0; i < s.cx.length; i++) {
      const c = (s.cx[i]! - x.range.lo) * kx;
      const r = (y.range.hi - s.cy[i]!) * ky;
      if (!(c >= 0 && c < columns && r >= 0 && r < rows)) continue;
      const n = ++counts[(r | 0) * columns + (c | 0)]!;
      if (n > most) most = n;
    }
    const index = new Uint8Array(counts.length);
    const depth = (LEVELS - 1) / Math.log(Math.max(2, most));
    for (let i = 0; i < counts.length; i++) if (counts[i]! > 0) index[i] = 1 + Math.round(Math.log(counts[i]!) * depth);
    const w = (f.right - f.left) / columns;
    const h = (f.bottom - f.top) / rows;
    p.cells({
      columns, rows, index,
      x: Float64Array.from({ length: columns + 1 }, (_, c) => f.left + c * w),
      top: Float64Array.from({ length: rows }, (_, r) => f.top + r * h),
      bottom: Float64Array.from({ length: rows }, (_, r) => f.top + (r + 1) * h),
      palette: ["", ...Array.from({ length: LEVELS }, (_, k) => mix(f.theme.paper, color, 0.35 + (0.65 * k) / (LEVELS - 1)))],
    });
  }

  nearest(f: Frame, px: number, py: number): Point | null {
    const { x, y } = f;
    const kx = (x.p1 - x.p0) / (x.range.hi - x.range.lo);
    const ky = (y.p1 - y.p0) / (y.range.hi - y.range.lo);
    const [ax, ay] = [x.coordinateOf(px), y.coordinateOf(py)];
    let distance = 30 * 30;
    let best: [number, number] | null = null;
    for (const [s, series] of this.shown()) {
      for (let i = 0; i < s.cx.length; i++) {
        const dx = (s.cx[i]! - ax) * kx;
        const dy = (s.cy[i]! - ay) * ky;
        const d = dx * dx + dy * dy;
        if (d < distance) [distance, best] = [d, [series, i]];
      }
    }
    return best ? this.point(best[0], best[1]) : null;
  }

  length(series: number): number {
    return this.clouds[series]?.x.length ?? 0;
  }

  point(series: number, index: number): Point {
    const s = this.clouds[series]!;
    const [x, y] = [s.x[index]!, s.y[index]!];
    return {
      series, index, x, y, title: nameOf(s, index),
      rows: [[this.x.label, exact(x, this.x.unit)], [this.y.label, exact(y, this.y.unit)]],
    };
  }

  nothing(): string | null {
    return noPoints(this.x, this.y, this.clouds);
  }

  describe(): string {
    const parts = this.clouds.filter((s) => s.x.length).map((s) => {
      const x = new Extent({ ...this.x, log: false });
      const y = new Extent({ ...this.y, log: false });
      x.addAll(s.x);
      y.addAll(s.y);
      return `${s.name}, ${count(s.x.length)} points, ${this.x.label} from ${brief(x.lo, this.x.unit)} to ${brief(x.hi, this.x.unit)}, ${this.y.label} from ${brief(y.lo, this.y.unit)} to ${brief(y.hi, this.y.unit)}`;
    });
    return `Scatter of ${this.y.label} against ${this.x.label}: ${parts.join("; ")}.`;
  }

  table(): TableSource {
    const starts = [0];
    for (const s of this.clouds) starts.push(starts[starts.length - 1]! + s.x.length);
    return {
      columns: ["series", this.x.label, this.y.label],
      length: starts[starts.length - 1]!,
      row: (i) => {
        const series = firstAbove(starts, i) - 1;
        const s = this.clouds[series]!;
        const k = i - starts[series]!;
        return [nameOf(s, k), exact(s.x[k]!, this.x.unit), exact(s.y[k]!, this.y.unit)];
      },
    };
  }
}
