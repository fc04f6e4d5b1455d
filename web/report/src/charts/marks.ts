// Marks of a line chart: vertical and horizontal lines, and dots. Their names cover neither each other nor the dots. A
// name without room is left out of the drawing, but not of the description.

import type { Mark } from "../data/report";
import { textWidth, type Painter } from "../draw/painter";
import { Labels, type Room } from "./labels";
import type { Frame } from "./plot";

const SIZE = 11;
const LINE = 15;
const RADIUS = 3.5;
const DOT = 4; // half the size of a point of a curve

interface Placed { name: string; candidates: Room[] }

/** A curve as drawn, in pixels: x, y, x, y…; with or without dots at its points. */
export interface Curve { points: number[]; dots: boolean }

export function drawMarks(p: Painter, f: Frame, marks: Mark[], curves: Curve[], color = f.theme.quiet): void {
  const area = { left: f.left, top: f.top, width: f.right - f.left, height: f.bottom - f.top };
  const labels = new Labels(area);
  for (const { points, dots } of curves) {
    labels.avoidLine(points);
    for (let i = 0; dots && i + 1 < points.length; i += 2) labels.avoid({ left: points[i]! - DOT, top: points[i + 1]! - DOT, width: 2 * DOT, height: 2 * DOT });
  }
  const seen = marks.map((mark) => ({ name: mark.name, x: mark.x == null ? null : f.x.px(mark.x), y: mark.y == null ? null : f.y.px(mark.y) }))
    .filter(({ x, y }) => (x == null || (x >= f.left && x <= f.right)) && (y == null || (y >= f.top && y <= f.bottom)));
  const width = (name: string) => textWidth(name, SIZE);
  const stroke = { color, dash: [4, 4] };
  const names: Placed[] = [];
  for (const { name, x, y } of seen) {
    if (x != null || y == null) continue;
    p.line(f.left, y, f.right, y, stroke);
    names.push({ name, candidates: besideLevel(area, y, width(name)) });
  }
  for (const { name, x, y } of seen) {
    if (x == null || y != null) continue;
    p.line(x, f.top, x, f.bottom, stroke);
    labels.avoidLine([x, f.top, x, f.bottom]);
    names.push({ name, candidates: besideUpright(area, x, width(name)) });
  }
  // The highest marks get their names first.
  for (const { name, x, y } of [...seen].sort((a, b) => (a.y ?? 0) - (b.y ?? 0))) {
    if (x == null || y == null) continue;
    labels.avoid({ left: x - RADIUS, top: y - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS });
    p.circles([x, y], RADIUS, { fill: f.theme.noise });
    names.push({ name, candidates: around(area, x, y, width(name)) });
  }
  for (const { name, candidates } of names) {
    const room = labels.place(candidates);
    if (!room) continue;
    // A background keeps the name readable over lines and grid.
    p.rect(room.left - 2, room.top + 1, room.width + 4, room.height - 2, f.theme.paper, 0.8);
    p.text(room.left, room.top + LINE / 2, name, { color: f.theme.ink, size: SIZE, baseline: "middle" });
  }
}

const room = (left: number, top: number, width: number): Room => ({ left, top, width, height: LINE });

/** Candidates for the name of a horizontal line: above or below it, right, left or between. */
function besideLevel(area: Room, y: number, width: number): Room[] {
  const [left, right] = [area.left + 6, area.left + area.width - width - 6];
  const between = [0.25, 0.5, 0.75].map((share) => right + share * (left - right));
  return [y - LINE, y].flatMap((top) => [right, left, ...between].map((x) => room(x, top, width)));
}

function centred(area: Room, x: number, width: number): number {
  return Math.max(area.left, Math.min(x - width / 2, area.left + area.width - width));
}

/** Candidates for the name of a vertical line: right or left of it, from the top down; across it if neither side has room. */
function besideUpright(area: Room, x: number, width: number): Room[] {
  const tops = Array.from({ length: Math.floor(area.height / LINE) }, (_, row) => area.top + row * LINE);
  const beside = tops.flatMap((top) => [room(x + 5, top, width), room(x - 5 - width, top, width)]);
  return [...beside, ...tops.map((top) => room(centred(area, x, width), top, width))];
}

/** Candidates for the name of a dot: above it, at its sides, below it, or further up. */
function around(area: Room, x: number, y: number, width: number): Room[] {
  const middle = centred(area, x, width);
  const [above, level] = [y - RADIUS - LINE, y - LINE / 2];
  return [
    room(middle, above, width), room(x + RADIUS + 4, level, width), room(x - RADIUS - 4 - width, level, width), room(middle, y + RADIUS, width),
    ...[1, 2, 3].map((row) => room(middle, above - row * LINE, width)),
  ];
}
