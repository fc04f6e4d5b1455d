// Places names so that they cover neither each other nor what they mark.

export interface Room { left: number; top: number; width: number; height: number }

const APART = 3; // pixels kept free between two names

export class Labels {
  private readonly taken: Room[] = [];

  constructor(private readonly area: Room) {}

  /** Keeps names out of a rectangle. */
  avoid(room: Room): void {
    this.taken.push(room);
  }

  /** Takes the first candidate that lies inside the chart and is free; null if there is none. */
  place(candidates: Room[]): Room | null {
    const found = candidates.find((room) => within(room, this.area) && this.taken.every((other) => !overlap(room, other)));
    if (found) this.taken.push(found);
    return found ?? null;
  }
}

function within(room: Room, area: Room): boolean {
  return room.left >= area.left && room.top >= area.top && room.left + room.width <= area.left + area.width && room.top + room.height <= area.top + area.height;
}

function overlap(a: Room, b: Room): boolean {
  return a.left < b.left + b.width + APART && b.left < a.left + a.width + APART && a.top < b.top + b.height && b.top < a.top + a.height;
}
