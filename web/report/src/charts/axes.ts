// Margins, grid, ticks and labels around a plot.

import { ticks, withEnds, type Tick } from "../format/ticks";
import { fit, textWidth, type Painter } from "../draw/painter";
import type { Theme } from "../draw/theme";
import type { Frame, Plot } from "./plot";
import { Scale, type Range } from "./scale";

const LABEL = 12;
const TOP = 28;
const BOTTOM = 46;
const RIGHT = 14;

export interface Layout { frame: Frame; xTicks: Tick[]; yTicks: Tick[] }

export function layout(plot: Plot, view: { x: Range; y: Range }, width: number, height: number, theme: Theme): Layout {
  const top = plot.categories ? 8 : TOP;
  const bottom = height - BOTTOM;
  const y = plot.categories ? new Scale(plot.y, view.y, top, bottom) : new Scale(plot.y, view.y, bottom, top);
  const yTicks = plot.categories ? [] : ticksFor(y, Math.max(2, (bottom - top) / 44), plot.ends?.y);
  const widest = Math.max(0, ...yTicks.map((t) => textWidth(t.label, LABEL)));
  const left = Math.ceil(plot.leftMargin?.(width) ?? Math.max(36, widest + 12));
  const right = width - (plot.rightMargin?.(width) ?? RIGHT);
  const x = new Scale(plot.x, view.x, left, right);
  return { frame: { x, y, left, top, right, bottom, width, theme }, xTicks: xTicksFor(x, width, plot.ends?.x), yTicks };
}

function ticksFor(scale: Scale, room: number, ends: number[] = []): Tick[] {
  const seen = ends.filter((end) => end >= scale.lowValue && end <= scale.highValue);
  return withEnds(scale.axis, seen, ticks(scale.axis, scale.lowValue, scale.highValue, room));
}

function xTicksFor(x: Scale, width: number, ends?: number[]): Tick[] {
  let room = Math.max(2, (x.p1 - x.p0) / 56);
  let found = ticksFor(x, room, ends);
  // Long labels need fewer ticks, so reduce them until the measured labels fit.
  for (let attempt = 0; attempt < 6 && overlap(x, found, width); attempt++) {
    room *= 0.7;
    found = ticksFor(x, Math.max(1.5, room), ends);
  }
  return found;
}

/** The middle of the label of a tick: at the tick, but within the chart. */
function labelAt(px: number, label: string, width: number): number {
  const half = textWidth(label, LABEL) / 2;
  return Math.max(half, Math.min(px, width - 1 - half));
}

function overlap(x: Scale, found: Tick[], width: number): boolean {
  let last = -Infinity;
  for (const tick of found) {
    if (!tick.label) continue;
    const half = textWidth(tick.label, LABEL) / 2;
    const middle = labelAt(x.px(tick.value), tick.label, width);
    if (middle - half < last + 8) return true;
    last = middle + half;
  }
  return false;
}

export function drawGrid(p: Painter, l: Layout): void {
  const { frame: f } = l;
  p.group("grid", () => {
    for (const t of l.yTicks) {
      if (!t.major) continue;
      const y = Math.round(f.y.px(t.value)) + 0.5;
      p.line(f.left, y, f.right, y, { color: f.theme.grid });
    }
    for (const t of l.xTicks) {
      if (!t.major) continue;
      const x = Math.round(f.x.px(t.value)) + 0.5;
      p.line(x, f.top, x, f.bottom, { color: f.theme.grid });
    }
  });
}

export function drawAxes(p: Painter, plot: Plot, l: Layout): void {
  const { frame: f } = l;
  p.group("axes", () => {
    const base = Math.round(f.bottom) + 0.5;
    p.line(f.left, base, f.right, base, { color: f.theme.axis });
    for (const t of l.xTicks) {
      const x = Math.round(f.x.px(t.value)) + 0.5;
      if (x < f.left - 1 || x > f.right + 1) continue;
      p.line(x, base, x, base + (t.major ? 5 : 3), { color: f.theme.axis });
      if (t.label) p.text(labelAt(x, t.label, f.width), f.bottom + 9, t.label, { color: f.theme.quiet, size: LABEL, align: "center", baseline: "top" });
    }
    p.text((f.left + f.right) / 2, f.bottom + 30, plot.x.label, { color: f.theme.ink, size: LABEL, align: "center", baseline: "top" });
    if (!plot.categories) drawYLabels(p, plot, l);
  });
}

function drawYLabels(p: Painter, plot: Plot, l: Layout): void {
  const { frame: f } = l;
  for (const t of l.yTicks) {
    if (t.label) p.text(f.left - 8, f.y.px(t.value), t.label, { color: f.theme.quiet, size: LABEL, align: "right", baseline: "middle" });
  }
  p.text(0, 4, fit(plot.y.label, f.right, LABEL), { color: f.theme.ink, size: LABEL, baseline: "top" });
}
