// A part of a timeline as cells of one colour each. A cell shows the kind that takes most of its time; noise shows
// through however short it is, the stronger the more of the cell it takes.

import { mix } from "../draw/color";
import type { Theme } from "../draw/theme";
import { BLOCK, firstReaching, firstStartingAfter, type Activities } from "./activities";

export interface Window { t0: number; t1: number; row0: number; row1: number }

/** Noise takes nothing, a little, a good part, or most of a cell. */
const NOISE_LEVELS = 4;
const STRENGTH = [0, 0.5, 0.78, 1];

export interface Band { row0: number; row1: number }

/** Colours by index: 0 nothing, then for every kind its colour with rising shares of noise. */
export function timelinePalette(theme: Theme, colors: string[]): string[] {
  const palette = [""];
  for (const color of colors) for (let level = 0; level < NOISE_LEVELS; level++) palette.push(mix(color, theme.noise, STRENGTH[level]!));
  // Noise alone, with nothing under it.
  for (let level = 0; level < NOISE_LEVELS; level++) palette.push(mix(theme.paper, theme.noise, STRENGTH[Math.max(1, level)]!));
  return palette;
}

/** One row of cells per band of rows; `columns` cells over the window's time. */
export function rasterise(a: Activities, t0: number, t1: number, columns: number, bands: Band[]): Uint8Array {
  const kinds = a.kinds.length;
  const index = new Uint8Array(columns * bands.length);
  const time = new Float64Array(columns * kinds);
  const noise = a.kinds.map((kind) => kind.role === "noise");
  const cell = (t1 - t0) / columns;
  bands.forEach((band, b) => {
    time.fill(0);
    for (let row = band.row0; row < band.row1; row++) addRow(a, row, t0, cell, columns, time);
    choose(time, noise, columns, kinds, cell * (band.row1 - band.row0), index, b * columns);
  });
  return index;
}

/** Adds the times that a row spends in each kind, to each cell. */
function addRow(a: Activities, row: number, t0: number, cell: number, columns: number, time: Float64Array): void {
  const kinds = a.kinds.length;
  const { start, end, kind } = a;
  const last = firstStartingAfter(a, row, t0 + cell * columns);
  const perCell = 1 / cell;
  // What takes no time at all still shows; a sliver of a cell stands for it.
  const sliver = cell * 1e-6;
  for (let i = firstReaching(a, row, t0); i < last;) {
    const s = (start[i]! - t0) * perCell;
    if ((i & (BLOCK - 1)) === 0 && i + BLOCK <= last && blockInCell(a, i, s, t0, perCell)) {
      addBlock(a, i, Math.max(0, Math.floor(s)) * kinds, sliver, time);
      i += BLOCK;
      continue;
    }
    const e = (end[i]! - t0) * perCell;
    const k = kind[i]!;
    i++;
    if (e < 0) continue;
    const first = s > 0 ? s | 0 : 0;
    const stop = e < columns ? e | 0 : columns - 1;
    if (first >= columns) continue;
    if (first === stop) {
      time[first * kinds + k]! += Math.max(sliver, (Math.min(e, columns) - Math.max(s, 0)) * cell);
      continue;
    }
    time[first * kinds + k]! += (first + 1 - Math.max(s, 0)) * cell;
    for (let c = first + 1; c < stop; c++) time[c * kinds + k]! += cell;
    time[stop * kinds + k]! += (Math.min(e, columns) - stop) * cell;
  }
}

function blockInCell(a: Activities, i: number, s: number, t0: number, perCell: number): boolean {
  if (s < 0) return false;
  const lastStart = (a.start[i + BLOCK - 1]! - t0) * perCell;
  if (Math.floor(lastStart) !== Math.floor(s)) return false;
  return Math.floor((a.reach[i + BLOCK - 1]! - t0) * perCell) === Math.floor(s);
}

function addBlock(a: Activities, i: number, at: number, sliver: number, time: Float64Array): void {
  const kinds = a.kinds.length;
  const block = (i / BLOCK) * kinds;
  for (let k = 0; k < kinds; k++) {
    const sum = a.blockTime[block + k]!;
    if (sum > 0) time[at + k]! += Math.max(sum, sliver);
  }
}

function choose(time: Float64Array, noise: boolean[], columns: number, kinds: number, whole: number, index: Uint8Array, at: number): void {
  for (let c = 0; c < columns; c++) {
    let best = -1;
    let most = 0;
    let noisy = 0;
    const base = c * kinds;
    for (let k = 0; k < kinds; k++) {
      const t = time[base + k]!;
      if (t === 0) continue;
      if (noise[k]) noisy += t;
      else if (t > most) {
        most = t;
        best = k;
      }
    }
    if (best < 0 && noisy === 0) continue;
    const share = noisy / whole;
    const level = noisy === 0 ? 0 : share < 0.15 ? 1 : share < 0.5 ? 2 : 3;
    index[at + c] = 1 + (best < 0 ? kinds : best) * NOISE_LEVELS + level;
  }
}

/** How rows of the window become bands of pixels: several rows to a band where rows are thinner than a pixel. */
export function bandsOf(w: Window, pixels: number, rows: number): { bands: Band[]; top: Float64Array; bottom: Float64Array } {
  const height = pixels / (w.row1 - w.row0);
  const first = Math.max(0, Math.floor(w.row0));
  const last = Math.min(rows, Math.ceil(w.row1));
  const together = Math.max(1, Math.ceil(1 / height));
  // Bands begin at multiples, so that they do not flicker while scrolling.
  const begin = Math.floor(first / together) * together;
  const bands: Band[] = [];
  for (let row = begin; row < last; row += together) bands.push({ row0: row, row1: Math.min(rows, row + together) });
  const gap = height >= 14 ? 3 : height >= 6 ? 1.5 : height >= 3 ? 0.5 : 0;
  const y = (row: number) => (row - w.row0) * height;
  return {
    bands,
    top: Float64Array.from(bands, (band) => Math.max(0, y(band.row0) + gap / 2)),
    bottom: Float64Array.from(bands, (band) => Math.min(pixels, y(band.row1) - gap / 2)),
  };
}
