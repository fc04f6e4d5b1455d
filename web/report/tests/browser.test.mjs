// The page in a real browser. Without arguments, tests generated samples of every kind.
// With --page FILE.html [--expect FILE.json], opens and checks a report written by the program; the JSON is a
// list of {"chart": title, "series": 0, "index": 0, "text": what hovering there must show}.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { parseArgs } from "node:util";
import { colors, launch, moveTo, open, readyAfter, rendererMemory, stage } from "./browser.mjs";
import { html, Writer } from "./container.mjs";
import { crowd, everyKind, joined, long, million, oddities } from "./make-sample.mjs";

const { values: options } = parseArgs({ options: { page: { type: "string" }, expect: { type: "string" } } });
const [BOXES, LINES, DISTRIBUTION, SCATTER, HISTOGRAM, BARS, HEAT, TIMELINE] = [0, 1, 2, 3, 4, 5, 6, 7];
const ALL = [BOXES, LINES, DISTRIBUTION, SCATTER, HISTOGRAM, BARS, HEAT, TIMELINE];

const dir = mkdtempSync(join(tmpdir(), "straggler-report-"));
const browser = await launch();
after(async () => {
  await browser.close();
  rmSync(dir, { recursive: true, force: true });
});

function file(name, text) {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

const tip = (page) => page.locator(".tip:not([hidden])");
const clean = (text) => text.replace(/\u202f/g, " ");
const span = (page, chart) => page.evaluate((i) => window.stragglerReport.span(i), chart);
const located = (page, chart, series, index) => page.evaluate(([c, s, i]) => window.stragglerReport.locate(c, s, i), [chart, series, index]);

async function hover(page, chart, series, index) {
  const node = await stage(page, chart);
  const at = await located(page, chart, series, index);
  assert.ok(at, `chart ${chart} has a point ${index} of series ${series}`);
  await moveTo(page, node, at.x, at.y);
  await tip(page).waitFor();
  return clean(await tip(page).innerText());
}

if (options.page) {
  test(`${options.page}`, async () => {
    const { page, trouble, context } = await open(browser, resolve(options.page));
    const handle = await page.evaluate(() => ({ ...window.stragglerReport, locate: null, span: null }));
    assert.equal(handle.error, undefined);
    assert.ok(handle.charts > 0, "there are charts");
    for (let i = 0; i < handle.charts; i++) assert.ok(await colors(await stage(page, i)) > 2, `chart ${i}, ${handle.titles[i]}, is drawn`);
    for (const wanted of options.expect ? JSON.parse(readFileSync(options.expect, "utf8")) : []) {
      const chart = handle.titles.indexOf(wanted.chart);
      assert.ok(chart >= 0, `there is a chart "${wanted.chart}"`);
      const said = await hover(page, chart, wanted.series ?? 0, wanted.index ?? 0);
      assert.ok(said.includes(clean(wanted.text)), `"${wanted.chart}" says "${wanted.text}": ${said}`);
    }
    assert.deepEqual(trouble, []);
    console.log(`${handle.charts} charts, ready after ${Math.round(await readyAfter(page))} ms`);
    await context.close();
  });
} else {
  samples();
}

function samples() {
  const sample = everyKind();
  const everyFile = file("every.html", html(sample.container, "Every <kind> & more"));
  const [longFile, joinedFile] = [file("long.html", html(long())), file("joined.html", html(joined()))];

  for (const colorScheme of ["light", "dark"]) {
    test(`every chart is drawn, ${colorScheme}`, async () => {
      const { page, trouble, context } = await open(browser, everyFile, { colorScheme });
      assert.equal(await page.title(), "Every <kind> & more");
      assert.equal(await page.evaluate(() => window.stragglerReport.charts), ALL.length);
      for (const chart of ALL) assert.ok(await colors(await stage(page, chart)) > 4, `chart ${chart} is not blank`);
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(ground, colorScheme === "dark" ? "rgb(14, 17, 22)" : "rgb(246, 247, 249)");
      assert.deepEqual(trouble, []);
      await context.close();
    });
  }

  test("header, warnings, unknown kinds", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    // Numbers do not break from their units.
    const text = (await page.locator("body").innerText()).replaceAll("\u00a0", " ");
    for (const sentence of [...sample.header.summary.map((line) => line.replace(/`.*/, "")), ...sample.header.warnings, "0.1.0"]) assert.ok(text.includes(sentence), sentence);
    assert.match(text, /“Ode to the slowest” is of the kind “poem”/);
    assert.match(text, /“A chart of tomorrow” is a plot of the kind “hologram”/);
    assert.equal(await page.locator("nav.contents a").count(), 5);
    // The answer and its picture come first, the doubts and how it was made last.
    const places = await Promise.all([".lead", ".answer figure", "#section-1", "#trust", "#made"].map(async (part) => (await page.locator(part).boundingBox()).y));
    assert.deepEqual(places, [...places].sort((a, b) => a - b));
    assert.equal(await page.locator(".badge").count(), 1);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("hovering says the very numbers of the data", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    // CHiC at 1,024 processes: 53.3 µs (1 + 2^0.7) = 53.3 µs × 2.6245048 = 139.88611 µs, computed independently of the page.
    const box = await hover(page, BOXES, 0, 9);
    assert.match(box, /CHiC, processes 1,024/);
    assert.match(box, /139\.886 µs/);
    assert.match(box, /without noise\s+53\.3 µs/);
    assert.match(box, /values\s+1,000/);
    assert.match(await hover(page, LINES, 4, 0), /published[\s\S]*1,048,576[\s\S]*24\.73×/);
    assert.match(await hover(page, BARS, 0, 1), /kworker on core 3[\s\S]*81 %[\s\S]*70 % – 95 %/);
    assert.match(await hover(page, HISTOGRAM, 0, 14), /280 µs – 300 µs[\s\S]*2,000/);
    // (50 µs / 20 µs) 10^1.6 / 10 = 9.95268
    assert.match(await hover(page, HEAT, 0, 2 * 20 + 9), /9\.95268×[\s\S]*1,024[\s\S]*50 µs/);
    const scattered = await hover(page, SCATTER, 1, 5);
    const point = await located(page, SCATTER, 1, 5);
    for (const [, value] of point.rows) assert.ok(scattered.includes(clean(value)), `${value} in ${scattered}`);
    assert.match(await hover(page, DISTRIBUTION, 0, 5), /core 0[\s\S]*at most this\s+(50|49\.9|50\.0)[\d.]* %/);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("an activity of the timeline is read out whole, to the ear as well", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    const { columns } = sample;
    const send = columns.kind.findIndex((kind, i) => kind === 1 && i > 20);
    const said = await hover(page, TIMELINE, 0, send);
    assert.match(said, /^send/);
    assert.ok(said.includes(`rank ${columns.row[send]}`), said);
    assert.ok(said.includes(`rank ${columns.peer[send]}`), said);
    assert.ok(said.includes(`${String(columns.start[send] / 1e6)} µs`), `${columns.start[send] / 1e6} µs in ${said}`);
    assert.match(said, /duration\s+1\.5 µs/);
    assert.match(said, /8,192 \(8 KiB\)/);
    assert.match(said, new RegExp(`tag\\s+${columns.tag[send]}`));
    const noise = columns.kind.indexOf(4);
    assert.match(await hover(page, TIMELINE, 0, noise), /^noise/);
    await page.waitForTimeout(200);
    assert.match(clean(await page.locator("figure.chart").nth(TIMELINE).locator(".live").innerText()), /^noise: where rank/);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("wheel and drag zoom, double click resets", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    for (const chart of ALL) {
      const node = await stage(page, chart);
      const box = await node.boundingBox();
      const home = await span(page, chart);
      await moveTo(page, node, box.width / 2, box.height / 2);
      await page.waitForTimeout(300); // the page has just been scrolled
      await page.mouse.wheel(0, -300);
      await page.waitForTimeout(80);
      const zoomed = await span(page, chart);
      assert.ok(zoomed.x[0] > home.x[0] && zoomed.x[1] < home.x[1], `chart ${chart}: ${zoomed.x} within ${home.x}`);
      await node.dblclick({ position: { x: box.width / 2, y: box.height / 2 } });
      await page.waitForTimeout(80);
      assert.deepEqual(await span(page, chart), home, `chart ${chart} is reset`);
    }
    const node = await stage(page, LINES);
    const box = await node.boundingBox();
    const home = await span(page, LINES);
    await page.mouse.move(box.x + 300, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + 500, box.y + 200, { steps: 4 });
    await page.mouse.up();
    const boxed = await span(page, LINES);
    assert.ok(boxed.x[0] > home.x[0] && boxed.x[1] < home.x[1] && boxed.y[1] < home.y[1]);
    await page.locator("figure.chart").nth(LINES).getByRole("button", { name: "Reset" }).click();
    assert.deepEqual(await span(page, LINES), home);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("a page that is being scrolled is not stopped by a chart", async () => {
    const { page, context } = await open(browser, everyFile);
    await page.mouse.move(640, 450);
    for (let i = 0; i < 12; i++) {
      await page.mouse.wheel(0, 200);
      await page.waitForTimeout(30);
    }
    assert.ok(await page.evaluate(() => scrollY) > 1500);
    await context.close();
  });

  test("the keyboard alone", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    const node = await stage(page, BOXES);
    const live = page.locator("figure.chart").nth(BOXES).locator(".live");
    await node.focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await live.innerText(), /^CHiC, processes 2: median/);
    await page.keyboard.press("ArrowRight");
    assert.match(await live.innerText(), /^CHiC, processes 4: median/);
    await page.keyboard.press("ArrowDown");
    assert.match(await live.innerText(), /^Altix, processes 4: median/);
    const home = await span(page, BOXES);
    await page.keyboard.press("+");
    assert.notDeepEqual(await span(page, BOXES), home);
    await page.keyboard.press("Home");
    assert.deepEqual(await span(page, BOXES), home);
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement === document.body), true);

    const timeline = await stage(page, TIMELINE);
    await timeline.focus();
    await page.keyboard.press("+");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("n");
    assert.match(await page.locator("figure.chart").nth(TIMELINE).locator(".live").innerText(), /: where rank 0, start/);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("every picture has a name made of its title and series, and a description", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    const name = (chart) => page.locator("figure.chart").nth(chart).locator("canvas[role=img]");
    // Before anybody scrolls there.
    assert.equal(await name(TIMELINE).getAttribute("aria-label"), "Ring exchange with noise: chart of computation, send, wait, noise and messages.");
    assert.equal(await name(BOXES).getAttribute("aria-label"), "Allreduce, 8 bytes, with the noise of three machines: chart of CHiC, Altix, Jaguar and without noise.");
    await stage(page, TIMELINE);
    const described = await name(TIMELINE).getAttribute("aria-describedby");
    assert.match(await page.locator(`#${described}`).textContent(), /^Timeline of 8 rows/);
    for (const canvas of await page.locator("canvas").all()) {
      assert.ok((await canvas.getAttribute("aria-hidden")) === "true" || (await canvas.getAttribute("aria-label")));
    }
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("commands are copied by keyboard, from disk, also where the clipboard is refused", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    const facts = page.locator("#made button");
    const command = "straggler reproduce sc10-fig5a --quick --seed 42 -o out/fig5a";
    await page.evaluate(() => {
      Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => ((window.written = text), window.refuse ? Promise.reject(new Error("no")) : Promise.resolve()) } });
      document.addEventListener("copy", () => (window.copied = document.activeElement.value));
    });
    await facts.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: "Copied" }).waitFor({ state: "attached" });
    assert.equal(await page.evaluate(() => window.written), command);
    await page.waitForTimeout(1600);
    assert.equal(await facts.innerText(), "Copy");
    await page.evaluate(() => (window.refuse = true));
    await page.keyboard.press("Space");
    await page.waitForFunction(() => window.copied);
    assert.equal(await page.evaluate(() => window.copied), command);
    assert.equal(await facts.evaluate((node) => node === document.activeElement), true, "the focus stays");
    // In a sentence, and below a chart.
    assert.equal(await page.locator(".summary code").innerText(), "straggler noise show chic");
    await page.locator(".summary").getByRole("button", { name: "Copy the command straggler noise show chic" }).click();
    assert.equal(await page.evaluate(() => window.written), "straggler noise show chic");
    const figure = page.locator("figure.chart").nth(BARS);
    await figure.locator("summary", { hasText: "Command" }).click();
    await figure.getByRole("button", { name: "Copy the command" }).click();
    assert.match(await page.evaluate(() => window.written), /^straggler study run sample.toml --plot bars/);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("legends, ways to show a distribution, data as a table", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    const figure = page.locator("figure.chart").nth(BOXES);
    await stage(page, BOXES);
    const home = await span(page, BOXES);
    await figure.getByRole("button", { name: "CHiC" }).click();
    assert.equal(await figure.getByRole("button", { name: "CHiC" }).getAttribute("aria-pressed"), "false");
    assert.ok((await span(page, BOXES)).y[1] < home.y[1], "the axis fits what is left");
    await figure.getByText("Data as table").click();
    // The table is built when it is opened, a moment after the click.
    await figure.locator("details.data").getByText("All 60 rows").waitFor({ timeout: 5000 });
    const distribution = page.locator("figure.chart").nth(DISTRIBUTION);
    await stage(page, DISTRIBUTION);
    await distribution.getByRole("button", { name: "1 − CDF" }).click();
    assert.ok((await span(page, DISTRIBUTION)).y[0] < 1e-4, "the tail reaches down to one value");
    await distribution.getByRole("button", { name: "Density" }).click();
    assert.ok(await colors(await stage(page, DISTRIBUTION)) > 4);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("tables sort by click and by key", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    const first = page.locator(".block tbody tr td:first-child");
    const head = page.locator(".block thead th");
    await head.nth(1).getByRole("button").click();
    assert.deepEqual(await first.allInnerTexts(), ["CHiC", "Jaguar", "Altix", "ZeptoOS"]);
    assert.equal(await head.nth(1).getAttribute("aria-sort"), "descending");
    await head.nth(1).getByRole("button").press("Enter");
    assert.deepEqual(await first.allInnerTexts(), ["ZeptoOS", "Altix", "Jaguar", "CHiC"]);
    await head.nth(0).getByRole("button").press("Space");
    assert.deepEqual(await first.allInnerTexts(), ["Altix", "CHiC", "Jaguar", "ZeptoOS"]);
    assert.equal(await head.nth(1).getAttribute("aria-sort"), "none");
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("rows without effect are folded, and opened by key", async () => {
    const { page, trouble, context } = await open(browser, longFile);
    const rows = page.locator("#section-2 .block tbody tr");
    const texts = async () => (await rows.allInnerTexts()).map((text) => text.replace(/[\s\u00a0]+/g, " ").trim());
    assert.deepEqual(await texts(), ["4 more rows: 0 % (2 … 16)", "32 +2 % 30 µs", "64 +10 % 40 µs"]);
    await rows.first().getByRole("button").press("Enter");
    assert.equal(await rows.count(), 6);
    assert.deepEqual((await texts())[0], "2 0 % 10 µs");
    assert.equal(await page.evaluate(() => document.activeElement.textContent.startsWith("2")), true);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  for (const [width, height] of [[1280, 900], [400, 800]]) {
    test(`long names, paths and tables stay within ${width} pixels`, async () => {
      for (const name of [longFile, joinedFile]) {
        const { page, trouble, context } = await open(browser, name, { width, height });
        await page.locator("details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
        await page.waitForTimeout(200);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, name);
        const lines = await page.locator("td").evaluateAll((cells) => Math.max(...cells.map((cell) => {
          const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(cell);
          return (cell.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom)) / parseFloat(lineHeight);
        })));
        assert.ok(lines < 4.3, `a cell has ${lines} lines`);
        // A table that scrolls says so; one that fits does not.
        for (const table of await page.locator(".table").all()) {
          const scrolls = await table.locator(".scroll").evaluate((node) => node.scrollWidth > node.clientWidth + 1);
          assert.equal(await table.locator(".sideways").isVisible(), scrolls);
        }
        if (width === 400 && name === longFile) assert.ok(await page.locator(".sideways:visible").count() > 0);
        assert.deepEqual(trouble, []);
        await context.close();
      }
    });
  }

  test("a page that joins several begins with their answers", async () => {
    const { page, trouble, context } = await open(browser, joinedFile);
    const answers = page.locator(".answers li");
    const path = "/scratch/project_465000123/users/somebody/measurements/2026-11-19";
    assert.deepEqual(await answers.locator("a").allInnerTexts(), ["Noise of node-a/day.noise", "Noise of node-b/day.noise", "Latencies of eager.lat"]);
    assert.equal(await answers.nth(1).locator("a").getAttribute("title"), `Noise of ${path}/node-b/day.noise`);
    assert.equal(await answers.nth(1).locator("p").innerText(), "Noise takes 2\u00a0% of the time.");
    assert.equal(await page.locator("#part-2 > h2").getAttribute("title"), `Noise of ${path}/node-b/day.noise`);
    assert.deepEqual(await page.locator("#part-2 > section > h3").allInnerTexts(), ["Detours of node-b/day.noise", "How far to trust this"]);
    await answers.nth(1).locator("a").click();
    await page.waitForFunction(() => scrollY > 300);
    await page.locator("#part-2 .doubts a").click();
    const [warnings, notes] = [".warnings li", ".notes li"].map((list) => page.locator(`#part-2-trust ${list}`).allInnerTexts());
    assert.deepEqual([await warnings, await notes], [["Only 3\u00a0s were measured."], ["Every core has its own clock."]]);
    assert.equal(await page.evaluate(() => window.stragglerReport.charts), 3);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("where there is nothing to draw there is a sentence, and no empty frame", async () => {
    const { page, trouble, context } = await open(browser, longFile);
    const block = page.locator(".block", { hasText: "Gains" });
    assert.match(await block.innerText(), /Nothing to draw: time saved is 0 in all 2 cases\./);
    assert.equal(await block.locator("canvas").count(), 0);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("pointing at a bar of a crowded timeline shows its messages", async () => {
    const { page, trouble, context } = await open(browser, file("crowd.html", html(crowd())));
    const node = await stage(page, 0);
    const dark = () => node.evaluate((stage) => [...stage.querySelectorAll("canvas")].map((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 60, canvas.width, canvas.height - 120);
      let n = 0;
      for (let i = 0; i < data.length; i += 4) n += Number(data[i] < 70 && data[i + 1] < 75 && data[i + 2] < 90 && data[i + 3] > 200);
      return n;
    }));
    const [base, over] = await dark();
    assert.ok(base < 300 && over === 0, `no messages are drawn over the bars: ${base} dark pixels`);
    const at = await located(page, 0, 0, 30);
    await moveTo(page, node, at.x, at.y);
    await page.waitForTimeout(100);
    assert.ok((await dark())[1] > 50, "the messages of the bar are drawn");
    assert.deepEqual(trouble.filter((line) => !line.includes("willReadFrequently")), []);
    await context.close();
  });

  test("every chart is saved as SVG and as PNG", async () => {
    const { page, trouble, context } = await open(browser, everyFile);
    for (const chart of ALL) {
      await stage(page, chart);
      const figure = page.locator("figure.chart").nth(chart);
      const saved = async (name) => {
        const [download] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name, exact: true }).click()]);
        assert.match(download.suggestedFilename(), new RegExp(`^[a-z0-9-]+\\.${name.toLowerCase()}$`));
        return readFileSync(await download.path());
      };
      const svg = (await saved("SVG")).toString("utf8");
      const parsed = await page.evaluate((text) => {
        const drawn = new DOMParser().parseFromString(text, "image/svg+xml");
        return { failed: drawn.querySelector("parsererror")?.textContent, root: drawn.documentElement.nodeName, marks: drawn.querySelectorAll("path, rect, circle, polygon").length, texts: drawn.querySelectorAll("text").length, desc: drawn.querySelector("desc")?.textContent };
      }, svg);
      assert.equal(parsed.failed, undefined);
      assert.equal(parsed.root, "svg");
      assert.ok(parsed.marks > 8 && parsed.texts > 5, `chart ${chart}: ${JSON.stringify(parsed)}`);
      assert.match(parsed.desc, /Made by: straggler study run/);
      assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
      const png = await saved("PNG");
      assert.equal(png.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
      assert.ok(png.readUInt32BE(16) > 800 && png.length > 5000);
    }
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("paper: light, vectors, commands, no buttons", async () => {
    const { page, trouble, context } = await open(browser, everyFile, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator(".paper svg").count(), ALL.length);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    assert.equal(await page.locator("figure.chart button:visible").count(), 0);
    assert.equal(await page.locator("figure.chart .command code").first().isVisible(), true);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await page.evaluate(() => addEventListener("beforeprint", () => (window.printed = document.querySelectorAll(".paper svg").length)));
    const pdf = await page.pdf({ format: "A4" });
    assert.ok(pdf.length > 50_000);
    // Eight charts and a table on four sheets: none is half empty.
    assert.equal(pdf.toString("latin1").match(/\/Type *\/Page\s/g)?.length, 4);
    assert.equal(await page.evaluate(() => window.printed), ALL.length, "the browser draws for paper by itself");
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("the choice of colours", async () => {
    const { page, context } = await open(browser, everyFile);
    await page.getByRole("button", { name: "Dark" }).click();
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(14, 17, 22)");
    assert.ok(await colors(await stage(page, BOXES)) > 4);
    await page.getByRole("button", { name: "Light" }).click();
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(246, 247, 249)");
    await context.close();
  });

  test("nothing is wider than a telephone", async () => {
    const { page, trouble, context } = await open(browser, everyFile, { width: 390, height: 800 });
    for (const chart of ALL) await stage(page, chart);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("damaged, missing and foreign data are said", async () => {
    const container = sample.container;
    const other = new Writer().container({ title: "x", sections: [] }, 2);
    const cut = container.subarray(0, container.length / 2);
    const cases = [
      ["@@DATA@@", /no data in it/], ["", /no data in it/], ["!!!!", /not base64/], [Buffer.from("hello").toString("base64"), /cannot be unpacked/],
      [cut, /cannot be unpacked/], [other, /version 2; this page reads version 1/],
    ];
    for (const [data, wanted] of cases) {
      const { page, trouble, context } = await open(browser, file("bad.html", html(data)));
      assert.match(await page.locator("[role=alert]").innerText(), wanted);
      assert.equal(await page.evaluate(() => window.stragglerReport.charts), 0);
      assert.deepEqual(trouble, []);
      await context.close();
    }
  });

  test("a chart with bad columns leaves the others alone", async () => {
    const w = new Writer();
    const axis = { label: "x", unit: "none", log: false };
    const values = w.column([1, 2, 3]);
    const chart = (title, plot) => ({ kind: "chart", title, note: "", command: "", synthetic: false, plot });
    const good = chart("good", { type: "scatter", x: axis, y: axis, series: [{ name: "s", x: values, y: values }] });
    const bad = chart("bad", { type: "scatter", x: axis, y: axis, series: [{ name: "s", x: 99, y: values }] });
    const empty = chart("empty", { type: "distribution", x: axis, series: [{ name: "s", values: w.column([]) }] });
    const { page, trouble, context } = await open(browser, file("part.html", html(w.container({ title: "t", sections: [{ title: "s", text: [], blocks: [bad, good, empty] }] }))));
    assert.equal(await page.evaluate(() => window.stragglerReport.charts), 1);
    assert.match(await page.locator(".left-out").innerText(), /“bad” is not shown: The data name column 99/);
    assert.ok(await colors(await stage(page, 0)) > 2);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("odd data are drawn, read and saved like any", async () => {
    const odd = oddities();
    const { page, trouble, context } = await open(browser, file("odd.html", html(odd.container)));
    assert.equal(await page.locator(".left-out").count(), 0, (await page.locator(".left-out").allInnerTexts()).join());
    const charts = await page.evaluate(() => window.stragglerReport.charts);
    const nothing = await page.locator(".block .note", { hasText: "Nothing to draw" }).count();
    assert.equal(charts + nothing, odd.charts);
    assert.ok(charts > 40 && nothing > 10, `${charts} charts, ${nothing} without`);
    for (let i = 0; i < charts; i++) {
      const node = await stage(page, i);
      await node.focus();
      for (const key of ["ArrowRight", "ArrowDown", "n", "+", "Home"]) await page.keyboard.press(key);
      await node.hover();
    }
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const drawings = await page.locator(".paper").evaluateAll((papers) => papers.map((paper) => paper.innerHTML));
    assert.equal(drawings.length, charts);
    for (const [i, svg] of drawings.entries()) assert.doesNotMatch(svg.replace(/<(title|desc)>.*?<\/\1>/gs, ""), /NaN|Infinity|undefined/, `chart ${i}`);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("a million activities: ready within 3 s, below 1 GiB, smooth", async () => {
    const big = million();
    assert.ok(big.columns.row.length >= 1_000_000);
    const bigFile = file("million.html", html(big.container, "A million"));
    const { page, trouble, context } = await open(browser, bigFile);
    const ready = await readyAfter(page);
    assert.ok(await colors(await stage(page, 0)) > 4);
    const median = (list) => list[list.length >> 1];
    let [drawn, shown] = [[Infinity], [Infinity]];
    // Other work on the machine only slows frames down, so the best of three rounds counts.
    for (let round = 0; round < 3 && median(drawn) >= 16; round++) {
      const frames = await zoomFrames(page);
      const sorted = ["drawn", "shown"].map((key) => frames.map((f) => f[key]).sort((a, b) => a - b));
      if (median(sorted[0]) < median(drawn)) [drawn, shown] = sorted;
    }
    const memory = rendererMemory();
    console.log(`ready after ${Math.round(ready)} ms; renderer ${Math.round(memory / 2 ** 20)} MiB; drawing a frame median ${median(drawn).toFixed(1)} ms, most ${drawn.at(-1).toFixed(1)} ms; from wheel to frame median ${median(shown).toFixed(1)} ms`);
    assert.ok(ready < 3000, `ready after ${ready} ms`);
    assert.ok(memory < 2 ** 30, `${memory} bytes`);
    assert.ok(median(drawn) < 50, `a frame takes ${median(drawn)} ms`);
    await hoverDeep(page, big.columns);
    assert.deepEqual(trouble, []);
    await context.close();
  });
}

/** Zooms in and out of the timeline. Returns the time to draw each frame and the time until it was shown. */
async function zoomFrames(page) {
  return page.evaluate(async () => {
    const node = document.querySelector("figure.chart .stage");
    const box = node.getBoundingClientRect();
    const at = { clientX: box.left + box.width * 0.6, clientY: box.top + box.height / 2, bubbles: true, cancelable: true };
    node.dispatchEvent(new PointerEvent("pointermove", at));
    await new Promise((done) => setTimeout(done, 300));
    const out = [];
    for (let i = 0; i < 40; i++) {
      const began = performance.now();
      node.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: i < 20 ? -100 : 100 }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      out.push({ drawn: Number(node.dataset.drawn), shown: performance.now() - began });
    }
    return out;
  });
}

async function hoverDeep(page, columns) {
  const node = await stage(page, 0);
  await node.dblclick({ position: { x: 400, y: 300 } });
  await page.waitForTimeout(100);
  // A single activity is far smaller than a pixel here, so zoom to it first, as a user would.
  const box = await node.boundingBox();
  await moveTo(page, node, box.width / 2, box.height / 2);
  await page.waitForTimeout(300);
  for (let i = 0; i < 22; i++) await page.mouse.wheel(0, -100);
  for (let i = 0; i < 20; i++) {
    await page.keyboard.down("Alt");
    await page.mouse.wheel(0, -100);
    await page.keyboard.up("Alt");
  }
  await page.waitForTimeout(100);
  const { x, y } = await span(page, 0);
  // Which rows are in view depends on where the middle of the chart is, to the pixel.
  const rows = [Math.ceil(y[0]), Math.max(Math.ceil(y[0]), Math.floor(y[1]) - 1)];
  const i = columns.start.findIndex((start, k) => columns.row[k] >= rows[0] && columns.row[k] <= rows[1] && start > x[0] && columns.end[k] < x[1]);
  assert.ok(i >= 0, `an activity lies within ${x} of rows ${rows}`);
  const said = await hover(page, 0, 0, i);
  assert.ok(said.includes(`rank ${columns.row[i]}`), said);
  assert.match(said, /duration/);
}
