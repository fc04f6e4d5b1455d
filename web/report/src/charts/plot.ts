// The interface of each kind of plot. The view (view.ts) does everything that is common to all kinds.

import type { Axis } from "../data/report";
import type { Painter } from "../draw/painter";
import type { Theme } from "../draw/theme";
import { coordinate, type Range, type Scale } from "./scale";

export interface Frame {
  x: Scale;
  y: Scale;
  left: number;
  top: number;
  right: number;
  bottom: number;
  /** Width of the whole chart. */
  width: number;
  theme: Theme;
}

export type Swatch = "box" | "line" | "dashed" | "dot" | "diamond";

export interface Series {
  name: string;
  visible: boolean;
  swatch: Swatch;
  color(theme: Theme): string;
  /** Only explains a colour and cannot be hidden. */
  fixed?: boolean;
}

/** The text for a point, used by both the tooltip and the screen reader. */
export interface Reading {
  title: string;
  rows: [string, string][];
}

export interface Point extends Reading {
  series: number;
  index: number;
  /** Position in axis values. */
  x: number;
  y: number;
}

export interface TableSource {
  columns: string[];
  length: number;
  row(index: number): string[];
}

export interface Mode { names: string[]; current: number; set(index: number): void }

export interface Plot {
  readonly x: Axis;
  readonly y: Axis;
  readonly series: Series[];
  /** Names of the rows, if the y axis counts rows. The plot draws them itself. */
  readonly categories?: string[];
  readonly mode?: Mode;
  /** First and last values, which always have ticks when in view. */
  readonly ends?: { x: number[]; y: number[] };
  /** Space on the left of rows with names. */
  leftMargin?(width: number): number;
  /** Space on the right: for a colour bar, or the numbers of bars. */
  rightMargin?(width: number): number;
  heightFor?(width: number): number;
  home(): { x: Range; y: Range };
  draw(p: Painter, f: Frame): void;
  /** Draws outside of the axes, for example a colour bar. */
  drawAround?(p: Painter, f: Frame): void;
  /** Offset in pixels of a point from its x, as boxes of several series can share one x. */
  offset?(f: Frame, point: Point): number;
  nearest(f: Frame, px: number, py: number): Point | null;
  /** Number of points that the keyboard can step through. */
  length(series: number): number;
  point(series: number, index: number): Point;
  /** The next point for an arrow key, in plots with a layout of their own; `down` is 1 for the down key. */
  neighbour?(index: number, right: number, down: number): number;
  /** Why there is no picture; null if there is something to draw. */
  nothing(): string | null;
  describe(): string;
  table(): TableSource;
}

/** Number of series colours. After that, colours repeat with dashed lines; dots cannot be dashed, so later series share one colour. */
export const COLORS = 8;

export function seriesColor(index: number): (theme: Theme) => string {
  return (theme) => theme.series[index % theme.series.length]!;
}

/** The colours of series. A sum of the others is grey and takes no colour from them. */
export function seriesColors(series: { sum?: boolean }[]): ((theme: Theme) => string)[] {
  let next = 0;
  return series.map((s) => (s.sum ? (theme: Theme) => theme.others : seriesColor(next++)));
}

/** What to say instead of a picture if no pair of values can be drawn on the axes. */
export function noPoints(x: Axis, y: Axis, all: { x: ArrayLike<number>; y: ArrayLike<number> }[]): string | null {
  let [pairs, zeros] = [0, 0];
  for (const s of all) {
    for (let i = 0; i < s.x.length; i++) {
      if (Number.isFinite(coordinate(x, s.x[i]!)) && Number.isFinite(coordinate(y, s.y[i]!))) return null;
      if (Number.isFinite(s.y[i]!)) pairs++;
      if (s.y[i] === 0) zeros++;
    }
  }
  return pairs > 0 && pairs === zeros ? `Nothing to draw: every ${y.label || "value"} is 0.` : "Nothing to draw: there are no values.";
}

/** Finds the nearest visible point in pixels, for plots with few points. */
export function nearestOf(plot: Plot, f: Frame, px: number, py: number, reach = 60, weightY = 1): Point | null {
  let best: [number, number] | null = null;
  let distance = reach * reach;
  plot.series.forEach((series, s) => {
    if (!series.visible) return;
    for (let i = 0; i < plot.length(s); i++) {
      const point = plot.point(s, i);
      const dx = f.x.px(point.x) - px;
      const dy = (f.y.px(point.y) - py) * weightY;
      const d = dx * dx + dy * dy;
      if (d < distance) {
        distance = d;
        best = [s, i];
      }
    }
  });
  return best ? plot.point(best[0], best[1]) : null;
}
