// The header of a report, version 1, as described in docs/report-format.md.

export type Unit = "none" | "count" | "seconds" | "hertz" | "bytes" | "bytes per second" | "share" | "slowdown" | "factor";

export interface Axis {
  label: string;
  unit: Unit;
  log: boolean;
  base?: number;
  /** Always shows all of 0 to 1. */
  whole?: boolean;
  /** Covers at least this: the whole time of a scatter plot; colours of a heat map, so that small differences do not look large. */
  covers?: [number, number];
  /** Labels for 0, 1, 2, … instead of the numbers; an empty name means no label. */
  names?: string[];
}

/** Index of a column of the container. */
export type Column = number;

export interface BoxSeries {
  name: string;
  x: Column;
  low: Column;
  q1: Column;
  median: Column;
  q3: Column;
  high: Column;
  count: Column;
  median_low: Column;
  median_high: Column;
  outlier_x: Column;
  outlier_y: Column;
  reference: Column | null;
}

export type Role = "simulated" | "measured" | "published" | "reference";

export interface LineSeries {
  name: string;
  role: Role;
  x: Column;
  y: Column;
  low: Column | null;
  high: Column | null;
}

export interface Mark {
  x?: number | null;
  y?: number | null;
  name: string;
}

export interface BoxesPlot { type: "boxes"; x: Axis; y: Axis; series: BoxSeries[] }
export interface LinesPlot { type: "lines"; x: Axis; y: Axis; series: LineSeries[]; marks?: Mark[] }
export interface DistributionPlot { type: "distribution"; x: Axis; series: { name: string; values: Column; sum?: boolean }[]; marks?: Mark[] }
export interface HistogramPlot { type: "histogram"; x: Axis; y: Axis; series: { name: string; edges: Column; counts: Column; sum?: boolean }[] }
export interface ScatterPlot { type: "scatter"; x: Axis; y: Axis; series: { name: string; x: Column; y: Column }[] }
export interface Bar { name: string; value: number; low: number | null; high: number | null; note?: string | null; role?: KindRole | null }
export interface BarsPlot { type: "bars"; x: Axis; bars: Bar[] }
export interface HeatPlot { type: "heat"; x: Axis; y: Axis; value: Axis; xs: Column; ys: Column; values: Column }

export type KindRole = "computation" | "communication" | "send" | "receive" | "wait" | "noise" | "other";

export interface TimelinePlot {
  type: "timeline";
  rows: string[];
  kinds: { name: string; role: KindRole }[];
  row: Column;
  start: Column;
  end: Column;
  kind: Column;
  peer: Column;
  bytes: Column;
  tag: Column;
  arrow_from: Column;
  arrow_to: Column;
  arrow_sent: Column;
  arrow_received: Column;
  arrow_bytes: Column;
}

export type Plot =
  | BoxesPlot | LinesPlot | DistributionPlot | HistogramPlot | ScatterPlot | BarsPlot | HeatPlot | TimelinePlot;

export interface Cell { text: string; value?: number | null }

export interface TableBlock {
  kind: "table";
  title: string;
  note?: string | null;
  command?: string | null;
  columns: { name: string; number?: boolean }[];
  rows: Cell[][];
}

export interface ChartBlock {
  kind: "chart";
  title: string;
  note?: string | null;
  command?: string | null;
  synthetic?: boolean;
  plot: Plot;
}

/** Blocks of unknown kinds, from newer programs, are accepted and named on the page. */
export type Block = TableBlock | ChartBlock | { kind: string; title?: string };

export interface Section { title: string; text?: string[]; blocks?: Block[] }

export interface PageBody {
  title: string;
  summary?: string[];
  facts?: [string, string][];
  /** Why not to rely on the answer as it is. */
  warnings?: string[];
  /** What else to know about it. */
  notes?: string[];
  sections?: Section[];
}

export interface ColumnPlace { type: "f64" | "u32" | "u8"; offset: number; length: number }

export interface Header extends PageBody {
  columns: ColumnPlace[];
  /** The pages that this page joins. */
  parts?: PageBody[];
}
