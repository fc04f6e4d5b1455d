// Draws a timeline: overview strip, cells, messages, time axis and row names.

import { picoseconds } from "../format/number";
import { ticks } from "../format/ticks";
import { fit, textWidth, type Painter } from "../draw/painter";
import { kindColors, type Theme } from "../draw/theme";
import { firstStartingAfter, type Activities, type Arrows } from "./activities";
import { bandsOf, gapOf, rasterise, timelinePalette, type Window } from "./raster";

export const STRIP = 30;
const STRIP_GAP = 12;
const BOTTOM = 44;
/**
 * Messages are drawn if the lines that cross a row are on average this many pixels apart; closer ones would hide the bars.
 * Low rows have no gap in which lines could run.
 */
const APART = 9;
const APART_IN_LOW_ROWS = 30;
const MOST_ARROWS = 4000;

export interface Area { left: number; right: number; top: number; bottom: number; strip: number }

export function areaOf(a: Activities, width: number, height: number): Area {
  const longest = a.rows.reduce((name, row) => (row.length > name.length ? row : name), "");
  const left = Math.ceil(Math.min(width * (width < 500 ? 0.34 : 0.25), textWidth(longest) + 14));
  return { left, right: width - 14, top: 4 + STRIP + STRIP_GAP, bottom: height - BOTTOM, strip: 4 };
}

export function paintCells(p: Painter, a: Activities, w: Window, area: Area, theme: Theme, columns: number, thinnest: number, messages: boolean): void {
  const { bands, top, bottom } = bandsOf(w, area.bottom - area.top, a.rows.length, thinnest, messages);
  if (bands.length === 0) return;
  const step = (area.right - area.left) / columns;
  p.cells({
    columns, rows: bands.length,
    index: rasterise(a, w.t0, w.t1, columns, bands),
    x: Float64Array.from({ length: columns + 1 }, (_, c) => area.left + c * step),
    top: top.map((y) => y + area.top),
    bottom: bottom.map((y) => y + area.top),
    palette: timelinePalette(theme, kindColors(a.kinds, theme)),
    ground: theme.paper,
  });
}

/** Draws the whole run as a strip, with the visible part marked. */
export function paintStrip(p: Painter, a: Activities, w: Window, area: Area, theme: Theme, index: Uint8Array, columns: number, bands: number): void {
  const step = (area.right - area.left) / columns;
  const high = STRIP / bands;
  p.cells({
    columns, rows: bands, index,
    x: Float64Array.from({ length: columns + 1 }, (_, c) => area.left + c * step),
    top: Float64Array.from({ length: bands }, (_, r) => area.strip + r * high),
    bottom: Float64Array.from({ length: bands }, (_, r) => area.strip + (r + 1) * high),
    palette: timelinePalette(theme, kindColors(a.kinds, theme)),
    ground: theme.paper,
  });
  const x = (t: number) => area.left + ((t - a.begin) / (a.finish - a.begin)) * (area.right - area.left);
  const [from, to] = [Math.max(area.left, x(w.t0)), Math.min(area.right, x(w.t1))];
  const rows = a.rows.length || 1;
  const [top, bottom] = [area.strip + (w.row0 / rows) * STRIP, area.strip + (w.row1 / rows) * STRIP];
  const shade = (x0: number, y0: number, x1: number, y1: number) => p.rect(x0, y0, Math.max(0, x1 - x0), Math.max(0, y1 - y0), theme.paper, 0.62);
  shade(area.left, area.strip, from, area.strip + STRIP);
  shade(to, area.strip, area.right, area.strip + STRIP);
  shade(from, area.strip, to, top);
  shade(from, bottom, to, area.strip + STRIP);
  p.frame(from, top, Math.max(2, to - from), Math.max(2, bottom - top), { color: theme.accent, width: 1.5 });
}

/** The messages in view, and whether they are too many to draw. */
export function arrowsInView(arrows: Arrows, w: Window, area: Area): { list: number[]; tooMany: boolean } {
  const list: number[] = [];
  // As many lines can cross the rows in view.
  const rows = w.row1 - w.row0;
  const apart = (area.bottom - area.top) / rows >= 14 ? APART : APART_IN_LOW_ROWS;
  const room = ((area.right - area.left) / apart) * Math.max(1, rows - 1);
  let crossings = 0;
  for (let i = 0; i < arrows.length; i++) {
    if (arrows.received[i]! < w.t0 || arrows.sent[i]! > w.t1) continue;
    const [from, to] = [arrows.from[i]!, arrows.to[i]!];
    if (Math.max(from, to) + 1 < w.row0 || Math.min(from, to) > w.row1) continue;
    crossings += Math.max(1, Math.min(Math.max(from, to), w.row1) - Math.max(Math.min(from, to), w.row0));
    if (crossings > room || list.length >= MOST_ARROWS) return { list: [], tooMany: true };
    list.push(i);
  }
  return { list, tooMany: false };
}

/** The messages that an activity sends or receives. */
export function arrowsOfActivity(a: Activities, arrows: Arrows, i: number): number[] {
  const [row, start, end] = [a.row[i]!, a.start[i]!, a.end[i]!];
  const list: number[] = [];
  for (let k = 0; k < arrows.length && list.length < 200; k++) {
    const sends = arrows.from[k] === row && arrows.sent[k]! >= start && arrows.sent[k]! <= end;
    if (sends || (arrows.to[k] === row && arrows.received[k]! >= start && arrows.received[k]! <= end)) list.push(k);
  }
  return list;
}

