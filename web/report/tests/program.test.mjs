// Pages written by the program itself, in a real browser: node tests/program.test.mjs PROGRAM
// Simulates a study and a timeline of more than a million events, and compares the page with the numbers that the
// program prints as JSON.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { colors, launch, moveTo, open, readyAfter, rendererMemory, stage } from "./browser.mjs";

const program = resolve(process.argv[2] ?? "../../target/debug/straggler");
const dir = mkdtempSync(join(tmpdir(), "straggler-program-"));
const browser = await launch();
after(async () => {
  await browser.close();
  rmSync(dir, { recursive: true, force: true });
});

const run = (...words) => execFileSync(program, [...words, "--quiet"], { cwd: dir, encoding: "utf8", maxBuffer: 1 << 28 });
const clean = (text) => text.replace(/\u202f/g, " ");
const tip = (page) => page.locator(".tip:not([hidden])");
const titles = (page) => page.evaluate(() => window.stragglerReport.titles);

async function hover(page, chart, series, index) {
  const node = await stage(page, chart);
  const at = await page.evaluate(([c, s, i]) => window.stragglerReport.locate(c, s, i), [chart, series, index]);
  assert.ok(at, `chart ${chart}: point ${index} of series ${series}`);
  await moveTo(page, node, at.x, at.y);
  await tip(page).waitFor();
  return clean(await tip(page).innerText());
}

/** Picoseconds as the page should write them: six digits, computed independently here. */
function time(ps) {
  const [factor, unit] = ps < 1e6 ? [1e3, "ns"] : ps < 1e9 ? [1e6, "µs"] : [1e9, "ms"];
  return `${Number((ps / factor).toPrecision(6))} ${unit}`;
}

test("a study's page shows the numbers of its results", async () => {
  writeFileSync(join(dir, "study.toml"), `
name = "Two networks"
replicas = 20
processes = "4..256 x4"
collective = "allreduce:dissemination"
size = 1
noise = "periodic:period=1ms,duration=30us"
network = ["chic", "altix"]
`);
  run("study", "run", "study.toml");
  const shown = JSON.parse(run("study", "show", "study", "--json"));
  const { page, trouble, context } = await open(browser, join(dir, "study", "report.html"));
  const charts = await titles(page);
  assert.ok(charts.length >= 3, charts.join(", "));
  for (let chart = 0; chart < charts.length; chart++) assert.ok(await colors(await stage(page, chart)) > 2, charts[chart]);
  for (const [series, { points }] of shown.series.entries()) {
    for (const [index, point] of points.entries()) {
      const said = await hover(page, 0, series, index);
      assert.ok(said.includes(time(point.median)), `median ${time(point.median)} in: ${said}`);
      assert.ok(said.includes(time(point.quiet_ps)), `without noise ${time(point.quiet_ps)} in: ${said}`);
    }
  }
  assert.deepEqual(trouble, []);
  await context.close();
});

test("a simulated timeline of a million events is interactive within 3 seconds, in less than 1 GiB", async () => {
  run("simulate", "--collective", "allreduce:dissemination", "--processes", "1024", "--size", "1", "--cycles", "50",
    "--compute", "20us", "--network", "chic", "--noise", "periodic:period=1ms,duration=30us", "--timeline", "run.json");
  run("report", "run.json", "-o", "run.html");
  const { page, trouble, context } = await open(browser, join(dir, "run.html"));
  const ready = await readyAfter(page);
  const [chart] = [(await titles(page)).length - 1];
  const node = await stage(page, chart);
  assert.ok(await colors(node) > 2, "the timeline is drawn");
  const memory = rendererMemory();
  const before = await page.evaluate((i) => window.stragglerReport.span(i), chart);
  const box = await node.boundingBox();
  await page.mouse.move(box.x + box.width / 2 - 5, box.y + box.height / 2);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(([i, was]) => JSON.stringify(window.stragglerReport.span(i)) !== was, [chart, JSON.stringify(before)]);
  console.log(`ready after ${Math.round(ready)} ms, ${Math.round(memory / 2 ** 20)} MiB`);
  assert.ok(ready < 3000, `ready after ${ready} ms`);
  assert.ok(memory < 2 ** 30, `${memory} bytes`);
  assert.deepEqual(trouble, []);
  await context.close();
});
