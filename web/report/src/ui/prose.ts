// Sentences: numbers stay with their units, options in one piece, long names break where a reader would break them,
// `code` is set as code. Commands get a button that copies them.

import { copyButton } from "./copy";
import { el } from "./dom";

type Part = string | HTMLElement;

const CODE = /(`[^`]+`)/;

export function prose(text: string): Part[] {
  return text.split(CODE).flatMap((part) => (CODE.test(part) ? code(part.slice(1, -1)) : breakable(withUnits(part))));
}

/** The text without marks, for drawings, names and attributes. */
export function plain(text: string): string {
  return withUnits(text).replace(/`([^`]+)`/g, "$1");
}

/** A command or path, which may break behind its separators. */
export function codeNode(text: string): HTMLElement {
  return el("code", {}, ...breakable(text));
}

function withUnits(text: string): string {
  return text.replace(/(\d) (?=(%|[pnµm]?s|min|h|Hz|[kMGT]Hz|[KMGT]i?B|B)(?![\w]))/g, "$1\u00a0").replace(/(^|[\s(])-(?=\d)/g, "$1\u2212");
}

const LONG_WORD = 24;
const OPTION = /(--[a-z][a-z-]*)/;

/** Long words may break behind a comma, slash, plus or ampersand; options such as --report do not break at their hyphens. */
function breakable(text: string): Part[] {
  return text.split(/(\S+)/).flatMap((word): Part[] => {
    if (word.length <= LONG_WORD) return word.split(OPTION).filter(Boolean).map((part) => (OPTION.test(part) ? el("span", { class: "option" }, part) : part));
    return word.split(/(?<=[,+/&;](?=.))/).flatMap((piece, i) => (i ? [el("wbr"), piece] : [piece]));
  });
}

/** A command with an argument, and without a placeholder such as FILE, is ready to be pasted. */
const READY = /^straggler [a-z]+ \S+ \S/;
const PLACEHOLDER = /\b[A-Z]{2,}\b|…/;

function code(text: string): Part[] {
  const node = codeNode(text);
  return READY.test(text) && !PLACEHOLDER.test(text) ? [node, copyButton(text, "Copy", `Copy the command ${text}`)] : [node];
}