/** Where an arrow is drawn: from the edge of one bar to the edge of the other, so that it covers neither. */
export function arrowLine(arrows: Arrows, i: number, w: Window, area: Area): [number, number, number, number] {
  const high = (area.bottom - area.top) / (w.row1 - w.row0);
  const perPs = (area.right - area.left) / (w.t1 - w.t0);
  const x = (t: number) => Math.max(-1e4, Math.min(1e4, area.left + (t - w.t0) * perPs));
  const [from, to] = [arrows.from[i]!, arrows.to[i]!];
  const half = ((high - gapOf(high, true)) / 2) * Math.sign(to - from);
  const y = (row: number) => area.top + (row + 0.5 - w.row0) * high;
  return [x(arrows.sent[i]!), y(from) + half, x(arrows.received[i]!), y(to) - half];
}

export function paintArrows(p: Painter, arrows: Arrows, list: number[], w: Window, area: Area, look: { color: string; width: number; opacity: number }): void {
  const heads = list.length <= 300 && (area.bottom - area.top) / (w.row1 - w.row0) >= 14;
  const lines: number[] = [];
  for (const i of list) {
    const [x0, y0, x1, y1] = arrowLine(arrows, i, w, area);
    lines.push(x0, y0, x1, y1, NaN, NaN);
    if (heads) arrowHead(p, x0, y0, x1, y1, look.color, look.opacity);
  }
  // Uses many short paths: a rasteriser takes ten times as long for one path of thousands of crossing lines.
  for (let i = 0; i < lines.length; i += 6 * 32) p.path(lines.slice(i, i + 6 * 32), look);
}

function arrowHead(p: Painter, x0: number, y0: number, x1: number, y1: number, color: string, opacity: number): void {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 6) return;
  const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
  p.area([x1, y1, x1 - 5 * dx + 2.2 * dy, y1 - 5 * dy - 2.2 * dx, x1 - 5 * dx - 2.2 * dy, y1 - 5 * dy + 2.2 * dx], color, opacity);
}

const HINT = 11;

/** Draws the axis and the names of the rows. A `hint` stands beside what the axis shows, if there is room. */
export function paintAxes(p: Painter, a: Activities, w: Window, area: Area, theme: Theme, hint: string): void {
  const axis = { label: "time", unit: "seconds" as const, log: false };
  const perPs = (area.right - area.left) / (w.t1 - w.t0);
  const base = Math.round(area.bottom) + 0.5;
  p.line(area.left, base, area.right, base, { color: theme.axis });
  let room = (area.right - area.left) / 90;
  let found = ticks(axis, w.t0 * 1e-12, w.t1 * 1e-12, room);
  const widest = Math.max(0, ...found.map((t) => textWidth(t.label)));
  if (widest + 16 > 90) found = ticks(axis, w.t0 * 1e-12, w.t1 * 1e-12, (room = (area.right - area.left) / (widest + 24)));
  for (const t of found) {
    const x = area.left + (t.value * 1e12 - w.t0) * perPs;
    if (x < area.left - 1 || x > area.right + 1) continue;
    p.line(x, base, x, base + 5, { color: theme.axis });
    p.text(x, area.bottom + 9, t.label, { color: theme.quiet, align: "center", baseline: "top" });
  }
  const shown = `time, ${picoseconds(Math.round(w.t1 - w.t0)).replace(/(\.\d\d)\d+/, "$1")} shown`;
  const hinted = hint !== "" && textWidth(hint, HINT) <= area.right - area.left - textWidth(shown) - 12;
  const middle = hinted ? area.left + textWidth(shown) / 2 : (area.left + area.right) / 2;
  p.text(middle, area.bottom + 28, shown, { color: theme.ink, align: "center", baseline: "top" });
  if (hinted) p.text(area.right, area.bottom + 28, hint, { color: theme.quiet, align: "right", baseline: "top", size: HINT });
  paintRowNames(p, a, w, area, theme);
}

function paintRowNames(p: Painter, a: Activities, w: Window, area: Area, theme: Theme): void {
  const high = (area.bottom - area.top) / (w.row1 - w.row0);
  const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].find((n) => n * high >= 15) ?? 4096;
  for (let row = Math.ceil(Math.max(0, w.row0 - 0.5) / every) * every; row < Math.min(a.rows.length, w.row1); row += every) {
    const y = area.top + (row + 0.5 - w.row0) * high;
    if (y < area.top || y > area.bottom) continue;
    p.text(area.left - 8, y, fit(a.rows[row]!, area.left - 10), { color: theme.quiet, align: "right", baseline: "middle" });
  }
}

/** Number of activities that begin in the window or extend into it. */
export function activitiesInView(a: Activities, w: Window): number {
  let n = 0;
  for (let row = Math.max(0, Math.floor(w.row0)); row < Math.min(a.rows.length, Math.ceil(w.row1)); row++) {
    n += firstStartingAfter(a, row, w.t1) - firstStartingAfter(a, row, w.t0);
  }
  return n;
}
