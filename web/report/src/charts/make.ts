// Creates the chart for a plot of the report.

import type { Container } from "../data/container";
import type { Plot as PlotData } from "../data/report";
import { TimelineView } from "../timeline/view";
import { barsPlot } from "./bars";
import { boxesPlot } from "./boxes";
import type { Chart } from "./chart";
import { distributionPlot } from "./distribution";
import { heatPlot } from "./heat";
import { histogramPlot } from "./histogram";
import { linesPlot } from "./lines";
import type { Plot } from "./plot";
import { scatterPlot } from "./scatter";
import { XYView } from "./view";

/** Returns the chart, or null if the page does not know this kind of plot. */
export function makeChart(title: string, data: Container, plot: PlotData): Chart | null {
  if (plot?.type === "timeline") return new TimelineView(title, data, plot);
  const made = xyPlot(data, plot);
  return made && new XYView(title, made);
}

export function xyPlot(data: Container, plot: Exclude<PlotData, { type: "timeline" }>): Plot | null {
  switch (plot?.type) {
    case "boxes": return boxesPlot(data, plot);
    case "lines": return linesPlot(data, plot);
    case "distribution": return distributionPlot(data, plot);
    case "histogram": return histogramPlot(data, plot);
    case "scatter": return scatterPlot(data, plot);
    case "bars": return barsPlot(plot);
    case "heat": return heatPlot(data, plot);
    default: return null;
  }
}
