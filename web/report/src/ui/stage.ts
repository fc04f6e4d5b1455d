// The element in which a chart is drawn: two canvases (the chart, and an overlay that follows the pointer). It is
// focusable, drawn when it comes near the viewport, and redrawn when its size or the theme changes.

import type { Reading } from "../charts/plot";
import { canvasPainter } from "../draw/canvas";
import type { Painter } from "../draw/painter";
import { onThemeChange } from "../draw/theme";
import { el } from "./dom";
import { plain } from "./prose";
import { hideTip, showTip, spoken } from "./tooltip";

export interface Drawing {
  heightFor(width: number): number;
  paint(p: Painter, width: number, height: number): void;
  paintOver(p: Painter, width: number, height: number): void;
}

let stages = 0;

export class Stage {
  readonly node: HTMLElement;
  readonly live = el("div", { class: "hidden live", role: "status", "aria-live": "polite" });
  private readonly base = el("canvas", { role: "img" });
  private readonly described = el("p", { hidden: true, id: `described-${++stages}` });
  private readonly over = el("canvas", { "aria-hidden": "true", class: "over" });
  width = 0;
  height = 0;
  /** Duration of the last drawing, in milliseconds. */
  lastFrame = 0;
  private near = false;
  private frame = 0;
  private stale = true;
  private speaking = 0;

  /** `series` are the names in the legend, `description` what the data say, which may take a while to compute. */
  constructor(title: string, series: string[], description: () => string, help: string, private readonly drawing: Drawing) {
    this.base.setAttribute("aria-label", nameOf(title, series));
    this.base.setAttribute("aria-describedby", this.described.id);
    this.node = el("div", { class: "stage", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": `${plain(title)}. ${help}` }, this.base, this.over, this.described);
    new ResizeObserver(() => this.measure()).observe(this.node);
    new IntersectionObserver((entries) => {
      this.near = entries[entries.length - 1]!.isIntersecting;
      if (!this.near) return;
      if (!this.described.textContent) this.described.textContent = plain(description());
      if (this.stale) this.request();
    }, { rootMargin: "400px" }).observe(this.node);
    onThemeChange(() => this.redraw());
  }

  private measure(): void {
    const width = this.node.clientWidth;
    if (width === 0 || width === this.width) return;
    this.width = width;
    this.resize();
  }

  /** The height follows from the width and the data. */
  resize(): void {
    this.height = this.drawing.heightFor(this.width);
    this.node.style.height = `${this.height}px`;
    this.redraw();
  }

  redraw(): void {
    this.stale = true;
    this.request();
  }

  redrawOver(): void {
    this.request();
  }

  private request(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.drawNow());
  }

  private drawNow(): void {
    this.frame = 0;
    if (!this.width || !this.near) return;
    const ratio = Math.min(devicePixelRatio || 1, 3);
    if (this.stale) {
      const began = performance.now();
      const painter = canvasPainter(this.base, this.width, this.height, ratio);
      if (painter) this.drawing.paint(painter, this.width, this.height);
      this.stale = false;
      this.lastFrame = performance.now() - began;
      this.node.dataset.drawn = this.lastFrame.toFixed(2);
    }
    const over = canvasPainter(this.over, this.width, this.height, ratio);
    if (over) this.drawing.paintOver(over, this.width, this.height);
  }

  /** Shows the reading at a point of the stage at once, and announces it to screen readers when the pointer rests. */
  read(reading: Reading | null, x: number, y: number): void {
    clearTimeout(this.speaking);
    if (!reading) {
      hideTip(this);
      return;
    }
    const box = this.node.getBoundingClientRect();
    showTip(this, reading, box.left + x, box.top + y);
    this.speaking = window.setTimeout(() => this.say(spoken(reading)), 120);
  }

  say(text: string): void {
    if (this.live.textContent !== text) this.live.textContent = text;
  }
}

const MOST_NAMES = 6;

/** What a screen reader calls the picture: "Slowdown against processes: chart of allreduce, barrier and 3 more." */
export function nameOf(title: string, series: string[]): string {
  const names = series.filter(Boolean).map(plain);
  const more = names.length > MOST_NAMES ? [...names.slice(0, MOST_NAMES - 1), `${names.length - MOST_NAMES + 1} more`] : names;
  const listed = more.length > 1 ? `${more.slice(0, -1).join(", ")} and ${more[more.length - 1]}` : more.join();
  return `${plain(title) || "Chart"}: chart${listed ? ` of ${listed}` : ""}.`;
}
