// Colours as numbers, for mixing and for pixels.

export type Rgb = [number, number, number];

export function rgb(hex: string): Rgb {
  const n = parseInt(hex.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

export function hex([r, g, b]: Rgb): string {
  return "#" + ((1 << 24) | (Math.round(r) << 16) | (Math.round(g) << 8) | Math.round(b)).toString(16).slice(1);
}

/** Mixes a share of `b` into `a`. */
export function mix(a: string, b: string, share: number): string {
  const [x, y] = [rgb(a), rgb(b)];
  return hex([0, 1, 2].map((i) => x[i]! + (y[i]! - x[i]!) * share) as Rgb);
}

/** A colour as a pixel of ImageData, viewed as a 32-bit little-endian word. */
export function pixel(color: string): number {
  const [r, g, b] = rgb(color);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Interpolates `steps` colours through evenly spaced anchors. */
export function ramp(anchors: string[], steps: number): string[] {
  return Array.from({ length: steps }, (_, i) => {
    const at = (i / Math.max(1, steps - 1)) * (anchors.length - 1);
    const k = Math.min(anchors.length - 2, Math.floor(at));
    return mix(anchors[k]!, anchors[k + 1]!, at - k);
  });
}
