// Lines with bands for their intervals; published values as markers only; marks as labelled lines across the plot.

import type { Container } from "../data/container";
import type { LinesPlot, Mark, Role } from "../data/report";
import type { Painter } from "../draw/painter";
import { brief, exact, many } from "../format/number";
import { drawMarks, type Curve } from "./marks";
import { COLORS, nearestOf, noPoints, seriesColor, type Frame, type Plot, type Point, type Series, type Swatch, type TableSource } from "./plot";
import { Extent, firstAbove, type Range } from "./scale";

interface Line { name: string; role: Role; x: Float64Array; y: Float64Array; low: Float64Array | null; high: Float64Array | null; ascending: boolean }

const SWATCH: Record<Role, Swatch> = { simulated: "line", measured: "dot", published: "diamond", reference: "dashed" };

export function linesPlot(data: Container, plot: LinesPlot): Plot {
  const lines = plot.series.map((s): Line => {
    const x = data.f64(s.x);
    return {
      name: s.name, role: s.role, x, y: data.f64(s.y), ascending: isAscending(x),
      low: s.low == null ? null : data.f64(s.low), high: s.high == null ? null : data.f64(s.high),
    };
  });
  return new LinesChart(plot, lines, plot.marks ?? []);
}

class LinesChart implements Plot {
  readonly x;
  readonly y;
  readonly series: Series[];

  constructor(plot: LinesPlot, private readonly lines: Line[], private readonly marks: Mark[]) {
    this.x = plot.x;
    this.y = plot.y;
    let next = 0;
    this.series = lines.map((line) => {
      const [reference, again] = [line.role === "reference", next >= COLORS];
      const swatch = again && line.role === "simulated" ? "dashed" : SWATCH[line.role] ?? "line";
      return { name: line.name, visible: true, swatch, color: reference ? (t) => t.reference : seriesColor(next++) };
    });
  }

  home(): { x: Range; y: Range } {
    const x = new Extent(this.x);
    const y = new Extent(this.y);
    this.lines.forEach((line, i) => {
      x.addAll(line.x);
      if (!this.series[i]!.visible) return;
      for (const column of [line.y, line.low, line.high]) if (column) y.addAll(column);
    });
    for (const mark of this.marks) {
      if (mark.x != null) x.add(mark.x);
      if (mark.y != null) y.add(mark.y);
    }
    return { x: x.range(0.03), y: y.range(0.06, y.lo >= 0 && y.lo < 0.4 * y.hi) };
  }

  draw(p: Painter, f: Frame): void {
    const curves: Curve[] = [];
    this.lines.forEach((line, i) => {
      if (!this.series[i]!.visible) return;
      const color = this.series[i]!.color(f.theme);
      p.group(`series-${i}`, () => curves.push(this.drawLine(p, f, line, color, this.series[i]!.swatch === "dashed")));
    });
    p.group("marks", () => drawMarks(p, f, this.marks, curves));
  }

  private drawLine(p: Painter, f: Frame, line: Line, color: string, dashed: boolean): Curve {
    const [from, to] = this.visible(line, f);
    if (line.low && line.high && to - from < 20_000) this.drawIntervals(p, f, line, color, from, to);
    if (line.role === "published") {
      const points = this.points(f, line, from, to);
      for (let i = 0; i + 1 < points.length; i += 2) diamond(p, points[i]!, points[i + 1]!, color, f.theme.paper);
      return { points, dots: true };
    }
    const points = this.points(f, line, from, to);
    p.path(points, { color, width: line.role === "reference" ? 1.5 : 2, ...(dashed ? { dash: [6, 4] } : {}) });
    const dots = points.length / 2 < (f.right - f.left) / 8 && line.role !== "reference";
    if (dots) p.circles(points, 3, line.role === "measured" ? { fill: f.theme.paper, stroke: { color, width: 1.75 } } : { fill: color });
    return { points, dots };
  }

  private drawIntervals(p: Painter, f: Frame, line: Line, color: string, from: number, to: number): void {
    if (line.role === "published") {
      for (let i = from; i < to; i++) {
        const x = f.x.px(line.x[i]!);
        p.line(x, f.y.px(line.low![i]!), x, f.y.px(line.high![i]!), { color, width: 1.5 });
      }
      return;
    }
    const there: number[] = [];
    const back: number[] = [];
    for (let i = from; i < to; i++) {
      const [low, high] = [line.low![i]!, line.high![i]!];
      if (!Number.isFinite(low) || !Number.isFinite(high)) continue;
      there.push(f.x.px(line.x[i]!), f.y.px(high));
      back.push(f.y.px(low), f.x.px(line.x[i]!));
    }
    // The lower edge runs backwards; reversing the flat list turns y, x into x, y.
    p.area([...there, ...back.reverse()], color, f.theme.dark ? 0.26 : 0.18);
  }

