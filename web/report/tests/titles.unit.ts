// Titles without what their paths have in common, and the names of pictures.

import { expect, test } from "vitest";
import { nameOf } from "../src/ui/stage";
import { shortener } from "../src/ui/titles";

test("of a path, a title shows what tells it from the others", () => {
  const titles = ["Noise of /data/runs/2026/node-a/day.noise", "Latencies of /data/runs/2026/node-b/day.noise", "/data/runs/2026/eager.lat: Tail"];
  expect(titles.map(shortener(titles))).toEqual(["Noise of node-a/day.noise", "Latencies of node-b/day.noise", "eager.lat: Tail"]);
  const one = ["The training job fixtures/training/slow-worker.csv"];
  expect(one.map(shortener(one))).toEqual(["The training job slow-worker.csv"]);
  // One path is the end of another: it stays as it is.
  const nested = ["/a/b.noise", "/c/a/b.noise"];
  expect(nested.map(shortener(nested))).toEqual(["/a/b.noise", "/c/a/b.noise"]);
});

test("what is no path is left alone", () => {
  for (const text of ["8 MB/s", "T/T0 − 1", "kworker/0:1", "computing time / median", "periodic:period=1ms,duration=30us"]) {
    expect(shortener([text, "/tmp/x/y.noise"])(text)).toBe(text);
  }
});

test("a picture has a name made of its title and its series", () => {
  expect(nameOf("Tail", ["all trials", ""])).toBe("Tail: chart of all trials.");
  expect(nameOf("Gains of `chic`", [])).toBe("Gains of chic: chart.");
  expect(nameOf("Slowdown", ["a", "b", "c", "d", "e", "f", "g", "h"])).toBe("Slowdown: chart of a, b, c, d, e and 3 more.");
});
