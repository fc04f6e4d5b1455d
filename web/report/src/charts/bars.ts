// A ranking as horizontal bars, each with an interval. Numbers and notes stand in columns of their own, so that they are
// easy to compare, cover no bar and stay where they are when the chart is zoomed. On narrow charts, names and notes stand
// above the bars.

import type { Bar, BarsPlot } from "../data/report";
import { fit, lines, textWidth, type Painter, type TextStyle } from "../draw/painter";
import { brief, exact, many } from "../format/number";
import { plain } from "../ui/prose";
import type { Frame, Plot, Point, Series, TableSource } from "./plot";
import { Extent, type Range } from "./scale";

const NARROW = 560;
const ROW = 30;
const ROW_OF_TWO_LINES = 38;
const NARROW_ROW = 44;
/** More bars are thin, without numbers and notes. */
const MANY = 60;
const THIN_ROW = 14;
const NAME = 12;
const NUMBER = 12;
const NOTE = 11;
const GAP = 12;
const LINE = 14;

export function barsPlot(plot: BarsPlot): Plot {
  return new BarsChart(plot);
}

class BarsChart implements Plot {
  readonly x;
  readonly y = { label: "", unit: "none" as const, log: false };
  readonly series: Series[] = [{ name: "", visible: true, swatch: "box", fixed: true, color: (t) => t.series[0]! }];
  readonly categories: string[];
  private readonly bars: Bar[];

  constructor(plot: BarsPlot) {
    this.x = plot.x;
    this.bars = plot.bars.map((bar) => ({ ...bar, name: plain(bar.name), note: plain(bar.note ?? "") }));
    this.categories = this.bars.map((bar) => bar.name);
  }

  private get thin(): boolean {
    return this.bars.length > MANY;
  }

  private stacked(width: number): boolean {
    return width < NARROW && !this.thin;
  }

  heightFor(width: number): number {
    return 8 + 46 + Math.max(1, this.bars.length) * this.rowHeight(width);
  }

  private rowHeight(width: number): number {
    if (this.thin) return THIN_ROW;
    if (this.stacked(width)) return NARROW_ROW;
    const room = this.nameRoom(width);
    return this.categories.some((name) => lines(name, room, 2, NAME).length > 1) ? ROW_OF_TWO_LINES : ROW;
  }

  private nameRoom(width: number): number {
    return Math.min(Math.max(20, ...this.categories.map((name) => textWidth(name, NAME))), width * 0.36);
  }

  leftMargin(width: number): number {
    return this.stacked(width) ? 4 : Math.ceil(this.nameRoom(width) + 14);
  }

  rightMargin(width: number): number {
    return this.thin ? GAP : GAP + this.numberWidth() + (this.stacked(width) ? 2 : this.noteWidth(width) + 2);
  }

  private numberWidth(): number {
    return Math.ceil(Math.max(0, ...this.bars.map((bar) => textWidth(brief(bar.value, this.x.unit), NUMBER, 600))));
  }

  private noteWidth(width: number): number {
    const widest = Math.max(0, ...this.bars.map((bar) => textWidth(bar.note ?? "", NOTE)));
    return widest ? Math.ceil(Math.min(widest, width * 0.3)) + GAP : 0;
  }

  home(): { x: Range; y: Range } {
    const x = new Extent(this.x);
    for (const bar of this.bars) for (const v of [bar.value, bar.low, bar.high]) if (v != null) x.add(v);
    const range = x.range(0.03, true);
    // On a log axis, the shortest bar also needs a visible length.
    return { x: { lo: this.x.log ? range.lo - (range.hi - range.lo) * 0.1 : range.lo, hi: range.hi }, y: { lo: -0.5, hi: Math.max(1, this.bars.length) - 0.5 } };
  }

  draw(p: Painter, f: Frame): void {
    const thick = Math.max(3, Math.min(16, this.step(f) * 0.56));
    const zero = Math.max(f.left, Math.min(f.right, f.x.px(0)));
    this.bars.forEach((bar, i) => {
      const y = this.middle(f, i);
      const end = f.x.px(bar.value);
      if (!Number.isFinite(end)) return;
      const color = bar.role ? f.theme.roles[bar.role] ?? f.theme.roles.other : f.theme.series[0]!;
      p.rect(Math.min(zero, end), y - thick / 2, Math.abs(end - zero), thick, color, bar.role ? 1 : f.theme.dark ? 0.75 : 0.82);
      this.drawInterval(p, f, bar, y);
    });
  }

  private step(f: Frame): number {
    return f.y.at(1) - f.y.at(0);
  }

  /** The middle of a bar, which lies below its name on narrow charts. */
  private middle(f: Frame, i: number): number {
    return f.y.px(i) + (this.stacked(f.width) ? 10 : 0);
  }

  /** Draws names, numbers and notes. */
  drawAround(p: Painter, f: Frame): void {
    const ink = { color: f.theme.ink, size: NAME, baseline: "middle" as const };
    const quiet = { color: f.theme.quiet, size: NOTE, baseline: "middle" as const };
    const right = f.right + GAP + this.numberWidth();
    this.bars.forEach((bar, i) => {
      const y = this.middle(f, i);
      if (!this.thin) p.text(right, y, brief(bar.value, this.x.unit), { ...ink, size: NUMBER, weight: 600, align: "right" });
      if (this.stacked(f.width)) return this.drawAbove(p, f, bar, y - 20, ink, quiet);
      const name = lines(bar.name, f.left - 12, this.thin ? 1 : 2, NAME);
      name.forEach((line, k) => p.text(f.left - 8, y + (k - (name.length - 1) / 2) * LINE, line, { ...ink, align: "right" }));
      if (bar.note && !this.thin) p.text(right + GAP, y, fit(bar.note, f.width - right - GAP, NOTE), quiet);
    });
  }

  private drawAbove(p: Painter, f: Frame, bar: Bar, y: number, ink: TextStyle, quiet: TextStyle): void {
    const note = bar.note ? fit(bar.note, f.width * 0.45, NOTE) : "";
    const room = f.width - f.left - (note ? textWidth(note, NOTE) + GAP : 0);
    p.text(f.left, y, fit(bar.name, room, NAME), ink);
    if (note) p.text(f.width - 2, y, note, { ...quiet, align: "right" });
  }

  private drawInterval(p: Painter, f: Frame, bar: Bar, y: number): void {
    if (bar.low == null || bar.high == null) return;
    const [a, b] = [f.x.px(bar.low), f.x.px(bar.high)];
    const stroke = { color: f.theme.ink, width: 1.25 };
    p.line(a, y, b, y, stroke);
    p.line(a, y - 4, a, y + 4, stroke);
    p.line(b, y - 4, b, y + 4, stroke);
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

  nothing(): string | null {
    const values = this.bars.map((bar) => bar.value).filter(Number.isFinite);
    if (values.length === 0) return "Nothing to draw: there are no values.";
    if (values.some((value) => value !== 0)) return null;
    return `Nothing to draw: ${this.x.label} is 0${values.length > 1 ? ` in all ${values.length} cases` : ""}.`;
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
