// Places names so that they cover neither each other nor what they mark.

export interface Room { left: number; top: number; width: number; height: number }

const APART = 3; // pixels kept free between two names
const PART = 6; // lines to avoid are split into parts of this many pixels

export class Labels {
  private readonly taken: Room[] = [];
  /** Covered only if a name has no other place. */
  private readonly lines: Room[] = [];

  constructor(private readonly area: Room) {}

  /** Keeps names out of a rectangle. */
  avoid(room: Room): void {
    this.taken.push(room);
  }

  /** Keeps names off a line through points, given as x, y, x, y…, where they have another place; NaN breaks the line. */
  avoidLine(points: ArrayLike<number>): void {
    for (let i = 2; i + 1 < points.length; i += 2) {
      const [x0, y0, x1, y1] = [points[i - 2]!, points[i - 1]!, points[i]!, points[i + 1]!];
      const parts = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / PART);
      for (let k = 0; k <= parts; k++) {
        const [x, y] = [x0 + ((x1 - x0) * k) / (parts || 1), y0 + ((y1 - y0) * k) / (parts || 1)];
        const dot = { left: x - 1, top: y - 1, width: 2, height: 2 };
        if (overlap(dot, this.area)) this.lines.push(dot);
      }
    }
  }

  /** Takes the candidate that covers least of the lines, of those that lie inside the chart and are free; null if there is none. */
  place(candidates: Room[]): Room | null {
    let found: Room | null = null;
    let least = Infinity;
    for (const room of candidates) {
      if (!within(room, this.area) || this.taken.some((other) => overlap(room, other))) continue;
      const covered = this.lines.reduce((count, other) => count + Number(overlap(room, other)), 0);
      if (covered < least) [found, least] = [room, covered];
      if (least === 0) break;
    }
    if (found) this.taken.push(found);
    return found;
  }
}

function within(room: Room, area: Room): boolean {
  return room.left >= area.left && room.top >= area.top && room.left + room.width <= area.left + area.width && room.top + room.height <= area.top + area.height;
}

function overlap(a: Room, b: Room): boolean {
  return a.left < b.left + b.width + APART && b.left < a.left + a.width + APART && a.top < b.top + b.height && b.top < a.top + a.height;
}
