// What the page needs of a chart, whether an x-y plot or a timeline.

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
  /** Called whenever the view leaves its home or comes back to it. */
  onZoomed(f: (zoomed: boolean) => void): void;
  reset(): void;
  /** Zooms about the middle; for charts with buttons for it. */
  zoomBy?(factor: number): void;
  describe(): string;
  table(): TableSource;
  heightFor(width: number): number;
  /** Flatter on paper, so that three charts fit on a page. */
  paperHeight(width: number): number;
  /** Draws what is shown, on whatever surface. */
  paint(p: Painter, width: number, height: number, theme: Theme): void;
  /** Where a point is, in pixels of the stage, and what is read out there; for tests. */
  locate(series: number, index: number): { x: number; y: number; title: string; rows: [string, string][] } | null;
  /** What the axes span, in values; for tests. */
  span(): { x: [number, number]; y: [number, number] };
}
