// The single tooltip of the page, next to the pointer and always inside the window.

import type { Reading } from "../charts/plot";
import { el } from "./dom";

let node: HTMLElement | null = null;
let owner: unknown = null;

export function showTip(by: unknown, reading: Reading, x: number, y: number): void {
  owner = by;
  if (!node) document.body.append((node = el("div", { class: "tip", "aria-hidden": "true" })));
  const rows = reading.rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  node.replaceChildren(el("strong", {}, reading.title), el("dl", {}, ...rows));
  node.hidden = false;
  const { width, height } = node.getBoundingClientRect();
  const left = x + 16 + width > innerWidth - 8 ? x - 16 - width : x + 16;
  const top = Math.min(Math.max(8, y - height / 2), innerHeight - height - 8);
  node.style.transform = `translate(${Math.max(8, Math.round(left))}px, ${Math.round(top)}px)`;
}

export function hideTip(by: unknown): void {
  if (node && owner === by) node.hidden = true;
}

export function spoken(reading: Reading): string {
  return `${reading.title}: ${reading.rows.map(([name, value]) => `${name} ${value}`).join(", ")}`;
}
