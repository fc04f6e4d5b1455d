// A part of a timeline as cells of one colour each. A cell shows the kind that takes most of its time. Noise is always
// visible, however short, and stronger the more of the cell it takes.

import { mix } from "../draw/color";
import type { Theme } from "../draw/theme";
import { BLOCK, firstReaching, firstStartingAfter, type Activities } from "./activities";

export interface Window { t0: number; t1: number; row0: number; row1: number }

/** Noise takes none, little, much or most of a cell. */
const NOISE_LEVELS = 4;
const STRENGTH = [0, 0.5, 0.78, 1];

/** Activities without duration are also shown: they count as this share of a cell. */
const SLIVER = 1e-6;

export interface Band { row0: number; row1: number }

/** Colours by index: 0 is nothing, then for every kind its colour with increasing shares of noise. */
export function timelinePalette(theme: Theme, colors: string[]): string[] {
  const palette = [""];
  for (const color of colors) for (let level = 0; level < NOISE_LEVELS; level++) palette.push(mix(color, theme.noise, STRENGTH[level]!));
  // Noise alone, with nothing under it.
  for (let level = 0; level < NOISE_LEVELS; level++) palette.push(mix(theme.paper, theme.noise, STRENGTH[Math.max(1, level)]!));
  return palette;
}

/** One row of cells per band of rows, with `columns` cells from t0 to t1. Noise below the share `faint` is left out. */
export function rasterise(a: Activities, t0: number, t1: number, columns: number, bands: Band[], faint = 0): Uint8Array {
  const kinds = a.kinds.length;
  const index = new Uint8Array(columns * bands.length);
  const time = new Float32Array(columns * kinds);
  const plain = Uint8Array.from(a.kinds.flatMap((kind, k) => (kind.role === "noise" ? [] : [k])));
  const noise = Uint8Array.from(a.kinds.flatMap((kind, k) => (kind.role === "noise" ? [k] : [])));
  for (let b = 0; b < bands.length; b++) {
    const { row0, row1 } = bands[b]!;
    time.fill(0);
    for (let row = row0; row < row1; row++) addRow(a, row, t0, (t1 - t0) / columns, columns, time);
    choose(time, plain, noise, kinds, row1 - row0, faint, index.subarray(b * columns, (b + 1) * columns));
  }
  return index;
}

/** Adds the share of each cell that a row spends in each kind. */
function addRow(a: Activities, row: number, t0: number, cell: number, columns: number, time: Float32Array): void {
  const kinds = a.kinds.length;
  const { start, end, kind } = a;
  const last = firstStartingAfter(a, row, t0 + cell * columns);
  const perCell = 1 / cell;
  for (let i = firstReaching(a, row, t0); i < last;) {
    const s = (start[i]! - t0) * perCell;
    if ((i & (BLOCK - 1)) === 0 && i + BLOCK <= last && blockInCell(a, i, s, t0, perCell)) {
      addBlock(a, i, Math.floor(s) * kinds, perCell, time);
      i += BLOCK;
      continue;
    }
    const e = (end[i]! - t0) * perCell;
    const k = kind[i]!;
    i++;
    const from = s > 0 ? s : 0;
    const to = e < columns ? e : columns;
    const first = from | 0;
    const stop = e < columns ? e | 0 : columns - 1;
    if (e < 0 || first >= columns) continue;
    if (first === stop) {
      time[first * kinds + k]! += to - from > SLIVER ? to - from : SLIVER;
      continue;
    }
    time[first * kinds + k]! += first + 1 - from;
    for (let at = (first + 1) * kinds + k, until = stop * kinds; at < until; at += kinds) time[at]! += 1;
    time[stop * kinds + k]! += to - stop;
  }
}

function blockInCell(a: Activities, i: number, s: number, t0: number, perCell: number): boolean {
  if (s < 0) return false;
  const lastStart = (a.start[i + BLOCK - 1]! - t0) * perCell;
  if (Math.floor(lastStart) !== Math.floor(s)) return false;
  return Math.floor((a.reach[i + BLOCK - 1]! - t0) * perCell) === Math.floor(s);
}

function addBlock(a: Activities, i: number, at: number, perCell: number, time: Float32Array): void {
  const kinds = a.kinds.length;
  const block = (i / BLOCK) * kinds;
  for (let k = 0; k < kinds; k++) {
    const sum = a.blockTime[block + k]! * perCell;
    if (sum > 0) time[at + k]! += Math.max(sum, SLIVER);
  }
}

function choose(time: Float32Array, plain: Uint8Array, noise: Uint8Array, kinds: number, rows: number, faint: number, index: Uint8Array): void {
  for (let c = 0, base = 0; c < index.length; c++, base += kinds) {
    let best = kinds;
    let most = 0;
    for (let p = 0; p < plain.length; p++) {
      const t = time[base + plain[p]!]!;
      if (t > most) {
        most = t;
        best = plain[p]!;
      }
    }
    let noisy = 0;
    for (let p = 0; p < noise.length; p++) noisy += time[base + noise[p]!]!;
    if (noisy === 0 || noisy < faint * rows) {
      if (most > 0) index[c] = 1 + best * NOISE_LEVELS;
      continue;
    }
    const share = noisy / rows;
    index[c] = 1 + best * NOISE_LEVELS + (share < 0.15 ? 1 : share < 0.5 ? 2 : 3);
  }
}

/** The space between rows that are `height` pixels apart. Messages are drawn there, if there are any. */
export function gapOf(height: number, messages: boolean): number {
  if (height >= 14) return messages ? 0.36 * height : 3;
  return height >= 6 ? 1.5 : height >= 3 ? 0.5 : 0;
}

/** Groups the rows of the window into bands: several rows per band if they are thinner than `thinnest` pixels. */
export function bandsOf(w: Window, pixels: number, rows: number, thinnest = 1, messages = false): { bands: Band[]; top: Float64Array; bottom: Float64Array } {
  const height = pixels / (w.row1 - w.row0);
  const first = Math.max(0, Math.floor(w.row0));
  const last = Math.min(rows, Math.ceil(w.row1));
  const together = Math.max(1, Math.ceil(thinnest / height));
  // Bands begin at multiples of their size, so that they do not flicker while scrolling.
  const begin = Math.floor(first / together) * together;
  const bands: Band[] = [];
  for (let row = begin; row < last; row += together) bands.push({ row0: row, row1: Math.min(rows, row + together) });
  const gap = gapOf(height, messages);
  const y = (row: number) => (row - w.row0) * height;
  return {
    bands,
    top: Float64Array.from(bands, (band) => Math.max(0, y(band.row0) + gap / 2)),
    bottom: Float64Array.from(bands, (band) => Math.min(pixels, y(band.row1) - gap / 2)),
  };
}
