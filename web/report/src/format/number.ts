// Number formatting for the whole page. `brief` is for axes and legends (three digits), `exact` for readings by pointer
// or keyboard (six digits), and `picoseconds` keeps every digit of a timeline's clock.

import type { Unit } from "../data/report";

const THIN = "\u202f"; // narrow no-break space between a number and its unit
const MINUS = "\u2212";

const SI: [number, string][] = [
  [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""],
  [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"], [1e-15, "f"],
];
const IEC: [number, string][] = [
  [2 ** 50, "Pi"], [2 ** 40, "Ti"], [2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"], [1, ""],
];

export interface Prefix { factor: number; suffix: string }

export function brief(value: number, unit: Unit): string {
  return withDigits(value, unit, 3);
}

export function exact(value: number, unit: Unit): string {
  if (unit === "count" && Number.isInteger(value)) return grouped(value, 0);
  return withDigits(value, unit, 6);
}

function withDigits(value: number, unit: Unit, digits: number): string {
  if (!Number.isFinite(value)) return "–";
  if (unit === "slowdown" && isFactor(value)) return withDigits(value + 1, "factor", digits);
  const prefix = prefixFor(Math.abs(value), unit);
  let scaled = value / prefix.factor;
  // With three digits, 999.9996 ms is 1 s, not 1000 ms.
  const rounded = Math.abs(Number(scaled.toPrecision(digits)));
  if (rounded >= 1000 && (unit === "seconds" || unit === "hertz" || unit === "bytes per second" || unit === "share")) {
    const next = prefixFor(Math.abs(value) * (1 + 10 ** -digits), unit);
    scaled = value / next.factor;
    return plus(value, unit) + significant(scaled, digits) + next.suffix;
  }
  return plus(value, unit) + significant(scaled, digits) + prefix.suffix;
}

/** Whether a slowdown T/T0 − 1 is written as the factor T/T0. */
function isFactor(more: number): boolean {
  return more >= 0.995;
}

/** The sign of added time: +10 % is 10 % longer. */
function plus(value: number, unit: Unit): string {
  return unit === "slowdown" && value > 0 ? "+" : "";
}

/** At most `digits` significant digits, without trailing zeros; digits before the decimal point are never rounded away. */
export function significant(value: number, digits: number): string {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return "–";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace(/^-/, MINUS).replace("e-", "e" + MINUS);
  if (magnitude >= 15) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e").replace(/^-/, MINUS);
  return grouped(value, Math.max(0, digits - 1 - magnitude));
}

/** With thousands separators, without trailing zeros after the decimal point. */
export function grouped(value: number, decimals: number): string {
  const [whole = "0", part = ""] = Math.abs(value).toFixed(Math.min(20, decimals)).split(".");
  const fraction = part.replace(/0+$/, "");
  const text = group(whole) + (fraction ? "." + fraction : "");
  return (value < 0 && /[1-9]/.test(text) ? MINUS : "") + text;
}

function group(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The unit prefix for a number of this size. */
export function prefixFor(size: number, unit: Unit): Prefix {
  switch (unit) {
    case "seconds": return scaledPrefix(size, SI.slice(5), "s"); // no kiloseconds
    case "hertz": return scaledPrefix(size, SI, "Hz");
    case "bytes": return scaledPrefix(size, IEC, "B");
    case "bytes per second": return scaledPrefix(size, SI.slice(0, 6), "B/s");
    // From 1000 % on, a share is written as a factor: 49,310×, not 4,931,000 %.
    case "slowdown": return { factor: 0.01, suffix: THIN + "%" };
    case "share": return size < 10 * 0.9999999999 ? { factor: 0.01, suffix: THIN + "%" } : { factor: 1, suffix: "×" };
    case "factor": return { factor: 1, suffix: "×" };
    default: return { factor: 1, suffix: "" };
  }
}

function scaledPrefix(size: number, table: [number, string][], symbol: string): Prefix {
  const found = size === 0 ? [1, ""] as const : table.find(([factor]) => size >= factor * 0.9999999999) ?? table[table.length - 1]!;
  return { factor: found[0], suffix: THIN + found[1] + symbol };
}

/** A tick label of a linear axis: all have the same prefix, and as many decimals as the step needs. */
export function tick(value: number, unit: Unit, step: number, largest: number): string {
  if (unit === "slowdown" && isFactor(value)) return tick(value + 1, "factor", step, largest);
  const prefix = prefixFor(largest, unit);
  const scaledStep = step / prefix.factor;
  const decimals = Math.max(0, Math.min(12, -Math.floor(Math.log10(scaledStep) + 1e-9)));
  const scaled = value / prefix.factor;
  if (Math.abs(scaled) >= 1e15) return plus(value, unit) + significant(scaled, 3) + prefix.suffix;
  return plus(value, unit) + groupedKeep(scaled, decimals) + prefix.suffix;
}

// Keeps trailing zeros, so that labels of an axis have the same number of decimals.
function groupedKeep(value: number, decimals: number): string {
  const [whole = "0", part] = Math.abs(value).toFixed(decimals).split(".");
  const text = group(whole) + (part ? "." + part : "");
  return (value < 0 && /[1-9]/.test(text) ? MINUS : "") + text;
}

const PS: [number, string][] = [[12, "s"], [9, "ms"], [6, "µs"], [3, "ns"], [0, "ps"]];

/** A time in whole picoseconds with all its digits, in a suitable unit. */
export function picoseconds(ps: number): string {
  if (!Number.isFinite(ps)) return "–";
  const digits = String(Math.round(Math.abs(ps)));
  const [shift, unit] = ps === 0 ? PS[0]! : PS.find(([power]) => digits.length > power)!;
  const padded = digits.padStart(shift + 1, "0");
  const whole = group(padded.slice(0, padded.length - shift));
  const fraction = shift ? padded.slice(-shift).replace(/0+$/, "") : "";
  return (ps < 0 ? MINUS : "") + whole + (fraction ? "." + fraction : "") + THIN + unit;
}

export function count(n: number): string {
  return grouped(n, 0);
}

/** "1 box", "2 boxes". */
export function many(n: number, one: string, more = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}
