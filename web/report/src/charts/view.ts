// The view of an x-y plot: the visible range, and pointer and keyboard input.

import type { Painter } from "../draw/painter";
import { theme as currentTheme, type Theme } from "../draw/theme";
import { Stage } from "../ui/stage";
import { spoken } from "../ui/tooltip";
import { onDrag, onWheel } from "../ui/wheel";
import { drawAxes, drawGrid, layout, type Layout } from "./axes";
import type { Chart } from "./chart";
import type { Frame, Mode, Plot, Point, Series, TableSource } from "./plot";
import type { Range } from "./scale";

const HELP = "Left and right arrow keys go from point to point, up and down from series to series, plus and minus zoom, Home resets, Escape leaves.";
const ZOOM = 1.25;
const DEEPEST = 1e-9; // smallest share of the home range; below, doubles cannot distinguish pixels

interface Drag { fromX: number; fromY: number; x: number; y: number; pan: boolean; x0: Range; y0: Range; l: Layout }

export class XYView implements Chart {
  readonly stage: Stage;
  private home: { x: Range; y: Range };
  private view: { x: Range; y: Range };
  private current: Point | null = null;
  private drag: Drag | null = null;
  private zoomed: (zoomed: boolean) => void = () => {};

  constructor(title: string, private readonly plot: Plot) {
    this.home = this.view = plot.home();
    const names = plot.series.map((series) => series.name);
    this.stage = new Stage(title, names, () => this.describe(), HELP, {
      heightFor: (width) => this.heightFor(width),
      paint: (p, w, h) => this.paint(p, w, h, currentTheme()),
      paintOver: (p) => this.paintOver(p),
    });
    this.listen();
  }

  get series(): Series[] {
    return this.plot.series;
  }

  get mode(): Mode | undefined {
    return this.plot.mode;
  }

  heightFor(width: number): number {
    return this.plot.heightFor?.(width) ?? Math.round(Math.min(420, Math.max(280, width * 0.46)));
  }

  paperHeight(width: number): number {
    return this.plot.heightFor?.(width) ?? Math.round(width * 0.27);
  }

  nothing(): string | null {
    return this.plot.nothing();
  }

  describe(): string {
    return this.plot.describe();
  }

  table(): TableSource {
    return this.plot.table();
  }

  paint(p: Painter, width: number, height: number, theme: Theme): void {
    const l = layout(this.plot, this.view, width, height, theme);
    const f = l.frame;
    drawGrid(p, l);
    p.clip(f.left, f.top - 1, f.right - f.left, f.bottom - f.top + 2, () => this.plot.draw(p, f));
    drawAxes(p, this.plot, l);
    this.plot.drawAround?.(p, f);
  }

  private layout(): Layout {
    return layout(this.plot, this.view, this.stage.width, this.stage.height, currentTheme());
  }

  private paintOver(p: Painter): void {
    const theme = currentTheme();
    if (this.drag && !this.drag.pan) {
      const d = this.drag;
      const [x, y, w, h] = [Math.min(d.fromX, d.x), Math.min(d.fromY, d.y), Math.abs(d.x - d.fromX), Math.abs(d.y - d.fromY)];
      p.rect(x, y, w, h, theme.accent, 0.12);
      p.frame(x, y, w, h, { color: theme.accent });
    }
    if (!this.current) return;
    const f = this.layout().frame;
    const x = this.pixelX(f, this.current);
    const y = f.y.px(this.current.y);
    if (x < f.left - 1 || x > f.right + 1) return;
    if (!this.plot.categories) p.line(Math.round(x) + 0.5, f.top, Math.round(x) + 0.5, f.bottom, { color: theme.quiet, dash: [2, 3], opacity: 0.7 });
    if (y >= f.top - 1 && y <= f.bottom + 1) p.circles([x, y], 5, { stroke: { color: theme.paper, width: 4 } });
    if (y >= f.top - 1 && y <= f.bottom + 1) p.circles([x, y], 5, { stroke: { color: theme.ink, width: 1.75 } });
  }

  toggle(index: number): void {
    const series = this.plot.series[index];
    if (!series || series.fixed) return;
    series.visible = !series.visible;
    this.rehome();
  }