  private visible(line: Line, f: Frame): [number, number] {
    if (!line.ascending) return [0, line.x.length];
    const from = Math.max(0, firstAbove(line.x, f.x.lowValue, true) - 1);
    return [from, Math.min(line.x.length, firstAbove(line.x, f.x.highValue) + 1)];
  }

  /** Pixels of a line; with many points per pixel column, only the first, least, greatest and last of each. */
  private points(f: Frame, line: Line, from: number, to: number): number[] {
    const out: number[] = [];
    if (!line.ascending || to - from <= 4 * (f.right - f.left)) {
      for (let i = from; i < to; i++) out.push(f.x.px(line.x[i]!), finite(f.y.px(line.y[i]!), line.y[i]!));
      return out;
    }
    for (let i = from; i < to;) {
      const column = Math.floor(f.x.px(line.x[i]!));
      const first = f.y.px(line.y[i]!);
      let [least, greatest, last] = [first, first, first];
      for (i++; i < to && Math.floor(f.x.px(line.x[i]!)) === column; i++) {
        last = f.y.px(line.y[i]!);
        if (last < least) least = last;
        if (last > greatest) greatest = last;
      }
      out.push(column + 0.5, first, column + 0.5, least, column + 0.5, greatest, column + 0.5, last);
    }
    return out;
  }

  nearest(f: Frame, px: number, py: number): Point | null {
    const total = this.lines.reduce((n, line) => n + line.x.length, 0);
    if (total <= 5000) return nearestOf(this, f, px, py, 80);
    let best: Point | null = null;
    let distance = Infinity;
    this.lines.forEach((line, s) => {
      if (!this.series[s]!.visible || line.x.length === 0) return;
      const at = line.ascending ? firstAbove(line.x, f.x.value(px)) : 0;
      for (let i = Math.max(0, at - 2); i < Math.min(line.x.length, at + 2); i++) {
        const d = Math.hypot(f.x.px(line.x[i]!) - px, f.y.px(line.y[i]!) - py);
        if (d < distance) [distance, best] = [d, this.point(s, i)];
      }
    });
    return best;
  }

  length(series: number): number {
    return this.lines[series]?.x.length ?? 0;
  }

  point(series: number, index: number): Point {
    const line = this.lines[series]!;
    const rows: [string, string][] = [[this.x.label, exact(line.x[index]!, this.x.unit)], [this.y.label, exact(line.y[index]!, this.y.unit)]];
    const [low, high] = [line.low?.[index] ?? NaN, line.high?.[index] ?? NaN];
    if (Number.isFinite(low) && Number.isFinite(high)) rows.push(["interval", `${exact(low, this.y.unit)} – ${exact(high, this.y.unit)}`]);
    if (line.role !== "simulated") rows.push(["from", line.role]);
    return { series, index, x: line.x[index]!, y: line.y[index]!, title: line.name, rows };
  }

  nothing(): string | null {
    return noPoints(this.x, this.y, this.lines);
  }

  describe(): string {
    const parts = this.lines.filter((l) => l.x.length).map((l) => {
      const last = l.x.length - 1;
      return `${l.name} (${l.role}) goes from ${brief(l.y[0]!, this.y.unit)} at ${exact(l.x[0]!, this.x.unit)} to ${brief(l.y[last]!, this.y.unit)} at ${exact(l.x[last]!, this.x.unit)}`;
    });
    const marks = this.marks.length ? ` ${many(this.marks.length, "mark")}: ${this.marks.map((m) => m.name).join(", ")}.` : "";
    return `${this.y.label} over ${this.x.label}: ${parts.join("; ")}.${marks}`;
  }

  table(): TableSource {
    const starts = [0];
    for (const line of this.lines) starts.push(starts[starts.length - 1]! + line.x.length);
    return {
      columns: ["series", "from", this.x.label, this.y.label, "low", "high"],
      length: starts[starts.length - 1]!,
      row: (i) => {
        const s = firstAbove(starts, i) - 1;
        const line = this.lines[s]!;
        const k = i - starts[s]!;
        const y = (v: number | undefined) => (v === undefined ? "–" : exact(v, this.y.unit));
        return [line.name, line.role, exact(line.x[k]!, this.x.unit), y(line.y[k]), y(line.low?.[k]), y(line.high?.[k])];
      },
    };
  }
}

function finite(px: number, value: number): number {
  return Number.isFinite(value) ? px : NaN;
}

function isAscending(x: Float64Array): boolean {
  for (let i = 1; i < x.length; i++) if (!(x[i]! >= x[i - 1]!)) return false;
  return true;
}

function diamond(p: Painter, x: number, y: number, color: string, paper: string): void {
  if (!Number.isFinite(x) || !Number.isFinite(y)) return;
  const r = 6;
  const points = [x, y - r, x + r, y, x, y + r, x - r, y];
  p.area(points, paper);
  p.area(points, color, 0.35);
  p.path([...points, x, y - r], { color, width: 1.75 });
}
