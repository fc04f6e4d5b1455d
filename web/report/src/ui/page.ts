// The page, always in the same order: the answer and its picture, what to do, the details, how far to trust it, how it was
// made.

import { ReportError, type Container } from "../data/container";
import type { Block, ChartBlock, Header, Section, TableBlock } from "../data/report";
import { many } from "../format/number";
import { chooseTheme, themeChoice, type Choice } from "../draw/theme";
import { button, copy, el } from "./dom";
import { commandNode, figure, type Figure } from "./figure";
import { tableBlock } from "./table";

export function page(data: Container): { node: HTMLElement; figures: Figure[] } {
  const { header } = data;
  const figures: Figure[] = [];
  const first = header.sections?.[0];
  const picture = first?.blocks?.find((block) => block.kind === "chart");
  const answer = first && picture ? el("section", { class: "answer" }, el("h2", { class: "hidden" }, first.title), shown(data, picture, figures)) : null;
  const rest = (header.sections ?? []).map((s) => ({ ...s, blocks: (s.blocks ?? []).filter((block) => block !== picture) }))
    .filter((s) => s.blocks.length || s.text?.length);
  const sections = rest.map((s, i) => section(data, s, i, figures));
  const contents = sections.length > 3 ? tableOfContents(rest) : null;
  showCommandsOnPaper();
  const node = el("div", { class: contents ? "with-contents" : undefined },
    el("a", { class: "skip", href: "#main" }, "Skip to the results"),
    headerNode(header),
    el("main", { id: "main" }, answer, more(header), contents, ...sections, trust(header), made(header)),
    el("footer", {}, el("p", {}, "Charts: the wheel zooms, dragging selects (with Shift, moves), a double click resets. With the keyboard: Tab to a chart, arrow keys read its values, + and − zoom, Home resets, Escape leaves. In timelines dragging moves, Shift and wheel goes over rows, N and P read activities.")));
  return { node, figures };
}

function showCommandsOnPaper(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details.command:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => opened.forEach((details) => (details.open = false)));
}

function headerNode(header: Header): HTMLElement {
  const [answer] = header.summary ?? [];
  const notes = header.warnings?.length ?? 0;
  return el("header", { class: "top" },
    el("div", { class: "bar" }, el("span", { class: "brand" }, "straggler"), themeSwitch()),
    el("h1", {}, header.title || "Report"),
    answer ? el("p", { class: "lead" }, ...prose(answer)) : null,
    notes ? el("p", { class: "doubts" }, el("a", { href: "#trust" }, `How far to trust this: ${many(notes, "note")}`)) : null);
}

/** What the summary says after the answer. */
function more(header: Header): HTMLElement | null {
  const rest = (header.summary ?? []).slice(1);
  return rest.length ? el("div", { class: "summary" }, ...rest.map((s) => el("p", {}, ...prose(s)))) : null;
}

function trust(header: Header): HTMLElement | null {
  const notes = header.warnings ?? [];
  return notes.length ? el("section", { id: "trust", class: "warnings", "aria-labelledby": "trust-title" },
    el("h2", { id: "trust-title" }, "How far to trust this"), el("ul", {}, ...notes.map((w) => el("li", {}, ...prose(w))))) : null;
}

function made(header: Header): HTMLElement | null {
  const facts = (header.facts ?? []).flatMap(([name, value]) => [el("dt", {}, name), factValue(name, value)]);
  return facts.length ? el("section", { id: "made" }, el("h2", {}, "How it was made"), el("dl", { class: "facts" }, ...facts)) : null;
}

/** Text in which numbers stay with their units, and options in one piece. */
function prose(text: string): (string | HTMLElement)[] {
  const joined = text.replace(/(\d) (?=(%|[pnµm]?s|min|h|Hz|[kMGT]Hz|[KMGT]i?B|B)(?![\w]))/g, "$1\u00a0");
  return joined.split(/(--[a-z][a-z-]*)/).map((part) => part.startsWith("--") ? el("span", { class: "option" }, part) : part);
}

function factValue(name: string, value: string): HTMLElement {
  if (!/command/i.test(name)) return el("dd", {}, value);
  const copyButton = button("Copy", () => void copy(value, copyButton));
  return el("dd", {}, el("code", {}, value), " ", copyButton);
}

function themeSwitch(): HTMLElement {
  const choices: [Choice, string][] = [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]];
  const buttons = choices.map(([choice, label]) => button(label, () => {
    chooseTheme(choice);
    remember(choice);
    mark();
  }, { "data-choice": choice }));
  const mark = () => buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(choices[i]![0] === themeChoice())));
  mark();
  return el("span", { class: "switch", role: "group", "aria-label": "Colours" }, ...buttons);
}

const KEY = "straggler-theme";

// Some browsers refuse storage to pages opened from disk; then the choice lasts as long as the page is open.
function remember(choice: Choice): void {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    return;
  }
}

export function rememberedTheme(): Choice {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto";
  }
}

function tableOfContents(sections: Section[]): HTMLElement {
  const items = sections.map((s, i) => el("li", {}, el("a", { href: `#section-${i + 1}` }, s.title)));
  return el("nav", { class: "contents", "aria-label": "Contents" }, el("h2", {}, "Contents"), el("ol", {}, ...items));
}

function section(data: Container, s: Section, index: number, figures: Figure[]): HTMLElement {
  const blocks = (s.blocks ?? []).map((block) => shown(data, block, figures));
  return el("section", { id: `section-${index + 1}` }, el("h2", {}, s.title), ...(s.text ?? []).map((text) => el("p", { class: "text" }, ...prose(text))), ...blocks);
}

function shown(data: Container, block: Block, figures: Figure[]): HTMLElement {
  const node = blockOrWhyNot(data, block);
  if (node instanceof HTMLElement) return node;
  figures.push(node);
  return node.node;
}

/** A table with more rows than this may be split across sheets of paper. */
const LONG = 12;

// An error in one block must not affect the rest of the page.
function blockOrWhyNot(data: Container, block: Block): Figure | HTMLElement {
  try {
    return blockNode(data, block);
  } catch (error) {
    const why = error instanceof ReportError ? error.message : `its data could not be read (${String(error)}).`;
    return el("p", { class: "left-out" }, `“${block.title ?? block.kind}” is not shown: ${why}`);
  }
}

function blockNode(data: Container, block: Block): Figure | HTMLElement {
  if (block.kind === "chart") return figure(data, block as ChartBlock);
  if (block.kind === "table") {
    const table = block as TableBlock;
    return el("div", { class: table.rows.length > LONG ? "block long" : "block" }, el("h3", {}, table.title), table.note ? el("p", { class: "note" }, ...prose(table.note)) : null,
      tableBlock(table), el("div", { class: "below" }, commandNode(table.command)));
  }
  return el("p", { class: "left-out" }, `${block.title ? `“${block.title}”` : "A part of this report"} is of the kind “${String(block.kind)}”, which this page does not know. It is left out.`);
}
