// Colours of the charts, defined here and nowhere else; crates/report/src/charts/palette.rs repeats the light ones for
// pictures, and a test there compares them. docs/report-format.md lists what each role means. Series use the palette of
// Okabe and Ito, which is safe for all kinds of colour vision, except for its vermillion, which is reserved for noise.

import type { KindRole } from "../data/report";
import { mix } from "./color";

export interface Theme {
  dark: boolean;
  paper: string;
  ink: string;
  quiet: string;
  grid: string;
  axis: string;
  accent: string;
  noise: string;
  reference: string;
  /** Series that share a colour. */
  others: string;
  series: string[];
  roles: Record<KindRole, string>;
  heat: string[];
}

const LIGHT: Theme = {
  dark: false,
  paper: "#ffffff",
  ink: "#1c2330",
  quiet: "#5b6473",
  grid: "#e9ecf1",
  axis: "#aeb6c2",
  accent: "#0b66a8",
  noise: "#d55e00",
  reference: "#c2264b",
  others: "#9aa1ab",
  series: ["#0072b2", "#e09400", "#009e73", "#bb5f93", "#3d9fd8", "#6b5b95", "#8a7a00", "#4a4f57"],
  roles: { computation: "#b4c0cf", communication: "#56b4e9", send: "#0072b2", receive: "#009e73", wait: "#ecd06f", noise: "#d55e00", other: "#bb5f93" },
  heat: ["#f4f6f2", "#cfe1d6", "#94c5bd", "#549fa8", "#2b7594", "#1f4d7a", "#1b2a55"],
};

const DARK: Theme = {
  dark: true,
  paper: "#14181f",
  ink: "#e7eaf0",
  quiet: "#9aa5b5",
  grid: "#262c37",
  axis: "#4c5667",
  accent: "#6cb8f0",
  noise: "#ff7a2f",
  reference: "#ff7594",
  others: "#6d7787",
  series: ["#4aa8e8", "#f0b03f", "#2dc79a", "#e08fbd", "#8fd3f7", "#b3a1e6", "#d9cc4a", "#b9c0ca"],
  roles: { computation: "#4b596b", communication: "#3f8fc2", send: "#8fd3f7", receive: "#2dc79a", wait: "#a58b2f", noise: "#ff7a2f", other: "#e08fbd" },
  heat: ["#1b2028", "#1f3550", "#1f5576", "#2b7d90", "#57a99a", "#a3d1a8", "#f2f5c8"],
};

/** How far the second, third, … kind of a role lies from its colour: towards the ink, then towards the paper. */
const SHADES = [0, 0.4, -0.45, 0.65, -0.7, 0.8];

/** The colours of kinds of activities: the first of a role has its colour, others are shades of it. */
export function kindColors(kinds: { role: KindRole }[], theme: Theme): string[] {
  const seen = new Map<KindRole, number>();
  return kinds.map(({ role }) => {
    const n = seen.get(role) ?? 0;
    seen.set(role, n + 1);
    // Cells mix the one colour of noise into those of other activities.
    const shade = role === "noise" ? 0 : SHADES[n % SHADES.length]!;
    return mix(theme.roles[role] ?? theme.roles.other, shade > 0 ? theme.ink : theme.paper, Math.abs(shade));
  });
}

export function lightTheme(): Theme {
  return LIGHT;
}

export type Choice = "auto" | "light" | "dark";

const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
let choice: Choice = "auto";
const listeners = new Set<() => void>();

export function theme(): Theme {
  const dark = choice === "dark" || (choice === "auto" && media?.matches === true);
  return dark ? DARK : LIGHT;
}

export function themeChoice(): Choice {
  return choice;
}

export function chooseTheme(next: Choice): void {
  choice = next;
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  for (const f of listeners) f();
}

export function onThemeChange(f: () => void): void {
  listeners.add(f);
}

media?.addEventListener("change", () => listeners.forEach((f) => f()));
