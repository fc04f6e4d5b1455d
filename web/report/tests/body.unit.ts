// Sentences of a page, and names in charts.

import { expect, test } from "vitest";
import { lines } from "../src/draw/painter";
import { divided, sentence } from "../src/ui/body";
import { plain } from "../src/ui/prose";

test("a long answer is divided after its first sentence, a short one is not", () => {
  const long = "The steps take 26 % longer than they would if all workers were typical (95 % interval: +15 % to +37 %). Rank 6 is slow from step 5 on: without that, a step would take 1.63 s, not 2.04 s.";
  expect(divided(long)).toEqual([long.slice(0, long.indexOf(" Rank 6")), long.slice(long.indexOf("Rank 6"))]);
  expect(divided("Noise costs 3 %. Remove the tick.")).toEqual(["Noise costs 3 %. Remove the tick.", ""]);
  expect(divided("x".repeat(200))).toEqual(["x".repeat(200), ""]);
});

test("notes become sentences", () => {
  expect(sentence("every core has its own clock")).toBe("Every core has its own clock.");
  expect(sentence("node17: 3 % were lost")).toBe("node17: 3 % were lost.");
  expect(sentence("Only 3 s were measured.")).toBe("Only 3 s were measured.");
});

test("numbers stay with their units, and minus signs are minus signs", () => {
  expect(plain("it takes 10 ms, -3 % (-0.5 GiB) of `x`; 5-7 and --out stay")).toBe("it takes 10\u00a0ms, −3\u00a0% (−0.5\u00a0GiB) of x; 5-7 and --out stay");
});

test("a name is broken between words, and cut only in its last line", () => {
  const name = "computation on rank 3, computation on rank 2, computation on rank 1";
  const two = lines(name, 170, 2);
  expect(two.length).toBe(2);
  expect(name.startsWith(two[0]!)).toBe(true);
  expect(two[1]).toMatch(/…$/);
  expect(lines("tick", 170, 2)).toEqual(["tick"]);
});
