// Converts between values and pixels on linear and logarithmic axes.

import type { Axis } from "../data/report";

/** A range in axis coordinates: the value, or its decimal logarithm on a log axis. */
export interface Range { lo: number; hi: number }

export function coordinate(axis: Axis, value: number): number {
  return axis.log ? (value > 0 ? Math.log10(value) : value === value ? -Infinity : NaN) : value;
}

// Limits of displayable values: within them, logarithms and differences stay in the range of doubles.
const LEAST = 1e-307;
const MOST = 8e307;

export function valueAt(axis: Axis, at: number): number {
  return axis.log ? Math.min(MOST, Math.max(LEAST, 10 ** at)) : at;
}

// Pixels far outside any chart, but near enough for painters to keep their precision.
const FAR = 1e4;

export class Scale {
  private readonly factor: number;

  constructor(readonly axis: Axis, readonly range: Range, readonly p0: number, readonly p1: number) {
    this.factor = (p1 - p0) / (range.hi - range.lo || 1);
  }

  /** The pixel of a value; on a log axis, zero is far beyond the low end. */
  px(value: number): number {
    return this.at(coordinate(this.axis, value));
  }

  /** Length in pixels of a distance in axis coordinates. */
  length(c: number): number {
    return Math.abs(c * this.factor);
  }

  at(c: number): number {
    const p = this.p0 + (c - this.range.lo) * this.factor;
    if (p > FAR) return FAR;
    return p < -FAR ? -FAR : p;
  }

  coordinateOf(px: number): number {
    return this.range.lo + (px - this.p0) / this.factor;
  }

  value(px: number): number {
    return valueAt(this.axis, this.coordinateOf(px));
  }

  get lowValue(): number {
    return valueAt(this.axis, this.range.lo);
  }

  get highValue(): number {
    return valueAt(this.axis, this.range.hi);
  }
}

/** Collects the drawable extent of values on an axis. */
export class Extent {
  lo = Infinity;
  hi = -Infinity;

  constructor(readonly axis: Axis) {}

  add(value: number): void {
    const c = coordinate(this.axis, value);
    if (c < this.lo && c > -Infinity) this.lo = c;
    if (c > this.hi && c < Infinity) this.hi = c;
  }

  /** Adds the range that the axis covers whatever the data. */
  addCovered(axis: Axis): void {
    for (const value of axis.covers ?? []) {
      const c = coordinate(axis, value);
      if (c > -Infinity && c < this.lo) this.lo = c;
      if (c < Infinity && c > this.hi) this.hi = c;
    }
  }

  addAll(values: ArrayLike<number>): void {
    for (let i = 0; i < values.length; i++) this.add(values[i]!);
  }

  /** The extent, widened by the share `pad` at both ends; never empty. */
  range(pad: number, fromZero = false): Range {
    let { lo, hi } = this;
    if (!(hi >= lo)) return { lo: 0, hi: 1 };
    const limit = this.axis.log ? 307 : MOST / 2;
    lo = Math.min(limit, Math.max(-limit, lo));
    hi = Math.min(limit, Math.max(-limit, hi));
    if (fromZero && !this.axis.log) {
      lo = Math.min(0, lo);
      hi = Math.max(0, hi);
    }
    // Widens ranges that are too narrow for doubles to distinguish ticks.
    if (hi - lo <= 1e-9 * Math.max(Math.abs(lo), Math.abs(hi))) {
      const half = this.axis.log ? 0.5 : Math.abs(hi) / 2 || 0.5;
      return { lo: lo - half, hi: hi + half };
    }
    const margin = (hi - lo) * pad;
    return {
      lo: fromZero && !this.axis.log && lo === 0 ? 0 : lo - margin,
      hi: fromZero && !this.axis.log && hi === 0 ? 0 : hi + margin,
    };
  }
}

/** The initial range of an axis: its data and some margin, or all of 0 to 1 for a `whole`. */
export function homeRange(axis: Axis, extent: Extent, pad: number): Range {
  extent.addCovered(axis);
  if (!axis.whole || axis.log) return extent.range(pad);
  return { lo: Math.min(0, extent.lo), hi: Math.max(1, extent.hi) };
}

/** First index at which ascending values are above the limit (with `equal`, at or above it). */
export function firstAbove(values: ArrayLike<number>, limit: number, equal = false): number {
  let lo = 0;
  let hi = values.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    const v = values[mid]!;
    if (equal ? v >= limit : v > limit) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}
