// What a page says, always in the same order: the answer and its picture, what to do, the details, how far to trust it, how
// it was made. A page that joins several has a body for each.

import { ReportError, type Container } from "../data/container";
import type { Block, ChartBlock, PageBody, Section, TableBlock } from "../data/report";
import { many } from "../format/number";
import { copyButton } from "./copy";
import { el } from "./dom";
import { commandNode, figure, type Figure } from "./figure";
import { codeNode, plain, prose } from "./prose";
import { tableBlock } from "./table";
import { heading, type Short } from "./titles";

/** What the bodies of a page share. */
export interface Whole { data: Container; figures: Figure[]; short: Short }

/** A body within its page: what the ids of its parts begin with, and the level of its title. */
export interface Place { id: string; level: 1 | 2 }

/** The title, the answer, and the way to the doubts. */
export function top(body: PageBody, whole: Whole, place: Place): (HTMLElement | null)[] {
  const [answer, rest] = divided(body.summary?.[0] ?? "");
  const doubts = [many(body.warnings?.length ?? 0, "warning"), many(body.notes?.length ?? 0, "note")].filter((text) => !text.startsWith("0 "));
  const warned = (body.warnings?.length ?? 0) > 0;
  return [
    heading(place.level, body.title || "Report", whole.short, body.title.length > LONG_TITLE ? { class: "long" } : {}),
    answer ? el("p", { class: "lead" }, ...prose(answer)) : null,
    rest ? el("p", { class: "lead-rest" }, ...prose(rest)) : null,
    doubts.length ? el("p", { class: warned ? "doubts warned" : "doubts" }, el("a", { href: `#${place.id}trust` }, `How far to trust this: ${doubts.join(", ")}`)) : null,
  ];
}

/** A title with more letters is set smaller. */
const LONG_TITLE = 70;
/** An answer with more letters is divided after its first sentence. */
const LONG_ANSWER = 150;

/** The first sentence of an answer, and the rest if it is long. */
export function divided(answer: string): [string, string] {
  const end = answer.length > LONG_ANSWER ? /^.{30,}?[.!?](?=\s+[A-Z\d])/.exec(answer)?.[0].length : undefined;
  return end === undefined ? [answer, ""] : [answer.slice(0, end), answer.slice(end).trim()];
}

/** Everything below the top. */
export function main(body: PageBody, whole: Whole, place: Place): { nodes: (HTMLElement | null)[]; sections: Section[] } {
  const all = body.sections ?? [];
  const picture = all.flatMap((s) => s.blocks ?? []).find((block) => block.kind === "chart");
  const answer = picture ? el("div", { class: "answer" }, shown(picture, whole, place)) : null;
  const more = (body.summary ?? []).slice(1);
  const sections = all.map((s) => ({ ...s, blocks: (s.blocks ?? []).filter((block) => block !== picture) })).filter((s) => s.blocks.length || s.text?.length);
  return {
    sections,
    nodes: [
      answer,
      more.length ? el("div", { class: "summary" }, ...more.map((text) => el("p", {}, ...prose(text)))) : null,
      sections.length > 3 && place.level === 1 ? contents(sections, whole, place) : null,
      ...sections.map((s, i) => section(s, i, whole, place)),
      trust(body, place),
      made(body, whole, place),
    ],
  };
}

function contents(sections: Section[], whole: Whole, place: Place): HTMLElement {
  const items = sections.map((s, i) => el("li", {}, el("a", { href: `#${place.id}section-${i + 1}` }, plain(whole.short(s.title)))));
  return el("nav", { class: "contents", "aria-label": "Contents" }, el("h2", {}, "Contents"), el("ol", {}, ...items));
}

function section(s: Section, index: number, whole: Whole, place: Place): HTMLElement {
  return el("section", { id: `${place.id}section-${index + 1}` }, heading(place.level + 1, s.title, whole.short),
    ...(s.text ?? []).map((text) => el("p", { class: "text" }, ...prose(text))),
    ...(s.blocks ?? []).map((block) => shown(block, whole, place)));
}

function trust(body: PageBody, place: Place): HTMLElement | null {
  const [warnings, notes] = [body.warnings ?? [], body.notes ?? []];
  if (warnings.length + notes.length === 0) return null;
  const list = (texts: string[], kind: string) => texts.length ? el("ul", { class: kind }, ...texts.map((text) => el("li", {}, ...prose(sentence(text))))) : null;
  return el("section", { id: `${place.id}trust`, class: warnings.length ? "trust doubtful" : "trust" },
    el(place.level === 1 ? "h2" : "h3", {}, "How far to trust this"), list(warnings, "warnings"), list(notes, "notes"));
}

/** Notes that follow a dash on a terminal begin with a capital on a page, and end with a full stop. */
export function sentence(text: string): string {
  const whole = /[\w)%`]$/.test(text) ? `${text}.` : text;
  return /^[a-z]+ /.test(whole) ? whole[0]!.toUpperCase() + whole.slice(1) : whole;
}

function made(body: PageBody, whole: Whole, place: Place): HTMLElement | null {
  const facts = (body.facts ?? []).flatMap(([name, value]) => [el("dt", {}, plain(whole.short(name))), factValue(name, value)]);
  if (facts.length === 0) return null;
  const list = el("dl", { class: "facts" }, ...facts);
  return place.level === 1 ? el("section", { id: `${place.id}made` }, el("h2", {}, "How it was made"), list)
    : el("details", { id: `${place.id}made`, class: "made" }, el("summary", {}, "How it was made"), list);
}

function factValue(name: string, value: string): HTMLElement {
  if (!/command/i.test(name)) return el("dd", {}, ...prose(value));
  return el("dd", {}, codeNode(value), " ", copyButton(value, "Copy", "Copy the command"));
}

function shown(block: Block, whole: Whole, place: Place): HTMLElement {
  const node = blockOrWhyNot(block, whole, place);
  if (node instanceof HTMLElement) return node;
  whole.figures.push(node);
  return node.node;
}

// An error in one block must not affect the rest of the page.
function blockOrWhyNot(block: Block, whole: Whole, place: Place): Figure | HTMLElement {
  try {
    return blockNode(block, whole, place);
  } catch (error) {
    const why = error instanceof ReportError ? error.message : `its data could not be read (${String(error)}).`;
    return el("p", { class: "left-out" }, `“${block.title ?? block.kind}” is not shown: ${why}`);
  }
}

/** A table with more rows than this may be split across sheets of paper. */
const LONG_TABLE = 12;

function blockNode(block: Block, whole: Whole, place: Place): Figure | HTMLElement {
  if (block.kind === "chart") return figure(whole.data, block as ChartBlock, heading(place.level + 2, block.title ?? "", whole.short));
  if (block.kind === "table") {
    const table = block as TableBlock;
    return el("div", { class: table.rows.length > LONG_TABLE ? "block long" : "block" }, heading(place.level + 2, table.title, whole.short),
      table.note ? el("p", { class: "note" }, ...prose(table.note)) : null,
      tableBlock(table), el("div", { class: "below" }, commandNode(table.command)));
  }
  return el("p", { class: "left-out" }, `${block.title ? `“${block.title}”` : "A part of this report"} is of the kind “${String(block.kind)}”, which this page does not know. It is left out.`);
}
