// Tables that can be sorted by click or keyboard and copied as CSV.

import type { Cell, TableBlock } from "../data/report";
import { many } from "../format/number";
import { button, copy, el } from "./dom";

export function tableBlock(block: TableBlock): HTMLElement {
  const body = el("tbody");
  const numeric = block.columns.map((column) => column.number === true);
  const rows = block.rows.map((cells) => ({ cells, node: rowOf(cells, numeric) }));
  body.append(...rows.map((row) => row.node));
  const live = el("span", { class: "hidden", role: "status", "aria-live": "polite" });
  const heads = block.columns.map((column, i) => {
    const head = el("th", { scope: "col", class: column.number ? "number" : undefined, "aria-sort": "none" });
    head.append(button(column.name, () => {
      const falling = head.getAttribute("aria-sort") === "ascending" || (head.getAttribute("aria-sort") === "none" && column.number === true);
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      rows.sort((a, b) => compare(a.cells[i], b.cells[i], falling));
      body.append(...rows.map((row) => row.node));
      live.textContent = `Sorted by ${column.name}, ${falling ? "descending" : "ascending"}`;
    }));
    return head;
  });
  const copyButton = button("Copy as CSV", () => void copy(csv(block.columns.map((c) => c.name), rows.map((row) => row.cells.map(plain))), copyButton));
  const table = el("table", {}, el("caption", { class: "hidden" }, block.title), el("thead", {}, el("tr", {}, ...heads)), body);
  return el("div", { class: "table" },
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${block.title}` }, table),
    el("div", { class: "tools" }, el("span", { class: "quiet" }, many(rows.length, "row")), copyButton), live);
}

function rowOf(cells: Cell[], numeric: boolean[]): HTMLElement {
  return el("tr", {}, ...cells.map((cell, i) => el("td", { class: numeric[i] ? "number" : undefined }, cell.text)));
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
function plain(cell: Cell): string {
  return cell.value != null ? String(cell.value) : cell.text;
}

export function csv(names: string[], rows: string[][]): string {
  const field = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  return [names, ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";
}
