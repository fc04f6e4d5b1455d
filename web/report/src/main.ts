// Reads the data, builds the page, and signals when it is ready.

import "./style.css";
import { decode, ReportError } from "./data/container";
import { chooseTheme } from "./draw/theme";
import type { Figure } from "./ui/figure";
import { el } from "./ui/dom";
import { page, rememberedTheme } from "./ui/page";

const VERSION = 1;

interface Handle {
  ready: boolean;
  charts: number;
  version: number;
  error?: string;
  titles: string[];
  locate(chart: number, series: number, index: number): unknown;
  span(chart: number): unknown;
}

declare global {
  interface Window {
    stragglerReport?: Handle;
  }
}

async function start(): Promise<void> {
  chooseTheme(rememberedTheme());
  const place = document.getElementById("page")!;
  const script = document.getElementById("data");
  const text = script?.textContent ?? "";
  script?.remove(); // frees the text of a large report
  const data = await decode(text);
  const { node, figures } = page(data);
  place.replaceChildren(node);
  finish(figures);
}

// The page is ready when the first frame with the visible charts has been drawn, not when the code has run.
function finish(figures: Figure[], error?: string): void {
  requestAnimationFrame(() => setTimeout(() => {
    window.stragglerReport = {
      ready: true, charts: figures.length, version: VERSION, ...(error ? { error } : {}),
      titles: figures.map((f) => f.title),
      locate: (chart, series, index) => figures[chart]?.chart.locate(series, index) ?? null,
      span: (chart) => figures[chart]?.chart.span() ?? null,
    };
    performance.mark("straggler-ready");
    document.documentElement.dataset.ready = "true";
  }));
}

start().catch((error: unknown) => {
  const said = error instanceof ReportError ? error.message : `The page could not be built: ${String(error)}`;
  document.getElementById("page")!.replaceChildren(el("div", { class: "failed", role: "alert" }, el("h1", {}, "This report cannot be shown"), el("p", {}, said)));
  finish([], said);
});
