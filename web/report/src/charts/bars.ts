// A ranking as horizontal bars, each with an interval and a note.

import type { Bar, BarsPlot } from "../data/report";
import { fit, textWidth, type Painter } from "../draw/painter";
import { brief, exact, many } from "../format/number";
import type { Frame, Plot, Point, Series, TableSource } from "./plot";
import { Extent, type Range } from "./scale";

const ROW = 30;

export function barsPlot(plot: BarsPlot): Plot {
  return new BarsChart(plot);
}

class BarsChart implements Plot {
  readonly x;
  readonly y = { label: "", unit: "none" as const, log: false };
  readonly series: Series[] = [{ name: "", visible: true, swatch: "box", fixed: true, color: (t) => t.series[0]! }];
  readonly categories: string[];
  readonly rightMargin = 64; // for the numbers after the bars
  private readonly bars: Bar[];

  constructor(plot: BarsPlot) {
    this.x = plot.x;
    this.bars = plot.bars;
    this.categories = plot.bars.map((bar) => bar.name);
  }

  heightFor(): number {
    return 8 + 46 + Math.max(1, this.bars.length) * (this.bars.length > 60 ? 14 : ROW);
  }

  home(): { x: Range; y: Range } {
    const x = new Extent(this.x);
    for (const bar of this.bars) for (const v of [bar.value, bar.low, bar.high]) if (v != null) x.add(v);
    const range = x.range(0.03, true);
    // On a log axis, the shortest bar also needs a visible length.
    return { x: { lo: this.x.log ? range.lo - (range.hi - range.lo) * 0.1 : range.lo, hi: range.hi }, y: { lo: -0.5, hi: Math.max(1, this.bars.length) - 0.5 } };
  }

  draw(p: Painter, f: Frame): void {
    const step = f.y.at(1) - f.y.at(0);
    const thick = Math.max(3, Math.min(16, step * 0.56));
    const zero = Math.max(f.left, Math.min(f.right, f.x.px(0)));
    const color = f.theme.series[0]!;
    this.bars.forEach((bar, i) => {
      const y = f.y.px(i);
      const end = f.x.px(bar.value);
      if (!Number.isFinite(end)) return;
      p.rect(Math.min(zero, end), y - thick / 2, Math.abs(end - zero), thick, color, f.theme.dark ? 0.75 : 0.82);
      this.drawInterval(p, f, bar, y);
    });
  }

  /** Draws numbers and notes, which may extend beyond the axis but must not cover bars that do. */
  drawAround(p: Painter, f: Frame): void {
    if (f.y.at(1) - f.y.at(0) < 13) return;
    this.bars.forEach((bar, i) => {
      const end = f.x.px(bar.value);
      if (end >= f.left - 1 && Math.max(end, bar.high == null ? end : f.x.px(bar.high)) <= f.right + 1) this.drawLabel(p, f, bar, f.y.px(i), end);
    });
  }

  private drawInterval(p: Painter, f: Frame, bar: Bar, y: number): void {
    if (bar.low == null || bar.high == null) return;
    const [a, b] = [f.x.px(bar.low), f.x.px(bar.high)];
    const stroke = { color: f.theme.ink, width: 1.25 };
    p.line(a, y, b, y, stroke);
    p.line(a, y - 4, a, y + 4, stroke);
    p.line(b, y - 4, b, y + 4, stroke);
  }

  private drawLabel(p: Painter, f: Frame, bar: Bar, y: number, end: number): void {
    const from = Math.max(end, f.x.px(0), bar.high == null ? -Infinity : f.x.px(bar.high)) + 8;
    const value = brief(bar.value, this.x.unit);
    p.text(from, y, value, { color: f.theme.ink, size: 12, weight: 600, baseline: "middle" });
    if (!bar.note) return;
    const right = f.right + this.rightMargin - 2;
    const after = from + textWidth(value, 12, 600) + 8;
    // After the number or, if a long bar leaves no room there, inside the bar.
    const width = textWidth(bar.note, 11);
    const start = Math.max(f.left, f.x.px(0)) + 8;
    const within = Math.min(end, bar.low == null ? end : f.x.px(bar.low)) - start - 8;
    if (right - after >= width || within < width) {
      if (right - after > 40) p.text(after, y, fit(bar.note, right - after, 11), { color: f.theme.quiet, size: 11, baseline: "middle" });
    } else p.text(start, y, bar.note, { color: f.theme.paper, size: 11, baseline: "middle" });
  }

  nearest(f: Frame, _px: number, py: number): Point | null {
    const i = Math.round(f.y.value(py));
    return this.bars[i] ? this.point(0, i) : null;
  }

  length(): number {
    return this.bars.length;
  }

  neighbour(index: number, right: number, down: number): number {
    return Math.max(0, Math.min(this.bars.length - 1, index + right + down));
  }

  point(series: number, index: number): Point {
    const bar = this.bars[index]!;
    const rows: [string, string][] = [[this.x.label, exact(bar.value, this.x.unit)]];
    if (bar.low != null && bar.high != null) rows.push(["interval", `${exact(bar.low, this.x.unit)} – ${exact(bar.high, this.x.unit)}`]);
    if (bar.note) rows.push(["note", bar.note]);
    return { series, index, x: bar.value, y: index, title: bar.name, rows };
  }

  describe(): string {
    const first = this.bars[0];
    const last = this.bars[this.bars.length - 1];
    if (!first || !last) return `Bars of ${this.x.label}: none.`;
    return `${many(this.bars.length, "bar")} of ${this.x.label}: first ${first.name} with ${brief(first.value, this.x.unit)}, last ${last.name} with ${brief(last.value, this.x.unit)}.`;
  }

  table(): TableSource {
    const number = (v: number | null | undefined) => (v == null ? "–" : exact(v, this.x.unit));
    return {
      columns: ["name", this.x.label, "low", "high", "note"],
      length: this.bars.length,
      row: (i) => {
        const bar = this.bars[i]!;
        return [bar.name, number(bar.value), number(bar.low), number(bar.high), bar.note ?? ""];
      },
    };
  }
}
