// Heat maps: cells extend halfway to their neighbours on the scales of the axes. If cells are smaller than pixels, a
// pixel shows its greatest value, since readers look for peaks.

import type { Container } from "../data/container";
import { ReportError } from "../data/container";
import type { Axis, HeatPlot } from "../data/report";
import { ramp } from "../draw/color";
import type { Painter } from "../draw/painter";
import { brief, count, exact } from "../format/number";
import { ticks, withEnds } from "../format/ticks";
import type { Frame, Plot, Point, Series, TableSource } from "./plot";
import { coordinate, Extent, firstAbove, Scale, type Range } from "./scale";

const COLORS = 64;
const BAR = 92; // room for the colour bar and its numbers

export function heatPlot(data: Container, plot: HeatPlot): Plot {
  const [xs, ys, values] = [data.f64(plot.xs), data.f64(plot.ys), data.f64(plot.values)];
  if (values.length !== xs.length * ys.length) throw new ReportError("A heat map needs a value for every x and y.");
  if (xs.length === 0 || ys.length === 0) throw new ReportError("This heat map has no cells.");
  return new HeatChart(plot, xs, ys, values);
}

class HeatChart implements Plot {
  readonly x;
  readonly y;
  readonly series: Series[] = [{ name: "", visible: true, swatch: "box", fixed: true, color: (t) => t.series[0]! }];
  readonly ends;
  private readonly value: Axis;
  private readonly extent: Range;
  private readonly xEdges: Float64Array;
  private readonly yEdges: Float64Array;

  constructor(plot: HeatPlot, private readonly xs: Float64Array, private readonly ys: Float64Array, private readonly values: Float64Array) {
    this.x = plot.x;
    this.y = plot.y;
    this.value = plot.value;
    const extent = new Extent(plot.value);
    extent.addAll(values);
    extent.addAll(plot.value.covers ?? []);
    this.extent = extent.range(0);
    this.ends = { x: [xs[0]!, xs[xs.length - 1]!], y: [ys[0]!, ys[ys.length - 1]!] };
    this.xEdges = edges(xs, plot.x);
    this.yEdges = edges(ys, plot.y);
  }

  rightMargin(): number {
    return BAR;
  }

  home(): { x: Range; y: Range } {
    const whole = (e: Float64Array): Range => ({ lo: Math.min(e[0]!, e[e.length - 1]!), hi: Math.max(e[0]!, e[e.length - 1]!) });
    return { x: whole(this.xEdges), y: whole(this.yEdges) };
  }

  private level(value: number): number {
    const share = (coordinate(this.value, value) - this.extent.lo) / (this.extent.hi - this.extent.lo);
    return share !== share ? 0 : 1 + Math.round(Math.max(0, Math.min(1, share)) * (COLORS - 1));
  }

  draw(p: Painter, f: Frame): void {
    const palette = ["", ...ramp(f.theme.heat, COLORS)];
    const columns = spans(this.xEdges, f.x, f.left, f.right);
    const rows = spans(this.yEdges, f.y, f.top, f.bottom);
    if (!columns.length || !rows.length) return;
    const index = new Uint8Array(columns.length * rows.length);
    rows.forEach((row, r) => columns.forEach((column, c) => (index[r * columns.length + c] = this.level(this.greatest(column, row)))));
    p.cells({
      columns: columns.length, rows: rows.length, index, palette,
      x: Float64Array.from([...columns.map((s) => s.from), columns[columns.length - 1]!.to]),
      top: Float64Array.from(rows, (s) => s.from),
      bottom: Float64Array.from(rows, (s) => s.to),
    });
    p.frame(f.left + 0.5, f.top + 0.5, f.right - f.left - 1, f.bottom - f.top - 1, { color: f.theme.grid });
  }

  /** Draws the colour bar, outside of the clipped plot area. */
  drawAround(p: Painter, f: Frame): void {
    const palette = ramp(f.theme.heat, COLORS);
    const [x, width] = [f.right + 16, 12];
    const scale = new Scale(this.value, this.extent, f.bottom, f.top);
    const step = (f.bottom - f.top) / COLORS;
    palette.forEach((color, k) => p.rect(x, f.bottom - (k + 1) * step, width, step + 0.6, color));
    p.frame(x, f.top, width, f.bottom - f.top, { color: f.theme.axis, width: 0.75 });
    const ends = [scale.lowValue, scale.highValue];
    for (const t of withEnds(this.value, ends, ticks(this.value, scale.lowValue, scale.highValue, Math.max(2, (f.bottom - f.top) / 44)))) {
      if (t.label) p.text(x + width + 6, scale.px(t.value), t.label, { color: f.theme.quiet, size: 12, baseline: "middle" });
    }
    p.text(f.right + BAR - 4, 4, this.value.label, { color: f.theme.ink, size: 12, align: "right", baseline: "top" });
  }

