// What a kind of plot must be able to do to be drawn, read and saved. The view (view.ts) does the rest alike for all.

import type { Axis } from "../data/report";
import type { Painter } from "../draw/painter";
import type { Theme } from "../draw/theme";
import type { Range, Scale } from "./scale";

export interface Frame {
  x: Scale;
  y: Scale;
  left: number;
  top: number;
  right: number;
  bottom: number;
  theme: Theme;
}

export type Swatch = "box" | "line" | "dashed" | "dot" | "diamond";

export interface Series {
  name: string;
  visible: boolean;
  swatch: Swatch;
  color(theme: Theme): string;
  /** What only explains a colour cannot be switched off. */
  fixed?: boolean;
}

/** What is read out: the same words go to the tooltip and to the screen reader. */
export interface Reading {
  title: string;
  rows: [string, string][];
}

export interface Point extends Reading {
  series: number;
  index: number;
  /** Place in values of the axes. */
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
  /** Names of the rows of a chart whose y axis counts them. */
  readonly categories?: string[];
  readonly mode?: Mode;
  /** Values that have ticks on the axes wherever they are in view: the first and the last. */
  readonly ends?: { x: number[]; y: number[] };
  /** Kept free on the right, for a colour bar. */
  readonly rightMargin?: number;
  heightFor?(width: number): number;
  home(): { x: Range; y: Range };
  draw(p: Painter, f: Frame): void;
  /** Draws outside of the axes: a colour bar. */
  drawAround?(p: Painter, f: Frame): void;
  /** Pixels by which a point stands beside its x: boxes of several series share one. */
  offset?(f: Frame, point: Point): number;
  nearest(f: Frame, px: number, py: number): Point | null;
  /** Number of points the keyboard walks over. */
  length(series: number): number;
  point(series: number, index: number): Point;
  /** Where the arrow keys lead in a plot of its own geometry; `down` is 1 for the key down. */
  neighbour?(index: number, right: number, down: number): number;
  describe(): string;
  table(): TableSource;
}

/** After so many series colours come again, and lines are dashed then; dots cannot be, so that later series share one colour. */
export const COLORS = 8;

export function seriesColor(index: number): (theme: Theme) => string {
  return (theme) => theme.series[index % theme.series.length]!;
}

/** The visible point nearest in pixels, for plots of few points. */
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