  setMode(index: number): void {
    this.plot.mode?.set(index);
    this.rehome();
  }

  private rehome(): void {
    this.home = this.plot.home();
    this.current = null;
    this.reset();
  }

  reset(): void {
    this.show(this.home);
  }

  onZoomed(f: (zoomed: boolean) => void): void {
    this.zoomed = f;
  }

  private show(view: { x: Range; y: Range }): void {
    this.view = view;
    this.zoomed(view !== this.home);
    this.stage.redraw();
  }

  /** Zooms about a point of the stage. Returns false if it cannot zoom out further. */
  private zoom(factor: number, px: number, py: number): boolean {
    const f = this.layout().frame;
    const overX = py > f.bottom;
    const overY = px < f.left;
    const x = overY ? this.view.x : scaled(this.view.x, this.home.x, f.x.coordinateOf(px), factor);
    const y = overX || this.plot.categories ? this.view.y : scaled(this.view.y, this.home.y, f.y.coordinateOf(py), factor);
    if (same(x, this.view.x) && same(y, this.view.y)) return false;
    this.show(same(x, this.home.x) && same(y, this.home.y) ? this.home : { x, y });
    return true;
  }

  private listen(): void {
    const node = this.stage.node;
    onWheel(node, (e, steps) => {
      const box = node.getBoundingClientRect();
      return this.zoom(ZOOM ** steps, e.clientX - box.left, e.clientY - box.top);
    });
    onDrag(node, {
      start: (x, y, e) => {
        this.drag = { fromX: x, fromY: y, x, y, pan: e.shiftKey, x0: this.view.x, y0: this.view.y, l: this.layout() };
        return true;
      },
      move: (x, y) => this.dragged(x, y),
      end: (moved) => this.dropped(moved),
    });
    node.addEventListener("pointerdown", (e) => {
      const box = node.getBoundingClientRect();
      if (e.pointerType === "touch") this.hover(e.clientX - box.left, e.clientY - box.top);
    });
    node.addEventListener("pointermove", (e) => {
      if (this.drag) return;
      const box = node.getBoundingClientRect();
      this.hover(e.clientX - box.left, e.clientY - box.top);
    });
    node.addEventListener("pointerleave", () => this.point(null));
    node.addEventListener("blur", () => this.point(null));
    node.addEventListener("dblclick", () => this.reset());
    node.addEventListener("keydown", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.altKey && this.key(e.key)) e.preventDefault();
    });
  }

  private dragged(x: number, y: number): void {
    const d = this.drag;
    if (!d) return;
    const { frame: f } = d.l;
    d.x = Math.max(f.left, Math.min(f.right, x));
    d.y = Math.max(f.top, Math.min(f.bottom, y));
    this.stage.read(null, 0, 0);
    if (!d.pan) return this.stage.redrawOver();
    const dx = f.x.coordinateOf(d.fromX) - f.x.coordinateOf(x);
    const dy = f.y.coordinateOf(d.fromY) - f.y.coordinateOf(y);
    this.show({ x: moved(d.x0, dx), y: this.plot.categories ? d.y0 : moved(d.y0, dy) });
  }

  private dropped(hasMoved: boolean): void {
    const d = this.drag;
    this.drag = null;
    if (!d || !hasMoved || d.pan) return this.stage.redrawOver();
    const { x, y } = d.l.frame;
    const wide = Math.abs(d.x - d.fromX) > 6;
    const high = Math.abs(d.y - d.fromY) > 6 && !this.plot.categories;
    if (!wide && !high) return this.stage.redrawOver();
    this.show({
      x: wide ? ordered(x.coordinateOf(d.fromX), x.coordinateOf(d.x)) : this.view.x,
      y: high ? ordered(y.coordinateOf(d.fromY), y.coordinateOf(d.y)) : this.view.y,
    });
  }

  private hover(px: number, py: number): void {
    const f = this.layout().frame;
    const inside = px >= f.left - 4 && px <= f.right + 4 && py >= f.top - 4 && py <= f.bottom + 4;
    this.point(inside ? this.plot.nearest(f, px, py) : null);
  }

  private point(point: Point | null): void {
    const unchanged = point?.index === this.current?.index && point?.series === this.current?.series && point?.x === this.current?.x;
    if (unchanged && (point === null) === (this.current === null)) return;
    this.current = point;
    if (!point) this.stage.read(null, 0, 0);
    else {
      const f = this.layout().frame;
      this.stage.read(point, this.pixelX(f, point), Math.max(f.top, Math.min(f.bottom, f.y.px(point.y))));
    }
    this.stage.redrawOver();
  }

  private pixelX(f: Frame, point: Point): number {
    return f.x.px(point.x) + (this.plot.offset?.(f, point) ?? 0);
  }

  private key(key: string): boolean {
    const f = this.layout().frame;
    switch (key) {
      case "ArrowRight": return this.step(0, 1);
      case "ArrowLeft": return this.step(0, -1);
      case "ArrowUp": return this.step(-1, 0);
      case "ArrowDown": return this.step(1, 0);
      case "+": case "=": return this.zoom(1 / 1.5, (f.left + f.right) / 2, (f.top + f.bottom) / 2) || true;
      case "-": return this.zoom(1.5, (f.left + f.right) / 2, (f.top + f.bottom) / 2) || true;
      case "Home": case "0": this.reset(); return true;
      case "Escape":
        this.point(null);
        this.stage.node.blur();
        return true;
      default: return false;
    }
  }

  /** Steps through the points by keyboard. */
  private step(series: number, index: number): boolean {
    const shown = this.plot.series.map((s, i) => ({ s, i })).filter(({ s, i }) => s.visible && this.plot.length(i) > 0).map(({ i }) => i);
    if (shown.length === 0) return true;
    const at = Math.max(0, shown.indexOf(this.current?.series ?? -1));
    const nextSeries = shown[this.current ? Math.max(0, Math.min(shown.length - 1, at + series)) : 0]!;
    const last = this.plot.length(nextSeries) - 1;
    const free = this.current && this.plot.neighbour?.(this.current.index, index, series);
    const next = free != null ? free : this.current ? Math.max(0, Math.min(last, this.current.index + index)) : index < 0 ? last : 0;
    this.current = null;
    const point = this.plot.point(nextSeries, next);
    this.bringIntoView(point);
    this.point(point);
    this.stage.say(spoken(point));
    return true;
  }

  private bringIntoView(point: Point): void {
    const f = this.layout().frame;
    const x = centred(this.view.x, f.x.coordinateOf(f.x.px(point.x)));
    const y = this.plot.categories ? this.view.y : centred(this.view.y, f.y.coordinateOf(f.y.px(point.y)));
    if (x !== this.view.x || y !== this.view.y) this.show({ x, y });
  }

  locate(series: number, index: number) {
    if (!this.plot.series[series] || index >= this.plot.length(series)) return null;
    const point = this.plot.point(series, index);
    const f = this.layout().frame;
    return { x: this.pixelX(f, point), y: f.y.px(point.y), title: point.title, rows: point.rows };
  }

  span(): { x: [number, number]; y: [number, number] } {
    const f = this.layout().frame;
    return { x: [f.x.lowValue, f.x.highValue], y: [f.y.lowValue, f.y.highValue] };
  }
}

function scaled(range: Range, home: Range, about: number, factor: number): Range {
  const widest = home.hi - home.lo;
  const span = (range.hi - range.lo) * factor;
  if (span < widest * DEEPEST) return range;
  if (span >= widest) return home;
  const lo = about - (about - range.lo) * factor;
  return { lo, hi: lo + span };
}

function same(a: Range, b: Range): boolean {
  return a === b || (a.lo === b.lo && a.hi === b.hi);
}

function moved(range: Range, by: number): Range {
  return { lo: range.lo + by, hi: range.hi + by };
}

function ordered(a: number, b: number): Range {
  return a < b ? { lo: a, hi: b } : { lo: b, hi: a };
}

function centred(range: Range, at: number): Range {
  if (at >= range.lo && at <= range.hi) return range;
  const half = (range.hi - range.lo) / 2;
  return { lo: at - half, hi: at + half };
}