  private greatest(column: Span, row: Span): number {
    let most = NaN;
    for (let j = row.first; j <= row.last; j++) {
      for (let i = column.first; i <= column.last; i++) {
        const v = this.values[j * this.xs.length + i]!;
        if (!(v <= most) && v === v) most = v;
      }
    }
    return most;
  }

  nearest(f: Frame, px: number, py: number): Point | null {
    const i = cellAt(this.xEdges, f.x.coordinateOf(px));
    const j = cellAt(this.yEdges, f.y.coordinateOf(py));
    return i < 0 || j < 0 ? null : this.point(0, j * this.xs.length + i);
  }

  length(): number {
    return this.values.length;
  }

  neighbour(index: number, right: number, down: number): number {
    const [i, j] = [(index % this.xs.length) + right, Math.floor(index / this.xs.length) - down];
    const within = i >= 0 && i < this.xs.length && j >= 0 && j < this.ys.length;
    return within ? j * this.xs.length + i : index;
  }

  point(series: number, index: number): Point {
    const [i, j] = [index % this.xs.length, Math.floor(index / this.xs.length)];
    const rows: [string, string][] = [[this.x.label, at(this.x, this.xs[i]!)], [this.y.label, at(this.y, this.ys[j]!)]];
    return { series, index, x: this.xs[i]!, y: this.ys[j]!, title: `${this.value.label} ${exact(this.values[index]!, this.value.unit)}`, rows };
  }

  nothing(): string | null {
    return this.values.some((v) => v === v) ? null : "Nothing to draw: no cell has a value.";
  }

  describe(): string {
    let [least, most] = [-1, -1];
    this.values.forEach((v, i) => {
      if (v !== v) return;
      if (least < 0 || v < this.values[least]!) least = i;
      if (most < 0 || v > this.values[most]!) most = i;
    });
    if (most < 0) return `Heat map of ${this.value.label} without values.`;
    const where = (k: number) => `${brief(this.values[k]!, this.value.unit)} at ${this.x.label} ${at(this.x, this.xs[k % this.xs.length]!)}, ${this.y.label} ${at(this.y, this.ys[Math.floor(k / this.xs.length)]!)}`;
    return `Heat map of ${this.value.label}, ${count(this.xs.length)} by ${count(this.ys.length)} cells: least ${where(least)}; greatest ${where(most)}.`;
  }

  table(): TableSource {
    return {
      columns: [this.x.label, this.y.label, this.value.label],
      length: this.values.length,
      row: (k) => [at(this.x, this.xs[k % this.xs.length]!), at(this.y, this.ys[Math.floor(k / this.xs.length)]!), exact(this.values[k]!, this.value.unit)],
    };
  }
}

/** A position on an axis as text: its name, or its value if it has none. */
function at(axis: Axis, value: number): string {
  return axis.names ? axis.names[value] || "none" : exact(value, axis.unit);
}

interface Span { from: number; to: number; first: number; last: number }

/** The cells in view along one axis, from the low pixel up; cells smaller than a pixel are merged. */
function spans(e: Float64Array, scale: Scale, low: number, high: number): Span[] {
  const out: Span[] = [];
  const n = e.length - 1;
  const forwards = scale.at(e[n]!) > scale.at(e[0]!);
  for (let k = 0; k < n; k++) {
    const i = forwards ? k : n - 1 - k;
    const [a, b] = [scale.at(e[i]!), scale.at(e[i + 1]!)];
    const [from, to] = [Math.max(low, Math.min(a, b)), Math.min(high, Math.max(a, b))];
    if (to <= from) continue;
    const before = out[out.length - 1];
    if (before && before.to - before.from < 1) {
      before.to = to;
      before.first = Math.min(before.first, i);
      before.last = Math.max(before.last, i);
    } else out.push({ from, to, first: i, last: i });
  }
  return out;
}

function edges(centres: Float64Array, axis: Axis): Float64Array {
  const c = Array.from(centres, (v) => coordinate(axis, v));
  const n = c.length;
  const out = new Float64Array(n + 1);
  for (let i = 1; i < n; i++) out[i] = (c[i - 1]! + c[i]!) / 2;
  out[0] = n > 1 ? c[0]! - (c[1]! - c[0]!) / 2 : c[0]! - 0.5;
  out[n] = n > 1 ? c[n - 1]! + (c[n - 1]! - c[n - 2]!) / 2 : c[0]! + 0.5;
  return out;
}

function cellAt(e: Float64Array, at: number): number {
  const n = e.length - 1;
  if (e[n]! >= e[0]!) {
    const i = firstAbove(e, at) - 1;
    return i >= 0 && i < n ? i : -1;
  }
  for (let i = 0; i < n; i++) if (at <= e[i]! && at > e[i + 1]!) return i;
  return -1;
}
