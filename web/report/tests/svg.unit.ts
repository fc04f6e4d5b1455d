import { expect, test } from "vitest";
import { SvgPainter } from "../src/draw/svg";

test("texts are escaped, numbers short, neighbours joined", () => {
  const p = new SvgPainter(100, 50);
  p.text(1 / 3, 2, "a < b & \"c\" \u0007", { color: "#000000" });
  p.path([0, 0, 10, 10, NaN, NaN, 20, 20, 30, 30], { color: "#123456", dash: [2, 1] });
  p.cells({
    columns: 4, rows: 1, index: Uint8Array.from([1, 1, 0, 2]), x: Float64Array.from([0, 1, 2, 3, 4]),
    top: Float64Array.from([5]), bottom: Float64Array.from([7]), palette: ["", "#ff0000", "#00ff00"],
  });
  const svg = p.finish("t", "d");
  expect(svg).toContain('x="0.33"');
  expect(svg).toContain("a &lt; b &amp; &quot;c&quot; \ufffd");
  expect(svg).toContain('d="M0 0L10 10M20 20L30 30"');
  expect(svg).toContain('fill="#ff0000" d="M0 5H2V7H0z"');
  expect(svg).toContain('fill="#00ff00" d="M3 5H4V7H3z"');
  expect(svg).not.toMatch(/NaN/);
});
