// Helpers to create elements. Text is always inserted as text: data is never parsed as HTML.

type Child = Node | string | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child) node.append(child);
  return node;
}

export function button(label: string, action: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const node = el("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", action);
  return node;
}

export function save(name: string, data: Blob): void {
  const url = URL.createObjectURL(data);
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function fileName(title: string, ending: string): string {
  const stem = title.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${stem || "chart"}.${ending}`;
}
