// Titles name files, often with long paths of which only the end differs. A title shows of a path what tells it from the
// others; the whole title appears when the pointer rests on it.

import { el } from "./dom";
import { plain, prose } from "./prose";

export type Short = (text: string) => string;

/** Paths with at least two slashes, or from the root or home; not "MB/s". */
const PATH = /(?<=^|[\s"'`(:=,])(?:(?:~|\.{1,2})?\/[^\s:,;()"'`]+|[^\s:,;()"'`/]+(?:\/[^\s:,;()"'`/]+){2,})/g;

/** Shortens the paths in a text to as many of their last parts as tell them from the paths of the other texts. */
export function shortener(texts: string[]): Short {
  const paths = [...new Set(texts.flatMap((text) => text.match(PATH) ?? []))].map((path) => path.split("/").filter(Boolean));
  const end = (parts: string[], count: number) => parts.slice(-count).join("/");
  const short = (path: string) => {
    const parts = path.split("/").filter(Boolean);
    const others = paths.filter((other) => other.join("/") !== parts.join("/"));
    let count = 1;
    while (count < parts.length && others.some((other) => end(other, count) === end(parts, count))) count++;
    return count < parts.length ? end(parts, count) : path;
  };
  return (text) => text.replace(PATH, short);
}

const TAGS = ["h1", "h2", "h3", "h4"] as const;

/** A heading of level 1 to 4, shortened; its whole text on hover. */
export function heading(level: number, text: string, short: Short, attributes: Record<string, string> = {}): HTMLElement {
  const shown = short(text);
  return el(TAGS[level - 1]!, { ...attributes, title: shown === text ? undefined : plain(text) }, ...prose(shown));
}
