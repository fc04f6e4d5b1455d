// Copying to the clipboard. Some browsers allow it to pages opened from disk only the old way: by selecting a text.

import { el } from "./dom";

/** A button that copies a text, says so, and keeps the focus. */
export function copyButton(text: string | (() => string), label: string, name = label): HTMLButtonElement {
  const node = el("button", { type: "button", class: "copy", "aria-label": name }, label);
  node.addEventListener("click", () => void copied(typeof text === "string" ? text : text(), node).then((done) => {
    const said = done ? "Copied" : "Not allowed here";
    node.textContent = said;
    announce(said);
    setTimeout(() => (node.textContent = label), 1500);
  }));
  return node;
}

async function copied(text: string, node: HTMLButtonElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const done = copyBySelection(text);
    node.focus();
    return done;
  }
}

function copyBySelection(text: string): boolean {
  const area = el("textarea", { class: "hidden", "aria-hidden": "true", tabindex: "-1" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

let live: HTMLElement | null = null;

/** Screen readers do not read the changed label of a button. */
function announce(text: string): void {
  if (!live) document.body.append((live = el("div", { class: "hidden", role: "status" })));
  live.textContent = "";
  setTimeout(() => live && (live.textContent = text));
}
