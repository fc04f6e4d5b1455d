// Tables that can be sorted by click or keyboard and copied as CSV. Rows in which nothing happens are folded into one.

import type { Cell, TableBlock } from "../data/report";
import { textWidth } from "../draw/painter";
import { many } from "../format/number";
import { copyButton } from "./copy";
import { button, el } from "./dom";
import { plain, prose } from "./prose";

interface Row { cells: Cell[]; node: HTMLElement; idle: boolean }

export function tableBlock(block: TableBlock): HTMLElement {
  const body = el("tbody");
  const numeric = block.columns.map((column) => column.number === true);
  const rows = block.rows.map((cells): Row => ({ cells, node: rowOf(cells, numeric), idle: isIdle(cells, numeric) }));
  const opened = new Set<Row>();
  const arrange = () => body.replaceChildren(...arranged(rows, opened, block.columns.length, arrange));
  arrange();
  const live = el("span", { class: "hidden", role: "status", "aria-live": "polite" });
  const heads = block.columns.map((column, i) => {
    const head = el("th", { scope: "col", class: column.number ? "number" : undefined, "aria-sort": "none" });
    if (column.name) head.append(button(plain(column.name), () => {
      const falling = head.getAttribute("aria-sort") === "ascending" || (head.getAttribute("aria-sort") === "none" && column.number === true);
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      rows.sort((a, b) => compare(a.cells[i], b.cells[i], falling));
      arrange();
      live.textContent = `Sorted by ${column.name}, ${falling ? "descending" : "ascending"}`;
    }));
    const texts = column.number ? [] : block.rows.map((cells) => cells[i]?.text ?? "");
    head.style.minWidth = widthOf([`${column.name} ↕`, ...texts]);
    return head;
  });
  const asCsv = () => csv(block.columns.map((c) => c.name), rows.map((row) => row.cells.map(plainCell)));
  const table = el("table", {}, el("caption", { class: "hidden" }, block.title), el("thead", {}, el("tr", {}, ...heads)), body);
  return el("div", { class: "table" },
    ...scrolled(table, `Table: ${block.title}`),
    el("div", { class: "tools" }, el("span", { class: "quiet" }, many(rows.length, "row")), copyButton(asCsv, "Copy as CSV")), live);
}

/** A region that scrolls sideways if its table is too wide, and then says so. */
export function scrolled(content: HTMLElement, name: string): HTMLElement[] {
  const region = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, content);
  const hint = el("p", { class: "sideways", "aria-hidden": "true" }, "Scroll sideways for more columns →");
  hint.hidden = true;
  const look = () => {
    const rest = region.scrollWidth - region.clientWidth - region.scrollLeft;
    hint.hidden = region.scrollWidth <= region.clientWidth + 1;
    region.classList.toggle("more", rest > 1);
    hint.classList.toggle("seen", rest <= 1);
  };
  region.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(region);
  return [hint, region];
}

function rowOf(cells: Cell[], numeric: boolean[]): HTMLElement {
  return el("tr", {}, ...cells.map((cell, i) => {
    if (numeric[i]) return el("td", { class: "number" }, ...prose(cell.text));
    return el("td", {}, ...(cell.text.length > LONG_TEXT ? [clamped(cell.text)] : prose(cell.text)));
  }));
}

/** A text with more letters shows its first four lines until it is opened. */
const LONG_TEXT = 90;

function clamped(text: string): HTMLElement {
  const node = el("div", { class: "clamped", tabindex: "0", title: plain(text) }, ...prose(text));
  const toggle = () => node.classList.toggle("opened");
  node.addEventListener("click", toggle);
  node.addEventListener("keydown", (e) => {
    if (e.key === "Enter") toggle();
  });
  return node;
}

const FONT = 14; // pixels of the text of a table
const ONE_LINE = 110; // narrower texts are not broken
const MOST_LINES = 3;
const WIDEST = 540;

/** Wide enough that no text of a column takes more than three lines, within reason. */
function widthOf(texts: string[]): string {
  const widest = texts.reduce((most, text) => Math.max(most, textWidth(text, FONT)), 0);
  // Lines are not full: words do not break.
  const broken = Math.max(ONE_LINE, (widest / MOST_LINES) * 1.2 + 24);
  return `min(70vw, ${Math.ceil(widest <= ONE_LINE ? widest + PADDING : Math.min(WIDEST, broken))}px)`;
}

const PADDING = 16;

/** A share or slowdown; alone, as an interval, or with a mark: "12 %", "+3.2 % *", "0 % to +0.1 %", "3.4×". */
const SHARE = /\d[\s\u00a0\u202f]?[%×]/;

/** Whether the shares and slowdowns of a row, of which there are some, are all 0. */
export function isIdle(cells: Cell[], numeric: boolean[]): boolean {
  const shares = cells.filter((cell, i) => i > 0 && numeric[i] && SHARE.test(cell.text));
  return shares.length > 0 && shares.every((cell) => !/[1-9×]/.test(cell.text));
}

/** Divides rows into runs of idle ones, which are shown as one row if there are several, and single others. */
export function runs(idle: boolean[]): { from: number; to: number; folded: boolean }[] {
  const out: { from: number; to: number; folded: boolean }[] = [];
  for (let from = 0, to = 0; from < idle.length; from = to) {
    for (to = from + 1; idle[from] && idle[to]; to++);
    out.push({ from, to, folded: to - from > 1 });
  }
  return out;
}

/** The rows in order; a run of idle ones is one row until it is opened. */
function arranged(rows: Row[], opened: Set<Row>, columns: number, again: () => void): HTMLElement[] {
  return runs(rows.map((row) => row.idle && !opened.has(row))).map(({ from, to, folded }) => {
    const run = rows.slice(from, to);
    return folded ? foldedRow(run, columns, () => {
      run.forEach((row) => opened.add(row));
      again();
      run[0]!.node.tabIndex = -1;
      run[0]!.node.focus();
    }) : run[0]!.node;
  });
}

function foldedRow(run: Row[], columns: number, open: () => void): HTMLElement {
  const name = (row: Row) => plain(row.cells[0]?.text ?? "");
  const [first, last] = [name(run[0]!), name(run[run.length - 1]!)];
  const label = `${run.length} more rows: 0\u00a0%${first === last || first.length + last.length > 40 ? "" : ` (${first} … ${last})`}`;
  return el("tr", { class: "folded" }, el("td", { colspan: String(columns) }, button(label, open, { "aria-expanded": "false" })));
}

// Compares by value; cells without a value come last in either direction.
function compare(a: Cell | undefined, b: Cell | undefined, falling: boolean): number {
  const [x, y] = [a?.value ?? null, b?.value ?? null];
  const sign = falling ? -1 : 1;
  if (x !== null && y !== null) return sign * (x - y);
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  return sign * (a?.text ?? "").localeCompare(b?.text ?? "", "en", { numeric: true });
}

// Copies numbers without separators and units.
function plainCell(cell: Cell): string {
  return cell.value != null ? String(cell.value) : cell.text;
}

export function csv(names: string[], rows: string[][]): string {
  const field = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  return [names, ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";
}
