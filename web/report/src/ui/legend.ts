// Legends: as buttons on the page, as drawings in saved files.

import type { Chart } from "../charts/chart";
import type { Series } from "../charts/plot";
import { textWidth, type Painter } from "../draw/painter";
import { onThemeChange, theme as currentTheme, type Theme } from "../draw/theme";
import { SvgPainter } from "../draw/svg";
import { el } from "./dom";

const SWATCH = 16;

function paintSwatch(p: Painter, x: number, y: number, series: Series, theme: Theme): void {
  const color = series.color(theme);
  const middle = x + SWATCH / 2;
  switch (series.swatch) {
    case "box": return p.rect(x + 2, y - 6, 12, 12, color);
    case "line": return p.line(x, y, x + SWATCH, y, { color, width: 2.5 });
    case "dashed": return p.line(x, y, x + SWATCH, y, { color, width: 2, dash: [5, 3] });
    case "dot": return p.circles([middle, y], 4, { fill: color });
    case "diamond": return p.area([middle, y - 6, middle + 6, y, middle, y + 6, middle - 6, y], color);
  }
}

function swatchPicture(series: Series): string {
  const painter = new SvgPainter(SWATCH, SWATCH);
  paintSwatch(painter, 0, SWATCH / 2, series, currentTheme());
  return `url("data:image/svg+xml,${encodeURIComponent(painter.finish("", ""))}")`;
}

export function legend(chart: Chart): HTMLElement | null {
  const named = chart.series.map((series, i) => ({ series, i })).filter(({ series }) => series.name);
  if (named.length < 1) return null;
  const items = named.map(({ series, i }) => {
    const mark = el("i", { class: "swatch", "aria-hidden": "true" });
    const paint = () => (mark.style.backgroundImage = swatchPicture(series));
    paint();
    onThemeChange(paint);
    if (series.fixed || named.length === 1) return el("span", { class: "key" }, mark, series.name);
    const node = el("button", { type: "button", class: "key", "aria-pressed": "true", title: "Show or hide" }, mark, series.name);
    node.addEventListener("click", () => {
      chart.toggle(i);
      node.setAttribute("aria-pressed", String(series.visible));
    });
    return node;
  });
  return el("div", { class: "legend" }, ...items);
}

/** Draws the legend of the visible series. Returns its height. */
export function paintLegend(p: Painter, chart: Chart, x0: number, y0: number, width: number, theme: Theme): number {
  const shown = chart.series.filter((series) => series.name && series.visible);
  if (shown.length === 0) return 0;
  let [x, y] = [x0, y0];
  for (const series of shown) {
    const room = SWATCH + 6 + textWidth(series.name) + 20;
    if (x > x0 && x + room > x0 + width) [x, y] = [x0, y + 20];
    paintSwatch(p, x, y + 8, series, theme);
    p.text(x + SWATCH + 6, y + 8, series.name, { color: theme.ink, baseline: "middle" });
    x += room;
  }
  return y + 24 - y0;
}
