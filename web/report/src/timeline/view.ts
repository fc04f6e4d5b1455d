// The view of a timeline: visible time and rows, pointer and keyboard input, and readings.

import type { Chart } from "../charts/chart";
import type { Reading, Series, TableSource } from "../charts/plot";
import type { Container } from "../data/container";
import type { TimelinePlot } from "../data/report";
import { CanvasPainter } from "../draw/canvas";
import type { Painter } from "../draw/painter";
import { kindColors, theme as currentTheme, type Theme } from "../draw/theme";
import { count, exact, many, picoseconds } from "../format/number";
import { Stage } from "../ui/stage";
import { spoken } from "../ui/tooltip";
import { onDrag, onWheel } from "../ui/wheel";
import { activitiesOf, activityAt, arrowsOf, NOBODY, type Activities, type Arrows } from "./activities";
import { activitiesInView, areaOf, arrowsInView, arrowsOfActivity, paintArrows, paintAxes, paintCells, paintStrip, STRIP, type Area } from "./paint";
import { gapOf, rasterise, type Window } from "./raster";

const HELP = "Left and right arrow keys move in time, up and down over rows, plus and minus zoom, Home resets; N and P read the next and previous activity, J and K those of the next and previous row; Escape leaves.";
const STRIP_COLUMNS = 600;
const FAINT = 0.08; // the overview merges many rows; showing less noise than this would colour all of it
const NARROW = 620; // less wide timelines have shorter hints
const FRAME = 12; // milliseconds that a frame may take before motion is drawn at lower resolution
const REST = 150; // milliseconds without motion after which the view counts as at rest

export class TimelineView implements Chart {
  readonly stage: Stage;
  readonly series: Series[];
  private readonly a: Activities;
  private readonly arrows: Arrows;
  private readonly home: Window;
  private view: Window;
  private current = -1;
  private strip: Uint8Array | null = null;
  private zoomed: (zoomed: boolean) => void = () => {};
  private moving = 0;

  constructor(title: string, data: Container, plot: TimelinePlot) {
    this.a = activitiesOf(data, plot);
    this.arrows = arrowsOf(data, plot);
    this.home = this.view = { t0: this.a.begin, t1: this.a.finish, row0: 0, row1: Math.max(1, this.a.rows.length) };
    const occurs = new Uint8Array(this.a.kinds.length);
    this.a.kind.forEach((kind) => (occurs[kind] = 1));
    this.series = this.a.kinds.map((kind, k): Series => ({
      name: occurs[k] ? kind.name : "", visible: true, fixed: true, swatch: "box", color: (theme) => kindColors(this.a.kinds, theme)[k]!,
    }));
    if (this.arrows.length) this.series.push({ name: "messages", visible: true, swatch: "line", color: (t) => t.ink });
    this.stage = new Stage(title, this.series.map((series) => series.name), () => this.describe(), HELP, {
      heightFor: (width) => this.heightFor(width),
      paint: (p, w, h) => this.paint(p, w, h, currentTheme()),
      paintOver: (p) => this.paintOver(p),
    });
    this.stage.node.classList.add("pannable");
    this.listen();
  }

  paperHeight(width: number): number {
    return this.heightFor(width);
  }

  heightFor(width: number): number {
    const rows = Math.max(2, this.a.rows.length);
    return 90 + Math.round(Math.min(width < 600 ? 360 : 500, rows <= 24 ? rows * 26 : Math.max(420, rows * 4)));
  }

  private area(): Area {
    return areaOf(this.a, this.stage.width, this.stage.height);
  }

