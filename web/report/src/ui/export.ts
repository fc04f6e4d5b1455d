// Charts as files and on paper: title, legend and chart on one sheet, in the current colours and view.

import type { Chart } from "../charts/chart";
import { canvasPainter } from "../draw/canvas";
import { fit, type Painter } from "../draw/painter";
import { SvgPainter } from "../draw/svg";
import { theme as currentTheme, type Theme } from "../draw/theme";
import { el, fileName, save } from "./dom";
import { paintLegend } from "./legend";

const MARGIN = 16;
const TITLE = 30;

export interface Sheet { title: string; command: string; chart: Chart }

/** Draws title and legend above the chart. Returns where the chart begins. On paper, the page has its own title and margins. */
function paintSheet(p: Painter, sheet: Sheet, width: number, theme: Theme, titled: boolean): number {
  const margin = titled ? MARGIN : 0;
  const inner = width - 2 * margin;
  const top = titled ? MARGIN + TITLE : 4;
  const legend = paintLegend(p, sheet.chart, margin, top, inner, theme);
  if (titled) p.text(MARGIN, MARGIN + 8, fit(sheet.title, inner, 16), { color: theme.ink, size: 16, weight: 600, baseline: "middle" });
  return top + legend + 4;
}

function heightOf(sheet: Sheet, width: number, theme: Theme, titled: boolean): number {
  const above = paintSheet(new SvgPainter(width, 1), sheet, width, theme, titled);
  return above + chartHeight(sheet, innerWidth(width, titled), titled) + (titled ? MARGIN : 4);
}

function innerWidth(width: number, titled: boolean): number {
  return titled ? width - 2 * MARGIN : width;
}

function chartHeight(sheet: Sheet, inner: number, titled: boolean): number {
  if (!titled) return sheet.chart.paperHeight(inner);
  const stage = sheet.chart.stage;
  return stage.width === inner && stage.height ? stage.height : sheet.chart.heightFor(inner);
}

function paintAll(p: Painter, sheet: Sheet, width: number, theme: Theme, titled: boolean): void {
  p.rect(0, 0, width, heightOf(sheet, width, theme, titled), theme.paper);
  const above = paintSheet(p, sheet, width, theme, titled);
  const inner = innerWidth(width, titled);
  sheet.chart.paint(shifted(p, titled ? MARGIN : 0, above), inner, chartHeight(sheet, inner, titled), theme);
}

/** Width of saved files: as on the screen, or a default for a chart that was never shown. */
function sheetWidth(sheet: Sheet): number {
  return (sheet.chart.stage.width || 860) + 2 * MARGIN;
}

export function svgOf(sheet: Sheet, theme: Theme = currentTheme(), width = sheetWidth(sheet), titled = true, prefix = "c"): string {
  const painter = new SvgPainter(width, heightOf(sheet, width, theme, titled), prefix);
  paintAll(painter, sheet, width, theme, titled);
  const made = sheet.command ? ` Made by: ${sheet.command}` : "";
  return painter.finish(sheet.title, sheet.chart.describe() + made);
}

export function saveSvg(sheet: Sheet): void {
  save(fileName(sheet.title, "svg"), new Blob([svgOf(sheet)], { type: "image/svg+xml" }));
}

export function savePng(sheet: Sheet): void {
  const theme = currentTheme();
  const width = sheetWidth(sheet);
  const canvas = el("canvas");
  const painter = canvasPainter(canvas, width, heightOf(sheet, width, theme, true), 2);
  if (!painter) return;
  paintAll(painter, sheet, width, theme, true);
  canvas.toBlob((blob) => blob && save(fileName(sheet.title, "png"), blob), "image/png");
}

/** A painter with a shifted origin, as charts draw from their own corner. */
function shifted(p: Painter, dx: number, dy: number): Painter {
  const points = (list: ArrayLike<number>) => {
    const out = new Float64Array(list.length);
    for (let i = 0; i < out.length; i++) out[i] = list[i]! + (i % 2 ? dy : dx);
    return out;
  };
  const move = (list: Float64Array, d: number) => list.map((v) => v + d);
  return {
    rect: (x, y, w, h, fill, opacity) => p.rect(x + dx, y + dy, w, h, fill, opacity),
    frame: (x, y, w, h, stroke) => p.frame(x + dx, y + dy, w, h, stroke),
    line: (x1, y1, x2, y2, stroke) => p.line(x1 + dx, y1 + dy, x2 + dx, y2 + dy, stroke),
    path: (list, stroke) => p.path(points(list), stroke),
    area: (list, fill, opacity) => p.area(points(list), fill, opacity),
    circles: (list, radius, look) => p.circles(points(list), radius, look),
    text: (x, y, text, style) => p.text(x + dx, y + dy, text, style),
    cells: (c) => p.cells({ ...c, x: move(c.x, dx), top: move(c.top, dy), bottom: move(c.bottom, dy) }),
    clip: (x, y, w, h, inside) => p.clip(x + dx, y + dy, w, h, inside),
    group: (name, inside) => p.group(name, inside),
  };
}
