// Messages of a timeline: they hide no bars.

import { expect, test } from "vitest";
import { lightTheme, kindColors } from "../src/draw/theme";
import { arrowLine, arrowsInView, arrowsOfActivity, type Area } from "../src/timeline/paint";
import { indexed, type Arrows } from "../src/timeline/activities";
import { bandsOf } from "../src/timeline/raster";

const area: Area = { left: 100, right: 1100, top: 50, bottom: 50 + 8 * 26, strip: 4 };
const view = { t0: 0, t1: 1000, row0: 0, row1: 8 };

function messages(list: [from: number, to: number, sent: number, received: number][]): Arrows {
  const part = (k: number) => list.map((one) => one[k]!);
  return {
    length: list.length, from: Uint32Array.from(part(0)), to: Uint32Array.from(part(1)), sent: Float64Array.from(part(2)),
    received: Float64Array.from(part(3)), bytes: new Float64Array(list.length),
  };
}

test("an arrow goes from the edge of one bar to the edge of the other", () => {
  const { top, bottom } = bandsOf(view, area.bottom - area.top, 8, 1, true);
  const down = arrowLine(messages([[2, 3, 100, 200]]), 0, view, area);
  expect(down).toEqual([200, area.top + bottom[2]!, 300, area.top + top[3]!].map((v) => expect.closeTo(v, 9)));
  const up = arrowLine(messages([[5, 1, 100, 200]]), 0, view, area);
  expect([up[1], up[3]]).toEqual([area.top + top[5]!, area.top + bottom[1]!].map((v) => expect.closeTo(v, 9)));
});

test("messages are drawn only if bars can be seen between them", () => {
  const ring = (steps: number) => messages(Array.from({ length: 8 * steps }, (_, i) => [i % 8, (i % 8 + 1) % 8, i, i + 5]));
  expect(arrowsInView(ring(20), view, area)).toEqual({ list: Array.from({ length: 160 }, (_, i) => i), tooMany: false });
  expect(arrowsInView(ring(100), view, area)).toEqual({ list: [], tooMany: true });
  // Zoomed in, few of them are in view.
  expect(arrowsInView(ring(100), { ...view, t0: 100, t1: 140 }, area)).toMatchObject({ tooMany: false });
});

test("an activity has the messages that it sends and receives", () => {
  const arrows = messages([[0, 1, 5, 9], [1, 0, 5, 9], [0, 1, 20, 30]]);
  const a = indexed({
    rows: ["rank 0", "rank 1"], kinds: [{ name: "send", role: "send" }], row: Uint32Array.of(0, 1), start: Float64Array.of(4, 0), end: Float64Array.of(6, 40),
    kind: Uint8Array.of(0, 0), peer: Uint32Array.of(1, 0), bytes: Float64Array.of(8, 8), tag: Uint32Array.of(0, 0),
  });
  expect(arrowsOfActivity(a, arrows, 0)).toEqual([0]);
  expect(arrowsOfActivity(a, arrows, 1)).toEqual([0, 1, 2]);
});

test("kinds of one role are shades of its colour, and all kinds differ", () => {
  const theme = lightTheme();
  const roles = ["computation", "wait", "wait", "wait", "wait", "communication", "noise", "noise"] as const;
  const colors = kindColors(roles.map((role) => ({ role })), theme);
  expect(colors[1]).toBe(theme.roles.wait);
  expect(new Set(colors).size).toBe(7);
  expect(colors[6]).toBe(theme.noise);
  expect(colors[7]).toBe(theme.noise);
});
