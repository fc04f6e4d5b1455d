// The activities of a timeline, indexed by row and time. Columns stay as stored in the file. Added are the start of each
// row, the latest end so far, and sums over blocks, so that a pixel with hundreds of activities takes only a few
// reads.

import { ReportError, type Container } from "../data/container";
import type { KindRole, TimelinePlot } from "../data/report";

export const NOBODY = 4294967295;
export const BLOCK = 64;

export interface Activities {
  rows: string[];
  kinds: { name: string; role: KindRole }[];
  length: number;
  row: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  kind: Uint8Array;
  peer: Uint32Array;
  bytes: Float64Array;
  tag: Uint32Array;
  /** Row r has the activities from rowStart[r] up to rowStart[r + 1]. */
  rowStart: Uint32Array;
  /** Latest end among the row's activities up to this one. Unlike `end`, it ascends within a row. */
  reach: Float64Array;
  /** Time spent in each kind in each complete block of BLOCK activities, `kinds.length` numbers per block. */
  blockTime: Float64Array;
  begin: number;
  finish: number;
}

export interface Arrows {
  length: number;
  from: Uint32Array;
  to: Uint32Array;
  sent: Float64Array;
  received: Float64Array;
  bytes: Float64Array;
}

export function activitiesOf(data: Container, plot: TimelinePlot): Activities {
  return indexed({
    rows: plot.rows, kinds: plot.kinds,
    row: data.u32(plot.row), start: data.f64(plot.start), end: data.f64(plot.end), kind: data.u8(plot.kind),
    peer: data.u32(plot.peer), bytes: data.f64(plot.bytes), tag: data.u32(plot.tag),
  });
}

export function arrowsOf(data: Container, plot: TimelinePlot): Arrows {
  const arrows = {
    length: 0,
    from: data.u32(plot.arrow_from), to: data.u32(plot.arrow_to), sent: data.f64(plot.arrow_sent),
    received: data.f64(plot.arrow_received), bytes: data.f64(plot.arrow_bytes),
  };
  arrows.length = sameLength([arrows.from, arrows.to, arrows.sent, arrows.received, arrows.bytes]);
  return arrows;
}

type Columns = Pick<Activities, "rows" | "kinds" | "row" | "start" | "end" | "kind" | "peer" | "bytes" | "tag">;

export function indexed(c: Columns): Activities {
  const length = sameLength([c.row, c.start, c.end, c.kind, c.peer, c.bytes, c.tag]);
  if (c.kinds.length > 60) throw new ReportError("A timeline has at most 60 kinds of activities.");
  check(c, length);
  const rowStart = rowStarts(c.row, c.rows.length);
  const reach = reachOf(c, length);
  let [begin, finish] = [Infinity, -Infinity];
  for (let r = 0; r < c.rows.length; r++) {
    if (rowStart[r]! === rowStart[r + 1]!) continue;
    begin = Math.min(begin, c.start[rowStart[r]!]!);
    finish = Math.max(finish, reach[rowStart[r + 1]! - 1]!);
  }
  if (!(finish > begin)) [begin, finish] = Number.isFinite(begin) ? [begin, begin + 1] : [0, 1];
  return { ...c, length, rowStart, reach, blockTime: blockTimes(c, length), begin, finish };
}

function sameLength(columns: ArrayLike<number>[]): number {
  const length = columns[0]!.length;
  if (columns.some((column) => column.length !== length)) throw new ReportError("The columns of this timeline differ in length.");
  return length;
}

function check(c: Columns, length: number): void {
  for (let i = 0; i < length; i++) {
    const ordered = i === 0 || c.row[i]! > c.row[i - 1]! || (c.row[i] === c.row[i - 1] && c.start[i]! >= c.start[i - 1]!);
    if (!ordered) throw new ReportError(`The activities of this timeline are not in order (at the ${i + 1}th).`);
    if (c.row[i]! >= c.rows.length || c.kind[i]! >= c.kinds.length) throw new ReportError(`The ${i + 1}th activity of this timeline has a row or kind that is not there.`);
    if (!(c.end[i]! >= c.start[i]!)) throw new ReportError(`The ${i + 1}th activity of this timeline ends before it starts.`);
  }
}

function rowStarts(row: Uint32Array, rows: number): Uint32Array {
  const starts = new Uint32Array(rows + 1);
  for (let i = 0; i < row.length; i++) starts[row[i]! + 1]!++;
  for (let r = 0; r < rows; r++) starts[r + 1]! += starts[r]!;
  return starts;
}

// Most timelines have no nested activities: their ends already ascend and are used directly.
function reachOf(c: Columns, length: number): Float64Array {
  let ascending = true;
  for (let i = 1; i < length && ascending; i++) ascending = c.row[i] !== c.row[i - 1] || c.end[i]! >= c.end[i - 1]!;
  if (ascending) return c.end;
  const reach = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const inRow = i > 0 && c.row[i] === c.row[i - 1];
    reach[i] = inRow ? Math.max(reach[i - 1]!, c.end[i]!) : c.end[i]!;
  }
  return reach;
}

function blockTimes(c: Columns, length: number): Float64Array {
  const kinds = c.kinds.length;
  const sums = new Float64Array(Math.floor(length / BLOCK) * kinds);
  for (let i = 0; i < Math.floor(length / BLOCK) * BLOCK; i++) {
    sums[Math.floor(i / BLOCK) * kinds + c.kind[i]!]! += c.end[i]! - c.start[i]!;
  }
  return sums;
}

/** First activity of a row up to which some activity ends at the time or later. */
export function firstReaching(a: Activities, row: number, time: number): number {
  let lo = a.rowStart[row]!;
  let hi = a.rowStart[row + 1]!;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (a.reach[mid]! >= time) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

/** First activity of a row that starts after the time. */
export function firstStartingAfter(a: Activities, row: number, time: number): number {
  let lo = a.rowStart[row]!;
  let hi = a.rowStart[row + 1]!;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (a.start[mid]! > time) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

/** The activity of a row at a time, within `slack`; prefers noise, then the activity that started last. */
export function activityAt(a: Activities, row: number, time: number, slack: number): number {
  if (!(row >= 0 && row < a.rows.length)) return -1;
  const last = firstStartingAfter(a, row, time + slack);
  let best = -1;
  let bestScore = -Infinity;
  // Goes back far only with nested activities; bounded, since this runs on every mouse move.
  for (let i = last - 1, tries = 0; i >= a.rowStart[row]! && a.reach[i]! >= time - slack && tries < 20_000; i--, tries++) {
    if (a.end[i]! < time - slack) continue;
    const inside = a.start[i]! <= time && a.end[i]! >= time;
    const noise = a.kinds[a.kind[i]!]!.role === "noise";
    const distance = inside ? 0 : Math.min(Math.abs(a.start[i]! - time), Math.abs(a.end[i]! - time));
    const score = (noise ? 4 : 0) + (inside ? 2 : 1 - distance / (slack || 1)) + (a.start[i]! - a.begin) / (a.finish - a.begin) * 1e-3;
    if (score > bestScore) [best, bestScore] = [i, score];
  }
  return best;
}
