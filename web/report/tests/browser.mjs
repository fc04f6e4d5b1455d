// Chromium for the tests: headless, without sandbox or background network traffic, with pages opened from disk.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"];

export async function launch() {
  if (!existsSync(CHROMIUM)) throw new Error(`there is no ${CHROMIUM}: apt-get install chromium, or set CHROMIUM`);
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** Opens a file and waits until the page is ready; `trouble` collects errors and other things that must not happen. */
export async function open(browser, file, { width = 1280, height = 900, colorScheme = "light", wait = 30_000 } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (message) => trouble.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) trouble.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('html[data-ready="true"]', { state: "attached", timeout: wait });
  return { page, context, trouble };
}

export async function readyAfter(page) {
  return page.evaluate(() => performance.getEntriesByName("straggler-ready")[0].startTime);
}

/** The element of a chart, scrolled into view and drawn. */
export async function stage(page, index) {
  const node = page.locator("figure.chart .stage").nth(index);
  await node.scrollIntoViewIfNeeded();
  await page.waitForFunction((i) => document.querySelectorAll("figure.chart .stage")[i].dataset.drawn !== undefined, index);
  return node;
}

/** Number of different colours on the chart's canvas: one means that it is blank. */
export async function colors(node) {
  return node.evaluate((stage) => {
    const canvas = stage.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

/** Moves the mouse to a point of a stage. */
export async function moveTo(page, node, x, y) {
  const box = await node.boundingBox();
  await page.mouse.move(box.x + x - 3, box.y + y);
  await page.mouse.move(box.x + x, box.y + y);
}

function isOurs(id) {
  for (let at = id; at > 1;) {
    if (at === process.pid) return true;
    at = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${at}/status`, "utf8"))?.[1] ?? 0);
  }
  return false;
}

/** Memory of this test's renderers, in bytes: the proportional set size, which counts shared memory once. */
export function rendererMemory() {
  let sum = 0;
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${id}/cmdline`, "utf8");
      if (!command.includes("--type=renderer") || !isOurs(Number(id))) continue;
      const pss = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"));
      sum += Number(pss?.[1] ?? 0) * 1024;
    } catch {
      continue; // the process has ended meanwhile
    }
  }
  return sum;
}
