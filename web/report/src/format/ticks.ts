// The ticks of an axis, in values; pixels only determine how many labels fit.

import type { Axis } from "../data/report";
import { brief, prefixFor, tick } from "./number";

export interface Tick { value: number; label: string; major: boolean }

/** Ticks between `lo` and `hi` (values, not logarithms), with about `room` labels at most. */
export function ticks(axis: Axis, lo: number, hi: number, room: number): Tick[] {
  if (!(hi > lo)) return [];
  if (axis.names) return named(axis.names, lo, hi, room);
  if (!axis.log || lo <= 0) return linear(axis, lo, hi, room);
  const base = axis.base === 2 ? 2 : 10;
  const span = Math.log(hi / lo) / Math.log(base);
  // A log axis zoomed in to part of a decade is easier to read with even steps.
  if (span < (base === 2 ? 2 : 1)) return linear(axis, lo, hi, room);
  return base === 2 ? powersOfTwo(axis, lo, hi, room) : decades(axis, lo, hi, room, span);
}

/** Adds ticks at the ends of the data, and drops regular ticks too near to them. */
export function withEnds(axis: Axis, ends: number[], found: Tick[]): Tick[] {
  if (axis.log || axis.names || ends.length === 0) return found;
  const step = found.length > 1 ? found[1]!.value - found[0]!.value : 0;
  const largest = Math.max(...ends.map(Math.abs));
  const far = found.filter((t) => ends.every((end) => Math.abs(t.value - end) > 0.6 * step));
  const own = [...new Set(ends)].map((value) => ({ value, label: tick(value, axis.unit, step || 1, largest), major: true }));
  return [...far, ...own].sort((a, b) => a.value - b.value);
}

export function niceStep(span: number, room: number, unit: Axis["unit"], largest: number): number {
  // Byte prefixes are powers of 1,024: steps are round numbers in the prefix used.
  if (unit === "bytes") {
    const { factor } = prefixFor(largest, unit);
    return factor * niceStep(span / factor, room, "none", largest);
  }
  const raw = span / Math.max(1, room);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999999)!;
  return unit === "count" && step < 1 ? 1 : step;
}

/** Every name, or every second, third, … if there is not enough room. */
function named(names: string[], lo: number, hi: number, room: number): Tick[] {
  const seen = names.map((label, value) => ({ value, label, major: false })).filter((t) => t.label && t.value >= lo && t.value <= hi);
  const every = Math.max(1, Math.ceil(seen.length / Math.max(1, room)));
  return seen.filter((_, k) => k % every === 0);
}

function linear(axis: Axis, lo: number, hi: number, room: number): Tick[] {
  const largest = Math.max(Math.abs(lo), Math.abs(hi));
  const step = niceStep(hi - lo, room, axis.unit, largest);
  const first = Math.ceil(lo / step - 1e-9);
  const last = Math.floor(hi / step + 1e-9);
  const out: Tick[] = [];
  for (let i = first; i <= last && out.length < 200; i++) {
    // 20× and 40×, not 21× and 41×.
    const value = axis.unit === "slowdown" && step >= 5 && i > 0 ? i * step - 1 : i * step;
    out.push({ value, label: tick(value, axis.unit, step, largest), major: true });
  }
  return out;
}

function powersOfTwo(axis: Axis, lo: number, hi: number, room: number): Tick[] {
  const first = Math.ceil(Math.log2(lo) - 1e-9);
  const last = Math.floor(Math.log2(hi) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, room)));
  const out: Tick[] = [];
  for (let e = first; e <= last; e++) {
    // Which powers are labelled does not depend on the view, so labels do not jump while panning.
    const major = ((e % every) + every) % every === 0;
    out.push({ value: 2 ** e, label: major ? brief(2 ** e, axis.unit) : "", major });
  }
  return out;
}

function decades(axis: Axis, lo: number, hi: number, room: number, span: number): Tick[] {
  const first = Math.floor(Math.log10(lo) + 1e-9);
  const last = Math.floor(Math.log10(hi) + 1e-9);
  const every = Math.max(1, Math.ceil(span / Math.max(1, room)));
  const labelled = span < 2.2 && room >= 5 ? [1, 2, 5] : [1];
  const out: Tick[] = [];
  for (let e = first; e <= last; e++) {
    for (let m = 1; m < 10; m++) {
      const power = Number(`${m}e${e}`);
      // 5× and 10×, not 6× and 11×: added time of 4 and 9.
      const isFactor = axis.unit === "slowdown" && power > 1;
      const value = isFactor ? power - 1 : power;
      if (isFactor && value === 1) continue;
      if (value < lo * 0.999999 || value > hi * 1.000001) continue;
      if (m > 1 && span > 8) break;
      const major = labelled.includes(m) && ((e % every) + every) % every === 0;
      out.push({ value, label: major ? brief(value, axis.unit) : "", major });
    }
  }
  return out;
}
