// The page: one body, or the bodies of the pages that it joins below a list of their answers.

import type { Container } from "../data/container";
import type { Header, PageBody } from "../data/report";
import { chooseTheme, themeChoice, type Choice } from "../draw/theme";
import { divided, main, top, type Place, type Whole } from "./body";
import { button, el } from "./dom";
import type { Figure } from "./figure";
import { plain, prose } from "./prose";
import { heading, shortener } from "./titles";

const HOW_TO = "Charts: the wheel zooms, dragging selects (with Shift, moves), a double click resets. With the keyboard: Tab to a chart, arrow keys read its values, + and − zoom, Home resets, Escape leaves. In timelines dragging moves, Shift and wheel goes over rows, N and P read activities.";

export function page(data: Container): { node: HTMLElement; figures: Figure[] } {
  const { header } = data;
  const whole: Whole = { data, figures: [], short: shortener(titlesOf(header)) };
  showCommandsOnPaper();
  const content = header.parts?.length ? joined(header, header.parts, whole) : single(header, whole);
  const node = el("div", { class: content.some((part) => part?.querySelector("nav.contents")) ? "with-contents" : undefined },
    el("a", { class: "skip", href: "#main" }, "Skip to the results"), ...content, el("footer", {}, el("p", {}, HOW_TO)));
  return { node, figures: whole.figures };
}

function single(header: Header, whole: Whole): HTMLElement[] {
  const place: Place = { id: "", level: 1 };
  return [el("header", { class: "top" }, bar(), ...top(header, whole, place)), el("main", { id: "main" }, ...main(header, whole, place).nodes)];
}

/** The answers of all parts, each with a link to it; then the parts. */
function joined(header: Header, parts: PageBody[], whole: Whole): HTMLElement[] {
  const answers = parts.map((part, i) => el("li", {}, el("a", { href: `#part-${i + 1}`, title: plain(part.title) }, plain(whole.short(part.title))),
    el("p", {}, ...prose(divided(part.summary?.[0] ?? "")[0]))));
  const articles = parts.map((part, i) => {
    const place: Place = { id: `part-${i + 1}-`, level: 2 };
    return el("article", { id: `part-${i + 1}` }, ...top(part, whole, place), ...main(part, whole, place).nodes);
  });
  const own = main(header, whole, { id: "", level: 1 });
  return [
    el("header", { class: "top" }, bar(), heading(1, header.title || "Report", whole.short), el("ol", { class: "answers" }, ...answers)),
    el("main", { id: "main" }, ...articles, ...own.nodes),
  ];
}

function titlesOf(body: PageBody & { parts?: PageBody[] }): string[] {
  const sections = (body.sections ?? []).flatMap((s) => [s.title, ...(s.blocks ?? []).map((block) => block.title ?? "")]);
  return [body.title, ...sections, ...(body.parts ?? []).flatMap(titlesOf)];
}

function showCommandsOnPaper(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details.command:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => opened.forEach((details) => (details.open = false)));
}

function bar(): HTMLElement {
  return el("div", { class: "bar" }, el("span", { class: "brand" }, "straggler"), themeSwitch());
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