  paint(p: Painter, width: number, height: number, theme: Theme): void {
    const area = areaOf(this.a, width, height);
    const onScreen = p instanceof CanvasPainter;
    // Finer cells would only make paper and SVG output larger.
    const fine = onScreen ? Math.min(2, devicePixelRatio || 1) : 1;
    const coarse = onScreen && this.moving !== 0;
    const columns = Math.max(1, Math.floor((area.right - area.left) * (coarse ? 0.5 : fine)));
    const bands = Math.max(1, Math.min(STRIP, this.a.rows.length));
    this.strip ??= rasterise(this.a, this.a.begin, this.a.finish, STRIP_COLUMNS, stripBands(this.a.rows.length, bands), FAINT);
    p.group("overview", () => paintStrip(p, this.a, this.view, area, theme, this.strip!, STRIP_COLUMNS, bands));
    const inView = this.messagesShown ? arrowsInView(this.arrows, this.view, area) : { list: [], tooMany: false };
    const thin = { color: theme.ink, width: 0.75, opacity: 0.6 };
    p.clip(area.left, area.top, area.right - area.left, area.bottom - area.top, () => {
      p.group("activities", () => paintCells(p, this.a, this.view, area, theme, columns, coarse ? 2 : 1, this.arrows.length > 0));
      p.group("messages", () => paintArrows(p, this.arrows, inView.list, this.view, area, thin));
    });
    const hint = width < NARROW ? "zoom for messages" : "zoom in or point at a bar to see messages";
    p.group("axes", () => paintAxes(p, this.a, this.view, area, theme, inView.tooMany && onScreen ? hint : ""));
  }

  private get messagesShown(): boolean {
    return this.series[this.a.kinds.length]?.visible === true;
  }

  private paintOver(p: Painter): void {
    if (this.current < 0) return;
    const theme = currentTheme();
    const area = this.area();
    const { x, y, w, h } = this.place(this.current, area);
    p.clip(area.left - 2, area.top - 2, area.right - area.left + 4, area.bottom - area.top + 4, () => {
      p.frame(x - 1.5, y - 1.5, w + 3, h + 3, { color: theme.paper, width: 4 });
      p.frame(x - 1.5, y - 1.5, w + 3, h + 3, { color: theme.ink, width: 1.75 });
      if (!this.messagesShown) return;
      const list = arrowsOfActivity(this.a, this.arrows, this.current);
      paintArrows(p, this.arrows, list, this.view, area, { color: theme.paper, width: 4, opacity: 0.9 });
      paintArrows(p, this.arrows, list, this.view, area, { color: theme.ink, width: 1.75, opacity: 1 });
    });
  }

  private place(i: number, area: Area): { x: number; y: number; w: number; h: number } {
    const perPs = (area.right - area.left) / (this.view.t1 - this.view.t0);
    const high = (area.bottom - area.top) / (this.view.row1 - this.view.row0);
    const clampX = (x: number) => Math.max(area.left - 20, Math.min(area.right + 20, x));
    const x = clampX(area.left + (this.a.start[i]! - this.view.t0) * perPs);
    const end = clampX(area.left + (this.a.end[i]! - this.view.t0) * perPs);
    const gap = gapOf(high, this.arrows.length > 0);
    return { x, y: area.top + (this.a.row[i]! - this.view.row0) * high + gap / 2, w: Math.max(1, end - x), h: Math.max(1, high - gap) };
  }

  toggle(index: number): void {
    const series = this.series[index];
    if (!series || series.fixed) return;
    series.visible = !series.visible;
    this.stage.redraw();
  }

  setMode(): void {}

  onZoomed(f: (zoomed: boolean) => void): void {
    this.zoomed = f;
  }

  reset(): void {
    this.show(this.home);
  }

  zoomBy(factor: number): void {
    const area = this.area();
    this.zoom(factor, 1, (area.left + area.right) / 2, (area.top + area.bottom) / 2);
  }

  private show(w: Window): void {
    const next = inside(w, this.home);
    const isHome = next.t0 === this.home.t0 && next.t1 === this.home.t1 && next.row0 === this.home.row0 && next.row1 === this.home.row1;
    this.view = isHome ? this.home : next;
    this.zoomed(!isHome);
    this.coarseWhileMoving();
    this.stage.redraw();
  }

