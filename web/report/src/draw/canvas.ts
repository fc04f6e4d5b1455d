// The painter for the screen and PNG files.

import { pixel } from "./color";
import { FONT, TEXT_SIZE, type Cells, type Painter, type Stroke, type TextStyle } from "./painter";

/** Sizes the canvas for the device's pixels and clears it. */
export function canvasPainter(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): CanvasPainter | null {
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, w, h);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return new CanvasPainter(context, ratio);
}

export class CanvasPainter implements Painter {
  constructor(private readonly c: CanvasRenderingContext2D, private readonly ratio: number) {}

  rect(x: number, y: number, w: number, h: number, fill: string, opacity = 1): void {
    this.c.globalAlpha = opacity;
    this.c.fillStyle = fill;
    this.c.fillRect(x, y, w, h);
    this.c.globalAlpha = 1;
  }

  frame(x: number, y: number, w: number, h: number, stroke: Stroke): void {
    this.stroked(stroke, () => this.c.rect(x, y, w, h));
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke): void {
    this.stroked(stroke, () => {
      this.c.moveTo(x1, y1);
      this.c.lineTo(x2, y2);
    });
  }

  path(points: ArrayLike<number>, stroke: Stroke): void {
    this.stroked(stroke, () => {
      let pen = false;
      for (let i = 0; i + 1 < points.length; i += 2) {
        const x = points[i]!;
        const y = points[i + 1]!;
        if (x !== x || y !== y) pen = false;
        else if (pen) this.c.lineTo(x, y);
        else {
          this.c.moveTo(x, y);
          pen = true;
        }
      }
    });
  }

  area(points: ArrayLike<number>, fill: string, opacity = 1): void {
    if (points.length < 6) return;
    this.c.globalAlpha = opacity;
    this.c.fillStyle = fill;
    this.c.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) this.c.lineTo(points[i]!, points[i + 1]!);
    this.c.fill();
    this.c.globalAlpha = 1;
  }

  circles(centres: ArrayLike<number>, radius: number, look: { fill?: string; stroke?: Stroke; opacity?: number }): void {
    const c = this.c;
    c.beginPath();
    for (let i = 0; i + 1 < centres.length; i += 2) {
      c.moveTo(centres[i]! + radius, centres[i + 1]!);
      c.arc(centres[i]!, centres[i + 1]!, radius, 0, 2 * Math.PI);
    }
    c.globalAlpha = look.opacity ?? 1;
    if (look.fill) {
      c.fillStyle = look.fill;
      c.fill();
    }
    if (look.stroke) {
      this.style(look.stroke);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const c = this.c;
    c.save();
    c.translate(x, y);
    if (style.rotate) c.rotate((style.rotate * Math.PI) / 180);
    c.font = `${style.weight ?? 400} ${style.size ?? TEXT_SIZE}px ${FONT}`;
    c.fillStyle = style.color;
    c.textAlign = style.align ?? "left";
    c.textBaseline = style.baseline ?? "alphabetic";
    c.fillText(text, 0, 0);
    c.restore();
  }

  // Composes pixels on a scratch canvas and draws it over the chart: putImageData alone would erase the grid.
  cells(cells: Cells): void {
    const x0 = Math.round(cells.x[0]! * this.ratio);
    const y0 = Math.round(cells.top[0]! * this.ratio);
    const width = Math.round(cells.x[cells.columns]! * this.ratio) - x0;
    const height = Math.round(cells.bottom[cells.rows - 1]! * this.ratio) - y0;
    if (!(width > 0 && height > 0)) return;
    const image = plainImage(width, height, cells.ground ? pixel(cells.ground) : 0);
    fillPixels(cells, new Uint32Array(image.data.buffer), width, height, x0, y0, this.ratio);
    if (cells.ground) return this.c.putImageData(image, x0, y0);
    const scratch = scratchCanvas(width, height);
    scratch.putImageData(image, 0, 0);
    this.c.save();
    this.c.setTransform(1, 0, 0, 1, 0, 0);
    this.c.drawImage(scratch.canvas, 0, 0, width, height, x0, y0, width, height);
    this.c.restore();
  }

  clip(x: number, y: number, w: number, h: number, inside: () => void): void {
    this.c.save();
    this.c.beginPath();
    this.c.rect(x, y, w, h);
    this.c.clip();
    inside();
    this.c.restore();
  }

  group(_name: string, inside: () => void): void {
    inside();
  }

  private stroked(stroke: Stroke, trace: () => void): void {
    this.c.beginPath();
    trace();
    this.style(stroke);
    this.c.globalAlpha = stroke.opacity ?? 1;
    this.c.stroke();
    this.c.globalAlpha = 1;
  }

  private style(stroke: Stroke): void {
    this.c.strokeStyle = stroke.color;
    this.c.lineWidth = stroke.width ?? 1;
    this.c.setLineDash(stroke.dash ?? []);
    this.c.lineJoin = "round";
  }
}

let scratch: CanvasRenderingContext2D | null = null;

function scratchCanvas(width: number, height: number): CanvasRenderingContext2D {
  scratch ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
  if (scratch.canvas.width < width || scratch.canvas.height < height) {
    scratch.canvas.width = Math.max(width, scratch.canvas.width);
    scratch.canvas.height = Math.max(height, scratch.canvas.height);
  }
  scratch.clearRect(0, 0, width, height);
  return scratch;
}

let image: ImageData | null = null;

// Reused from frame to frame; otherwise every wheel event would leave megabytes to the garbage collector.
function plainImage(width: number, height: number, color: number): ImageData {
  if (image?.width !== width || image.height !== height) image = new ImageData(width, height);
  new Uint32Array(image.data.buffer).fill(color);
  return image;
}

function fillPixels(cells: Cells, out: Uint32Array, width: number, height: number, x0: number, y0: number, ratio: number): void {
  const colors = Uint32Array.from(cells.palette, (color) => (color ? pixel(color) : cells.ground ? pixel(cells.ground) : 0));
  const edge = Int32Array.from(cells.x, (x) => Math.min(width, Math.max(0, Math.round(x * ratio) - x0)));
  const onePixelEach = cells.columns === width && edge.every((x, c) => x === c);
  for (let r = 0; r < cells.rows; r++) {
    const first = Math.max(0, Math.round(cells.top[r]! * ratio) - y0);
    const last = Math.min(height, Math.max(first + 1, Math.round(cells.bottom[r]! * ratio) - y0));
    if (first >= height) continue;
    const base = first * width;
    if (onePixelEach) {
      for (let c = 0, at = r * cells.columns; c < width; c++, at++) out[base + c] = colors[cells.index[at]!]!;
    } else for (let c = 0, at = r * cells.columns; c < cells.columns; c++, at++) {
      const color = colors[cells.index[at]!]!;
      if (color === 0) continue;
      for (let x = edge[c]!; x < edge[c + 1]!; x++) out[base + x] = color;
    }
    for (let y = first + 1; y < last; y++) out.copyWithin(y * width, base, base + width);
  }
}
