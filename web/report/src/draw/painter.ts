// The surface that charts draw on. A canvas and an SVG writer implement it, so that the same code draws a chart on the
// screen and saves it as vectors.

export interface Stroke { color: string; width?: number; dash?: number[]; opacity?: number }

export interface TextStyle {
  color: string;
  size?: number;
  weight?: number;
  align?: "left" | "center" | "right";
  baseline?: "top" | "middle" | "bottom" | "alphabetic";
  /** Degrees, clockwise. */
  rotate?: number;
}

/**
 * A grid of coloured cells with given edges: heat maps, dense scatter plots, timelines. `index` is in row order; 0 means
 * no cell, anything else is an index into `palette`. Columns share edges; rows may have gaps between them.
 */
export interface Cells {
  columns: number;
  rows: number;
  index: Uint8Array;
  /** `columns + 1` positions. */
  x: Float64Array;
  top: Float64Array;
  bottom: Float64Array;
  palette: string[];
  /** The colour under the cells, if nothing else is drawn there; pixels then need no blending. */
  ground?: string;
}

export interface Painter {
  rect(x: number, y: number, w: number, h: number, fill: string, opacity?: number): void;
  frame(x: number, y: number, w: number, h: number, stroke: Stroke): void;
  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke): void;
  /** Points as x, y, x, y…; NaN breaks the line. */
  path(points: ArrayLike<number>, stroke: Stroke): void;
  area(points: ArrayLike<number>, fill: string, opacity?: number): void;
  /** Many circles in the same style, with centres as x, y, x, y… */
  circles(centres: ArrayLike<number>, radius: number, look: { fill?: string; stroke?: Stroke; opacity?: number }): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  cells(cells: Cells): void;
  clip(x: number, y: number, w: number, h: number, inside: () => void): void;
  /** A named group, for editing the SVG afterwards. */
  group(name: string, inside: () => void): void;
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif';
export const TEXT_SIZE = 12;

let ruler: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

/** Width of a text, measured the same way for both painters so that exported charts have the same layout. */
export function textWidth(text: string, size = TEXT_SIZE, weight = 400): number {
  const key = `${size}/${weight}/${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (typeof document === "object") ruler ??= document.createElement("canvas").getContext("2d");
  let width = text.length * size * 0.56;
  if (ruler) {
    ruler.font = `${weight} ${size}px ${FONT}`;
    width = ruler.measureText(text).width;
  }
  if (widths.size > 5000) widths.clear();
  widths.set(key, width);
  return width;
}

/** The text in at most `most` lines that fit into `room`, broken between words; the last may be truncated. */
export function lines(text: string, room: number, most: number, size = TEXT_SIZE): string[] {
  const out: string[] = [];
  for (const word of text.split(" ")) {
    const last = out.length - 1;
    const longer = last >= 0 ? `${out[last]} ${word}` : word;
    if (last >= 0 && (textWidth(longer, size) <= room || out.length === most)) out[last] = longer;
    else out.push(word);
  }
  return out.map((line) => fit(line, room, size));
}

/** The text, truncated with an ellipsis if it is wider than `room`. */
export function fit(text: string, room: number, size = TEXT_SIZE): string {
  if (textWidth(text, size) <= room) return text;
  let lo = 0;
  let hi = text.length;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (textWidth(text.slice(0, mid) + "…", size) <= room) lo = mid;
    else hi = mid - 1;
  }
  return text.slice(0, lo).trimEnd() + "…";
}