  // If frames are slow, draws half the columns and rows during motion, and all of them once at rest.
  private coarseWhileMoving(): void {
    if (this.moving === 0 && this.stage.lastFrame < FRAME) return;
    clearTimeout(this.moving);
    this.moving = window.setTimeout(() => {
      this.moving = 0;
      this.stage.redraw();
    }, REST);
  }

  private listen(): void {
    const node = this.stage.node;
    onWheel(node, (e, steps) => this.wheel(e, steps));
    let from: { x: number; y: number; view: Window; strip: boolean } | null = null;
    onDrag(node, {
      start: (x, y) => {
        from = { x, y, view: this.view, strip: y < this.area().strip + STRIP };
        if (from.strip) this.centre(x);
        return true;
      },
      move: (x, y) => {
        if (from) from.strip ? this.centre(x) : this.pan(from.view, x - from.x, y - from.y);
      },
      end: () => (from = null),
    });
    node.addEventListener("pointerdown", (e) => {
      const box = node.getBoundingClientRect();
      if (e.pointerType === "touch") this.hover(e.clientX - box.left, e.clientY - box.top);
    });
    node.addEventListener("pointermove", (e) => {
      if (from) return;
      const box = node.getBoundingClientRect();
      this.hover(e.clientX - box.left, e.clientY - box.top);
    });
    node.addEventListener("pointerleave", () => this.point(-1, 0, 0));
    node.addEventListener("blur", () => this.point(-1, 0, 0));
    node.addEventListener("dblclick", () => this.reset());
    node.addEventListener("keydown", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.altKey && this.key(e.key)) e.preventDefault();
    });
  }

  private wheel(e: WheelEvent, steps: number): boolean {
    const box = this.stage.node.getBoundingClientRect();
    const [x, y] = [e.clientX - box.left, e.clientY - box.top];
    const area = this.area();
    this.point(-1, 0, 0);
    if (e.shiftKey) return this.scroll(0, (e.deltaX || e.deltaY) / 100);
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) return this.scroll(e.deltaX / 100, 0);
    const factor = 1.3 ** steps;
    if (e.altKey || x < area.left) return this.zoom(1, factor, x, y);
    return this.zoom(factor, 1, x, y);
  }

  /** Moves by tenths of the visible range. Returns false at the end of the data. */
  private scroll(time: number, rows: number): boolean {
    const before = this.view;
    const dt = ((before.t1 - before.t0) * time) / 10;
    const dr = ((before.row1 - before.row0) * rows) / 10;
    this.show({ t0: before.t0 + dt, t1: before.t1 + dt, row0: before.row0 + dr, row1: before.row1 + dr });
    return this.view !== before && (this.view.t0 !== before.t0 || this.view.row0 !== before.row0);
  }

  private zoom(factorT: number, factorR: number, x: number, y: number): boolean {
    const area = this.area();
    const before = this.view;
    const shareX = Math.max(0, Math.min(1, (x - area.left) / (area.right - area.left)));
    const shareY = Math.max(0, Math.min(1, (y - area.top) / (area.bottom - area.top)));
    const spanT = Math.max(Math.min(this.home.t1 - this.home.t0, 100), (before.t1 - before.t0) * factorT);
    const spanR = Math.max(Math.min(this.a.rows.length || 1, 2), (before.row1 - before.row0) * factorR);
    const t = before.t0 + (before.t1 - before.t0) * shareX;
    const r = before.row0 + (before.row1 - before.row0) * shareY;
    this.show({ t0: t - spanT * shareX, t1: t + spanT * (1 - shareX), row0: r - spanR * shareY, row1: r + spanR * (1 - shareY) });
    return this.view.t0 !== before.t0 || this.view.t1 !== before.t1 || this.view.row0 !== before.row0 || this.view.row1 !== before.row1;
  }

  private pan(from: Window, dx: number, dy: number): void {
    const area = this.area();
    const dt = (dx / (area.right - area.left)) * (from.t1 - from.t0);
    const dr = (dy / (area.bottom - area.top)) * (from.row1 - from.row0);
    this.point(-1, 0, 0);
    this.show({ t0: from.t0 - dt, t1: from.t1 - dt, row0: from.row0 - dr, row1: from.row1 - dr });
  }

  /** Centres the view on the time at a position in the overview. */
  private centre(x: number): void {
    const area = this.area();
    const t = this.a.begin + ((x - area.left) / (area.right - area.left)) * (this.a.finish - this.a.begin);
    const half = (this.view.t1 - this.view.t0) / 2;
    this.show({ ...this.view, t0: t - half, t1: t + half });
  }

  private hover(x: number, y: number): void {
    const area = this.area();
    if (x < area.left || x > area.right || y < area.top || y >= area.bottom) return this.point(-1, 0, 0);
    const perPx = (this.view.t1 - this.view.t0) / (area.right - area.left);
    const row = Math.floor(this.view.row0 + ((y - area.top) / (area.bottom - area.top)) * (this.view.row1 - this.view.row0));
    this.point(activityAt(this.a, row, this.view.t0 + (x - area.left) * perPx, 1.5 * perPx), x, y);
  }

  private point(i: number, x: number, y: number): void {
    if (i < 0 && this.current < 0) return;
    const changed = i !== this.current;
    this.current = i;
    if (i < 0) this.stage.read(null, 0, 0);
    else this.stage.read(this.reading(i), x, y);
    if (changed) this.stage.redrawOver();
  }

  reading(i: number): Reading {
    const a = this.a;
    const rows: [string, string][] = [
      ["where", a.rows[a.row[i]!] ?? ""],
      ["start", picoseconds(a.start[i]!)],
      ["duration", picoseconds(a.end[i]! - a.start[i]!)],
    ];
    if (a.peer[i] !== NOBODY) rows.push(["peer", a.rows[a.peer[i]!] ?? String(a.peer[i])]);
    if (a.bytes[i]! >= 0) rows.push(["bytes", a.bytes[i]! < 1024 ? exact(a.bytes[i]!, "bytes") : `${count(a.bytes[i]!)} (${exact(a.bytes[i]!, "bytes")})`]);
    if (a.peer[i] !== NOBODY) rows.push(["tag", String(a.tag[i])]);
    return { title: a.kinds[a.kind[i]!]!.name, rows };
  }

  private key(key: string): boolean {
    const area = this.area();
    const [x, y] = [(area.left + area.right) / 2, (area.top + area.bottom) / 2];
    switch (key) {
      case "ArrowRight": this.scroll(2, 0); return true;
      case "ArrowLeft": this.scroll(-2, 0); return true;
      case "ArrowDown": this.scroll(0, 2); return true;
      case "ArrowUp": this.scroll(0, -2); return true;
      case "+": case "=": this.zoomBy(1 / 1.5); return true;
      case "-": this.zoomBy(1.5); return true;
      case "]": this.zoom(1, 1 / 1.5, x, y); return true;
      case "[": this.zoom(1, 1.5, x, y); return true;
      case "Home": case "0": this.reset(); return true;
      case "n": case "N": return this.walk(1, 0);
      case "p": case "P": return this.walk(-1, 0);
      case "j": case "J": return this.walk(0, 1);
      case "k": case "K": return this.walk(0, -1);
      case "Escape":
        this.point(-1, 0, 0);
        this.stage.node.blur();
        return true;
      default: return false;
    }
  }

  private walk(step: number, rowStep: number): boolean {
    if (this.a.length === 0) return true;
    let next = this.current + step;
    if (this.current < 0) next = this.firstShown();
    else if (rowStep) {
      const row = Math.max(0, Math.min(this.a.rows.length - 1, this.a.row[this.current]! + rowStep));
      const found = activityAt(this.a, row, this.a.start[this.current]!, this.view.t1 - this.view.t0);
      next = found < 0 ? this.current : found;
    }
    next = Math.max(0, Math.min(this.a.length - 1, next));
    this.bringIntoView(next);
    const { x, y, w, h } = this.place(next, this.area());
    this.point(next, x + w / 2, y + h / 2);
    this.stage.say(spoken(this.reading(next)));
    return true;
  }

  private firstShown(): number {
    const row = Math.max(0, Math.min(this.a.rows.length - 1, Math.floor(this.view.row0)));
    const found = activityAt(this.a, row, this.view.t0, this.view.t1 - this.view.t0);
    return found < 0 ? 0 : found;
  }

  private bringIntoView(i: number): void {
    const v = this.view;
    const [t, r] = [this.a.start[i]!, this.a.row[i]! + 0.5];
    const [dt, dr] = [(v.t1 - v.t0) / 2, (v.row1 - v.row0) / 2];
    const inTime = t >= v.t0 && t <= v.t1;
    const inRows = r >= v.row0 && r <= v.row1;
    if (inTime && inRows) return;
    this.show({ t0: inTime ? v.t0 : t - dt, t1: inTime ? v.t1 : t + dt, row0: inRows ? v.row0 : r - dr, row1: inRows ? v.row1 : r + dr });
  }

  nothing(): string | null {
    return this.a.length ? null : "Nothing to draw: there are no activities.";
  }

  describe(): string {
    const spent = new Float64Array(this.a.kinds.length);
    for (let i = 0; i < this.a.length; i++) spent[this.a.kind[i]!]! += this.a.end[i]! - this.a.start[i]!;
    const whole = (this.a.finish - this.a.begin) * Math.max(1, this.a.rows.length);
    const shares = this.a.kinds.map((kind, k) => `${kind.name} ${exact(Math.round((spent[k]! / whole) * 1e4) / 1e4, "share")}`);
    return `Timeline of ${many(this.a.rows.length, "row")} over ${picoseconds(this.a.finish - this.a.begin)}, ${many(this.a.length, "activity", "activities")} and ${many(this.arrows.length, "message")}; of the time ${shares.join(", ")}.`;
  }

  table(): TableSource {
    const a = this.a;
    return {
      columns: ["where", "kind", "start", "duration", "peer", "bytes", "tag"],
      length: a.length,
      row: (i) => [
        a.rows[a.row[i]!] ?? "", a.kinds[a.kind[i]!]!.name, picoseconds(a.start[i]!), picoseconds(a.end[i]! - a.start[i]!),
        a.peer[i] === NOBODY ? "–" : a.rows[a.peer[i]!] ?? String(a.peer[i]), a.bytes[i]! < 0 ? "–" : count(a.bytes[i]!), a.peer[i] === NOBODY ? "–" : String(a.tag[i]),
      ],
    };
  }

  locate(_series: number, index: number) {
    if (index >= this.a.length) return null;
    const { x, y, w, h } = this.place(index, this.area());
    return { x: x + w / 2, y: y + h / 2, ...this.reading(index) };
  }

  span(): { x: [number, number]; y: [number, number] } {
    return { x: [this.view.t0, this.view.t1], y: [this.view.row0, this.view.row1] };
  }

  inView(): number {
    return activitiesInView(this.a, this.view);
  }
}

/** The window, moved and clipped to lie within the home view. */
function inside(w: Window, home: Window): Window {
  const time = Math.min(w.t1 - w.t0, home.t1 - home.t0);
  const rows = Math.min(w.row1 - w.row0, home.row1 - home.row0);
  const t0 = Math.max(home.t0, Math.min(home.t1 - time, w.t0));
  const row0 = Math.max(home.row0, Math.min(home.row1 - rows, w.row0));
  // At full width, uses the exact numbers of the home view, not sums that differ in the last digit.
  return {
    t0, t1: time >= home.t1 - home.t0 ? home.t1 : t0 + time,
    row0, row1: rows >= home.row1 - home.row0 ? home.row1 : row0 + rows,
  };
}

function stripBands(rows: number, bands: number): { row0: number; row1: number }[] {
  return Array.from({ length: bands }, (_, b) => ({ row0: Math.floor((b * rows) / bands), row1: Math.floor(((b + 1) * rows) / bands) }));
}
