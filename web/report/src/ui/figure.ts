// A chart with title, note, legend, buttons, command, and its data as a table.

import { makeChart } from "../charts/make";
import type { Chart } from "../charts/chart";
import type { Container } from "../data/container";
import type { ChartBlock } from "../data/report";
import { count } from "../format/number";
import { lightTheme } from "../draw/theme";
import { copyButton } from "./copy";
import { button, el } from "./dom";
import { savePng, saveSvg, svgOf, type Sheet } from "./export";
import { legend } from "./legend";
import { codeNode, plain, prose } from "./prose";
import { scrolled } from "./table";

const TABLE_ROWS = 200;

export interface Figure { node: HTMLElement; chart: Chart; title: string }

let figures = 0;

/** A figure, or an element that explains why there is none. */
export function figure(data: Container, block: ChartBlock, title: HTMLElement): Figure | HTMLElement {
  const chart = makeChart(block.title, data, block.plot);
  if (!chart) return el("p", { class: "left-out" }, `“${block.title}” is a plot of the kind “${String((block.plot as { type?: string } | undefined)?.type)}”, which this page does not know. It is left out.`);
  const nothing = chart.nothing();
  if (nothing) return el("div", { class: "block" }, title, el("p", { class: "note" }, nothing));
  return { node: figureNode(block, chart, title), chart, title: block.title };
}

function figureNode(block: ChartBlock, chart: Chart, head: HTMLElement): HTMLElement {
  // Saved pictures are used apart from the page, so their titles say that the input is synthetic.
  const title = plain(block.synthetic ? `${block.title} (synthetic input)` : block.title);
  const sheet: Sheet = { title, command: block.command ?? "", chart };
  const reset = button("Reset", () => chart.reset(), { class: "reset", title: "Show everything again (Home)" });
  reset.hidden = true;
  chart.onZoomed((zoomed) => (reset.hidden = !zoomed));
  const caption = el("figcaption", { class: "title" }, head,
    block.synthetic ? el("span", { class: "badge", title: "The input was synthesised, not measured" }, "synthetic") : null);
  const tools = el("div", { class: "tools" }, reset, modeSwitch(chart), zoomButtons(chart),
    button("SVG", () => saveSvg(sheet), { title: "Save what is shown as SVG" }),
    button("PNG", () => savePng(sheet), { title: "Save what is shown as PNG" }));
  const print = el("div", { class: "paper", "aria-hidden": "true" });
  const node = el("figure", { class: "chart", "data-title": block.title },
    el("div", { class: "head" }, caption, tools),
    block.note ? el("p", { class: "note" }, ...prose(block.note)) : null,
    legend(chart), chart.stage.node, chart.stage.live, print,
    el("div", { class: "below" }, dataTable(chart), commandNode(block.command)));
  preparePrint(sheet, print, figures++);
  return node;
}

function modeSwitch(chart: Chart): HTMLElement | null {
  const mode = chart.mode;
  if (!mode) return null;
  const buttons = mode.names.map((name, i) => button(name, () => {
    chart.setMode(i);
    buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(k === i)));
  }, { "aria-pressed": String(i === mode.current) }));
  return el("span", { class: "switch", role: "group", "aria-label": "Shown as" }, ...buttons);
}

/** Zoom buttons, for users without a wheel or keyboard. */
function zoomButtons(chart: Chart): HTMLElement | null {
  if (!chart.zoomBy) return null;
  return el("span", { class: "switch", role: "group", "aria-label": "Zoom" },
    button("−", () => chart.zoomBy?.(1.6), { title: "Zoom out (−)", "aria-label": "Zoom out" }),
    button("+", () => chart.zoomBy?.(1 / 1.6), { title: "Zoom in (+)", "aria-label": "Zoom in" }));
}

export function commandNode(command: string | null | undefined): HTMLElement | null {
  if (!command) return null;
  return el("details", { class: "command" }, el("summary", {}, "Command"),
    el("div", { class: "line" }, codeNode(command), copyButton(command, "Copy", "Copy the command")));
}

/** The data of a chart as a table, for users who cannot see it; built when opened. */
function dataTable(chart: Chart): HTMLElement {
  const details = el("details", { class: "data" }, el("summary", {}, "Data as table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const source = chart.table();
    const shown = Math.min(TABLE_ROWS, source.length);
    const rows = Array.from({ length: shown }, (_, i) => source.row(i));
    const numeric = source.columns.map((_, c) => rows.length > 0 && rows.every((row) => /^[\d+−–]/.test(row[c] ?? "")));
    const side = (c: number) => ({ class: numeric[c] ? "number" : undefined });
    const head = el("tr", {}, ...source.columns.map((name, c) => el("th", { scope: "col", ...side(c) }, name)));
    const body = rows.map((row) => el("tr", {}, ...row.map((text, c) => el("td", side(c), text))));
    const said = shown < source.length ? `The first ${count(shown)} of ${count(source.length)} rows` : `All ${count(shown)} rows`;
    const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
    details.append(el("p", { class: "quiet" }, said), ...scrolled(table, "Data of the chart"));
  });
  return details;
}

// On paper, charts are vectors in light colours, drawn when printing starts and removed afterwards.
function preparePrint(sheet: Sheet, paper: HTMLElement, number: number): void {
  addEventListener("beforeprint", () => {
    const drawn = new DOMParser().parseFromString(svgOf(sheet, lightTheme(), 760, false, `p${number}`), "image/svg+xml");
    paper.replaceChildren(document.importNode(drawn.documentElement, true));
  });
  addEventListener("afterprint", () => paper.replaceChildren());
}
