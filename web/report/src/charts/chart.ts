// What the page needs from a chart, be it an x-y plot or a timeline.

import type { Painter } from "../draw/painter";
import type { Theme } from "../draw/theme";
import type { Stage } from "../ui/stage";
import type { Mode, Series, TableSource } from "./plot";

export interface Chart {
  readonly stage: Stage;
  readonly series: Series[];
  readonly mode?: Mode | undefined;
  toggle(series: number): void;
  setMode(mode: number): void;
  /** Registers a callback for when the view leaves its home range or returns to it. */
  onZoomed(f: (zoomed: boolean) => void): void;
  reset(): void;
  /** Zooms about the centre; only for charts with zoom buttons. */
  zoomBy?(factor: number): void;
  /** Why there is no picture; null if there is something to draw. */
  nothing(): string | null;
  describe(): string;
  table(): TableSource;
  heightFor(width: number): number;
  /** Charts are flatter on paper, so that three fit on a page. */
  paperHeight(width: number): number;
  /** Draws the current view on any surface. */
  paint(p: Painter, width: number, height: number, theme: Theme): void;
  /** The position of a point, in pixels of the stage, and its reading; for tests. */
  locate(series: number, index: number): { x: number; y: number; title: string; rows: [string, string][] } | null;
  /** The values that the axes span; for tests. */
  span(): { x: [number, number]; y: [number, number] };
}
