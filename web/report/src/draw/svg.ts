// The painter for SVG files: every call becomes an element. Coordinates are rounded to 0.01 pixels.

import { FONT, TEXT_SIZE, type Cells, type Painter, type Stroke, type TextStyle } from "./painter";

export class SvgPainter implements Painter {
  private readonly parts: string[] = [];
  private clips = 0;

  /** `prefix` makes ids unique among several drawings on a page. */
  constructor(private readonly width: number, private readonly height: number, private readonly prefix = "c") {}

  rect(x: number, y: number, w: number, h: number, fill: string, opacity = 1): void {
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" height="${n(Math.max(0, h))}" fill="${fill}"${alpha("fill-opacity", opacity)}/>`);
  }

  frame(x: number, y: number, w: number, h: number, stroke: Stroke): void {
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" height="${n(Math.max(0, h))}" fill="none"${look(stroke)}/>`);
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke): void {
    this.parts.push(`<path d="M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}"${look(stroke)}/>`);
  }

  path(points: ArrayLike<number>, stroke: Stroke): void {
    let d = "";
    let pen = false;
    for (let i = 0; i + 1 < points.length; i += 2) {
      const x = points[i]!;
      const y = points[i + 1]!;
      if (!Number.isFinite(x) || !Number.isFinite(y)) {
        pen = false;
        continue;
      }
      d += `${pen ? "L" : "M"}${n(x)} ${n(y)}`;
      pen = true;
    }
    if (d) this.parts.push(`<path d="${d}" fill="none"${look(stroke)} stroke-linejoin="round"/>`);
  }

  area(points: ArrayLike<number>, fill: string, opacity = 1): void {
    if (points.length < 6) return;
    let list = "";
    for (let i = 0; i + 1 < points.length; i += 2) list += `${n(points[i]!)},${n(points[i + 1]!)} `;
    this.parts.push(`<polygon points="${list.trimEnd()}" fill="${fill}"${alpha("fill-opacity", opacity)}/>`);
  }

  circles(centres: ArrayLike<number>, radius: number, style: { fill?: string; stroke?: Stroke; opacity?: number }): void {
    if (centres.length < 2) return;
    const stroke = style.stroke ? look(style.stroke) : "";
    let list = "";
    for (let i = 0; i + 1 < centres.length; i += 2) {
      list += `<circle cx="${n(centres[i]!)}" cy="${n(centres[i + 1]!)}" r="${n(radius)}"/>`;
    }
    this.parts.push(`<g fill="${style.fill ?? "none"}"${stroke}${alpha("opacity", style.opacity ?? 1)}>${list}</g>`);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const anchor = { left: "start", center: "middle", right: "end" }[style.align ?? "left"];
    const size = style.size ?? TEXT_SIZE;
    // Not every SVG reader supports dominant-baseline, so the baseline is shifted explicitly.
    const shift = { top: 0.8, middle: 0.35, bottom: -0.2, alphabetic: 0 }[style.baseline ?? "alphabetic"] * size;
    const turn = style.rotate ? ` transform="rotate(${style.rotate} ${n(x)} ${n(y)})"` : "";
    const weight = style.weight && style.weight !== 400 ? ` font-weight="${style.weight}"` : "";
    this.parts.push(`<text x="${n(x)}" y="${n(y + shift)}" font-size="${size}" text-anchor="${anchor}" fill="${style.color}"${weight}${turn}>${escape(text)}</text>`);
  }

  // Merges neighbours of one colour into a rectangle, and all rectangles of a colour into a path.
  cells(cells: Cells): void {
    const paths = new Map<number, string[]>();
    for (let r = 0; r < cells.rows; r++) {
      // Absolute edges, rounded the same for both neighbours, leave no seams between cells.
      const [top, bottom] = [n(cells.top[r]!), n(cells.bottom[r]!)];
      for (let c = 0, at = r * cells.columns; c < cells.columns;) {
        const color = cells.index[at + c]!;
        const from = c;
        while (++c < cells.columns && cells.index[at + c] === color);
        if (color === 0 || !cells.palette[color]) continue;
        let list = paths.get(color);
        if (!list) paths.set(color, (list = []));
        const left = n(cells.x[from]!);
        list.push(`M${left} ${top}H${n(cells.x[c]!)}V${bottom}H${left}z`);
      }
    }
    for (const [color, list] of paths) {
      this.parts.push(`<path shape-rendering="crispEdges" fill="${cells.palette[color]}" d="${list.join("")}"/>`);
    }
  }

  clip(x: number, y: number, w: number, h: number, inside: () => void): void {
    const id = `${this.prefix}-clip${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" height="${n(Math.max(0, h))}"/></clipPath><g clip-path="url(#${id})">`);
    inside();
    this.parts.push("</g>");
  }

  group(name: string, inside: () => void): void {
    this.parts.push(`<g class="${escape(name)}">`);
    inside();
    this.parts.push("</g>");
  }

  finish(title: string, description: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${n(this.width)}" height="${n(this.height)}" viewBox="0 0 ${n(this.width)} ${n(this.height)}" font-family="${escape(FONT)}" role="img">`
      + `<title>${escape(title)}</title><desc>${escape(description)}</desc>${this.parts.join("\n")}</svg>\n`;
  }
}

function n(value: number): string {
  if (!Number.isFinite(value)) return "0";
  return String(Math.round(value * 100) / 100);
}

function alpha(name: string, value: number): string {
  return value < 1 ? ` ${name}="${Math.round(value * 1000) / 1000}"` : "";
}

function look(stroke: Stroke): string {
  const dash = stroke.dash?.length ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "";
  return ` stroke="${stroke.color}" stroke-width="${n(stroke.width ?? 1)}"${dash}${alpha("stroke-opacity", stroke.opacity ?? 1)}`;
}

// Control characters are not allowed in XML at all, not even escaped.
function escape(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
