// Sample reports: one with every kind of plot, one with a timeline of a million activities.
// node tests/make-sample.mjs DIR writes them as HTML files.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { html, random, Writer } from "./container.mjs";

const axis = (label, unit, log = false, base = undefined) => ({ label, unit, log, ...(base ? { base } : {}) });
const NOBODY = 4294967295;

function normal(next) {
  return Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}

function boxes(w) {
  const next = random(1);
  const series = ["CHiC", "Altix", "Jaguar"].map((name, s) => {
    const columns = { x: [], low: [], q1: [], median: [], q3: [], high: [], count: [], median_low: [], median_high: [], outlier_x: [], outlier_y: [], reference: [] };
    for (let e = 1; e <= 20; e++) {
      const base = 5.33e-6 * e;
      const median = base * (1 + (2 ** e / 2 ** (9 + 3 * s)) ** 0.7);
      const spread = median * 0.18;
      const put = (key, value) => columns[key].push(value);
      put("x", 2 ** e);
      put("low", median - 1.6 * spread * 0.6);
      put("q1", median - spread * 0.5);
      put("median", median);
      put("q3", median + spread * 0.8);
      put("high", median + spread * 2);
      put("count", 1000);
      put("median_low", median - spread * 0.08);
      put("median_high", median + spread * 0.09);
      put("reference", base);
      for (let i = 0; i < 30; i++) {
        put("outlier_x", 2 ** e);
        put("outlier_y", median + spread * (2 + 4 * next() ** 3));
      }
    }
    return { name, ...Object.fromEntries(Object.entries(columns).map(([k, v]) => [k, k === "count" ? w.column(v, Uint32Array) : w.column(v)])) };
  });
  return { type: "boxes", x: axis("processes", "count", true, 2), y: axis("time of an allreduce", "seconds", true), series };
}

function lines(w) {
  const x = Array.from({ length: 20 }, (_, i) => 2 ** (i + 1));
  const line = (name, role, f, wide) => {
    const y = x.map(f);
    return { name, role, x: w.column(x), y: w.column(y), low: wide ? w.column(y.map((v) => v * (1 - wide))) : null, high: wide ? w.column(y.map((v) => v * (1 + wide))) : null };
  };
  const published = { name: "published (Hoefler et al.)", role: "published", x: w.column([1048576]), y: w.column([24.73]), low: null, high: null };
  return {
    type: "lines", x: axis("processes", "count", true, 2), y: axis("slowdown", "factor"),
    series: [
      line("dissemination", "simulated", (v) => 25 * (v / 1048576) ** 0.6, 0.12),
      line("binomial", "simulated", (v) => 9 * (v / 1048576) ** 0.6, 0.2),
      line("on the machine", "measured", (v) => 21 * (v / 1048576) ** 0.55, 0),
      line("no slowdown", "reference", () => 0.1, 0),
      published,
    ],
    marks: [{ x: 8192, name: "inflection at 8,192" }, { y: 0.1, name: "10 % threshold" }],
  };
}

function distribution(w, size) {
  const next = random(3);
  const draw = (mu, sigma) => Float64Array.from({ length: size }, () => Math.exp(mu + sigma * normal(next)) * 1e-6).sort();
  return {
    type: "distribution", x: axis("length of a detour", "seconds", true),
    series: [{ name: "core 0", values: w.column(draw(1, 0.5)) }, { name: "core 1", values: w.column(draw(1.6, 0.8)) }],
  };
}

function histogram(w) {
  const edges = Array.from({ length: 61 }, (_, i) => i * 2e-5);
  const counts = (mid, wide) => Array.from({ length: 60 }, (_, i) => Math.round(2000 * Math.exp(-(((i - mid) / wide) ** 2))));
  return {
    type: "histogram", x: axis("idle time", "seconds"), y: axis("exchanges", "count"),
    series: [{ name: "64 processes", edges: w.column(edges), counts: w.column(counts(14, 6), Uint32Array) }, { name: "256 processes", edges: w.column(edges), counts: w.column(counts(27, 10), Uint32Array) }],
  };
}

function scatter(w, size) {
  const next = random(5);
  const cloud = (name, n, level) => {
    const x = Float64Array.from({ length: n }, () => next() * 60);
    const y = Float64Array.from({ length: n }, (_, i) => (next() < 0.8 ? level * Math.exp(0.2 * normal(next)) : level * 10 * Math.exp(0.7 * normal(next)) * (1 + 0.5 * Math.sin(x[i]))));
    return { name, x: w.column(x), y: w.column(y) };
  };
  return { type: "scatter", x: axis("time of the recording", "seconds"), y: axis("length of a detour", "seconds", true), series: [cloud("timer interrupt", size, 3e-6), cloud("scheduler", 900, 9e-5)] };
}

const bars = {
  type: "bars", x: axis("slowdown at 1,048,576 processes", "share"),
  bars: [
    { name: "timer tick, 1,000 Hz", value: 1.48, low: 1.4, high: 1.6, note: "gone with nohz_full" },
    { name: "kworker on core 3", value: 0.81, low: 0.7, high: 0.95, note: "move with cpu affinity of workqueues" },
    { name: "network interrupt", value: 0.33, low: 0.31, high: 0.37, note: "irqbalance keeps it here" },
    { name: "monitoring daemon", value: 0.12, low: 0.05, high: 0.2, note: "every 10 s" },
    { name: "everything else", value: 0.021, low: null, high: null, note: null },
  ],
};

function heat(w) {
  const xs = Array.from({ length: 20 }, (_, i) => 2 ** (i + 1));
  const ys = [16e-6, 25e-6, 50e-6, 75e-6, 100e-6, 150e-6, 200e-6, 400e-6];
  const values = ys.flatMap((y) => xs.map((x) => (y / 2e-5) * Math.log2(x) ** 1.6 * 0.1));
  return { type: "heat", x: axis("processes", "count", true, 2), y: axis("length of a detour", "seconds", true), value: axis("slowdown", "factor", true), xs: w.column(xs), ys: w.column(ys), values: w.column(values) };
}

/** A ring of computation, send, wait and receive with detours, `steps` rounds on `rows` ranks. */
export function timelineColumns(rows, steps, seed, noiseShare = 0.12) {
  const next = random(seed);
  const size = rows * steps * 4;
  const c = {
    row: new Uint32Array(size), start: new Float64Array(size), end: new Float64Array(size), kind: new Uint8Array(size),
    peer: new Uint32Array(size).fill(NOBODY), bytes: new Float64Array(size).fill(-1), tag: new Uint32Array(size),
    arrow_from: [], arrow_to: [], arrow_sent: [], arrow_received: [], arrow_bytes: [],
  };
  const us = 1e6;
  const at = new Float64Array(rows);
  const place = Uint32Array.from({ length: rows }, (_, r) => r * steps * 4);
  const used = new Uint32Array(rows);
  const put = (r, start, end, kind, peer = NOBODY, bytes = -1, tag = 0) => {
    const i = place[r] + used[r]++;
    c.row[i] = r; c.start[i] = start; c.end[i] = end; c.kind[i] = kind; c.peer[i] = peer; c.bytes[i] = bytes; c.tag[i] = tag;
  };
  for (let s = 0; s < steps; s++) {
    const sent = new Float64Array(rows);
    for (let r = 0; r < rows; r++) {
      const work = Math.round((20 + 3 * next()) * us);
      if (next() < noiseShare) {
        const detour = Math.round((2 + 30 * next() ** 4) * us);
        put(r, at[r], at[r] + work, 0);
        put(r, at[r] + work, at[r] + work + detour, 4);
        at[r] += work + detour;
      } else {
        put(r, at[r], at[r] + work, 0);
        at[r] += work;
      }
      put(r, at[r], at[r] + 1.5 * us, 1, (r + 1) % rows, 8192, s);
      sent[r] = at[r] + 1.5 * us;
      at[r] = sent[r];
    }
    for (let r = 0; r < rows; r++) {
      const from = (r + rows - 1) % rows;
      const arrival = Math.max(at[r], sent[from] + 5.33 * us);
      put(r, at[r], arrival, 3, from, 8192, s);
      if (s % Math.max(1, Math.round(rows * steps / 300_000)) === 0 || rows < 100) {
        c.arrow_from.push(from); c.arrow_to.push(r); c.arrow_sent.push(sent[from]); c.arrow_received.push(sent[from] + 5.33 * us); c.arrow_bytes.push(8192);
      }
      at[r] = arrival;
    }
  }
  return compact(c, place, used, rows);
}

function compact(c, place, used, rows) {
  const total = used.reduce((a, b) => a + b, 0);
  const out = { ...c };
  for (const key of ["row", "start", "end", "kind", "peer", "bytes", "tag"]) {
    out[key] = new c[key].constructor(total);
    for (let r = 0, at = 0; r < rows; at += used[r], r++) out[key].set(c[key].subarray(place[r], place[r] + used[r]), at);
  }
  return out;
}

function timeline(w, rows, columns) {
  const type = (key) => (key === "kind" ? Uint8Array : ["row", "peer", "tag", "arrow_from", "arrow_to"].includes(key) ? Uint32Array : Float64Array);
  return {
    type: "timeline", rows: Array.from({ length: rows }, (_, r) => `rank ${r}`),
    kinds: [{ name: "computation", role: "computation" }, { name: "send", role: "send" }, { name: "receive", role: "receive" }, { name: "wait", role: "wait" }, { name: "noise", role: "noise" }],
    ...Object.fromEntries(Object.entries(columns).map(([key, values]) => [key, w.column(values, type(key))])),
  };
}

const chart = (title, plot, more = {}) => ({ kind: "chart", title, note: `A note on ${title.toLowerCase()}, in a sentence or two that says what to look at.`, command: `straggler study run sample.toml --plot ${plot.type} --seed 42 -o out/`, synthetic: false, plot, ...more });

const table = {
  kind: "table", title: "Published and simulated", note: "Slowdown is T/T0 − 1.", command: "straggler reproduce sc10-fig5a --quick",
  columns: [{ name: "machine", number: false }, { name: "published", number: true }, { name: "simulated", number: true }, { name: "difference", number: true }],
  rows: [["CHiC", 148.05, 151.2], ["Altix", 6.45, 6.31], ["ZeptoOS", 0.41, 0.4], ["Jaguar", 24.73, 25.02]].map(([name, p, s]) => [
    { text: name, value: null }, { text: `${p}×`, value: p }, { text: `${s}×`, value: s }, { text: `${(((s - p) / p) * 100).toFixed(1)} %`, value: (s - p) / p }]),
};

/** Every kind of plot, with the numbers that tests look for. */
export function everyKind(points = 200_000) {
  const w = new Writer();
  const columns = timelineColumns(8, 12, 11);
  const sections = [
    { title: "Collectives over processes", text: ["With noise, an allreduce takes longer the more processes take part: somebody is always interrupted. Each box holds a thousand runs.", "The line shows the same machine without noise."], blocks: [chart("Allreduce, 8 bytes, with the noise of three machines", boxes(w), { synthetic: true }), table, chart("Slowdown against processes", lines(w))] },
    { title: "Detours", text: ["What the cores did instead of the program."], blocks: [chart("How long detours last", distribution(w, points)), chart("Detours over the recording", scatter(w, points)), chart("Idle time of exchanges", histogram(w))] },
    { title: "What to do first", text: [], blocks: [chart("What each source costs", bars), chart("Slowdown by processes and length", heat(w))] },
    { title: "A run in detail", text: ["Eight ranks in a ring."], blocks: [chart("Ring exchange with noise", timeline(w, 8, columns))] },
    { title: "Of another version", text: [], blocks: [{ kind: "poem", title: "Ode to the slowest" }, chart("A chart of tomorrow", { type: "hologram" })] },
  ];
  const header = {
    title: "How noise slows an allreduce",
    summary: ["An allreduce over 1,048,576 processes takes 25 times as long with Jaguar's noise as without.", "The slowdown passes 10 % at 8,192 processes; the timer tick alone causes two thirds of it.", "See the noise with `straggler noise show chic`."],
    facts: [["Command", "straggler reproduce sc10-fig5a --quick --seed 42 -o out/fig5a"], ["Version", "0.1.0"], ["Seed", "42"], ["Made", "2026-01-01 12:00 UTC"]],
    warnings: ["The noise of the three machines is synthesised from published figures: their traces are not public."],
    sections,
  };
  return { container: w.container(header), header, columns };
}

/** A million activities on 1,024 rows, about 300,000 messages. */
export function million() {
  const w = new Writer();
  const columns = timelineColumns(1024, 314, 7);
  const header = { title: "A million activities", summary: ["1,024 ranks in a ring."], facts: [], warnings: [], sections: [{ title: "Timeline", text: [], blocks: [chart("Ring of 1,024 ranks", timeline(w, 1024, columns))] }] };
  return { container: w.container(header), columns };
}

/** Unusual but valid data: empty, constant, not finite, out of range, or with strange names. */
export function oddities() {
  const w = new Writer();
  const name = '<b>bold</b> & "quoted" with a name that goes on and on, longer than any legend has room for';
  const sets = { empty: [], one: [3], constant: [5, 5, 5], zeros: [0, 0, 0], mixed: [-1, 0, NaN, Infinity, -Infinity, 1e-300, 1e300], huge: [1e300, 1.7e308] };
  const blocks = [];
  for (const [set, values] of Object.entries(sets)) {
    for (const log of [false, true]) {
      const v = w.column(values);
      const [x, y] = [axis("x", "seconds", log), axis("y", "count", log)];
      const sorted = w.column([...values].sort((a, b) => a - b));
      const box = { name, x: v, low: v, q1: v, median: v, q3: v, high: v, count: v, median_low: v, median_high: v, outlier_x: v, outlier_y: v, reference: null };
      const edges = w.column(Array.from({ length: values.length + 1 }, (_, i) => i));
      const plots = [
        { type: "boxes", x, y, series: [box] }, { type: "lines", x, y, series: [{ name, role: "simulated", x: v, y: v, low: v, high: v }], marks: [{ x: 0, name }, { y: NaN, name }] },
        { type: "distribution", x, series: [{ name, values: sorted }] }, { type: "histogram", x, y, series: [{ name, edges, counts: v }] },
        { type: "scatter", x, y, series: [{ name, x: v, y: v }] }, { type: "bars", x, bars: values.map((value) => ({ name, value: Number.isFinite(value) ? value : null, low: null, high: null, note: name })) },
      ];
      if (values.length) plots.push({ type: "heat", x, y, value: axis("v", "share", log), xs: w.column(values.map((_, i) => i + 1)), ys: w.column([1]), values: v });
      for (const plot of plots) blocks.push(chart(`${set} ${plot.type}${log ? " log" : ""}`, plot));
    }
  }
  const none = { row: [], start: [], end: [], kind: [], peer: [], bytes: [], tag: [], arrow_from: [], arrow_to: [], arrow_sent: [], arrow_received: [], arrow_bytes: [] };
  const point = { ...none, row: [0], start: [5], end: [5], kind: [4], peer: [NOBODY], bytes: [-1], tag: [0] };
  blocks.push(chart("no activities", timeline(w, 3, none)), chart("no rows", timeline(w, 0, none)), chart("one activity of no length", timeline(w, 1, point)));
  blocks.push({ kind: "table", title: "empty table", columns: [], rows: [] });
  return { container: w.container({ title: name, sections: [{ title: name, blocks }] }), charts: blocks.length - 1 };
}

const PATH = "/scratch/project_465000123/users/somebody/measurements/2026-11-19";
const SPEC = "periodic:period=1ms,duration=30us+periodic:period=10ms,duration=250us+poisson:rate=10Hz,duration=200us+poisson:rate=1Hz,duration=2ms";

/** Long names everywhere: in titles, sentences, facts, tables and legends. */
export function long() {
  const w = new Writer();
  const text = (value) => ({ text: value, value: null });
  const wide = {
    kind: "table", title: `Runs of ${SPEC}`, columns: [{ name: "hypothesis" }, ...Array.from({ length: 9 }, (_, i) => ({ name: `${i + 1}. computation on rank 3 × 0.789, computation on rank 2 × 0.728`, number: true }))],
    rows: [`computation on rank 3 × 0.789, ${SPEC}`, "Where the order of messages changed, later messages still follow the trace, which may be far from what a program would do. ".repeat(2)].map((name) => [text(name), ...Array.from({ length: 9 }, () => ({ text: "379 µs", value: 379e-6 }))]),
  };
  const folded = {
    kind: "table", title: "Slowdowns", columns: [{ name: "processes", number: true }, { name: "slowdown", number: true }, { name: "time", number: true }],
    rows: [[2, 0, 10], [4, 0, 10], [8, 0, 10], [16, 0, 10], [32, 2, 30], [64, 10, 40]].map(([p, s, t]) => [{ text: `${p}`, value: p }, { text: s ? `+${s} %` : "0 %", value: s / 100 }, { text: `${t} µs`, value: t }]),
  };
  const none = chart("Gains", { type: "bars", x: axis("time saved", "seconds"), bars: [{ name: "tick", value: 0, low: null, high: null }, { name: "daemon", value: 0, low: null, high: null }] });
  const values = w.column([1, 2, 3]);
  const named = chart(`Scatter of ${SPEC}`, { type: "scatter", x: axis("x", "none"), y: axis("y", "none"), series: [{ name: SPEC, x: values, y: values }] });
  const barred = chart("Long bars", { type: "bars", x: axis("gain", "share"), bars: [{ name: SPEC, value: 0.3, low: 0.2, high: 0.4, note: SPEC }, { name: "daemon", value: 0.1, low: null, high: null }] });
  return w.container({
    title: `Cost of noise: ${SPEC}`, summary: [`Noise costs 10 %: ${SPEC}`, `Assessed: ${SPEC}.`], warnings: [SPEC], notes: [`${PATH}/${SPEC}`],
    facts: [["Command", `straggler assess ${SPEC} -o ${PATH}/out`], [SPEC, PATH]],
    sections: [{ title: SPEC, text: [SPEC], blocks: [named, wide] }, { title: `Noise: ${PATH}/a.noise`, blocks: [folded, none, barred] }],
  });
}

/** A page that joins three. */
export function joined() {
  const w = new Writer();
  const values = w.column([1, 2, 3]);
  const points = (title) => chart(title, { type: "scatter", x: axis("x", "none"), y: axis("y", "none"), series: [{ name: "a", x: values, y: values }] });
  const noise = (node, share) => ({
    title: `Noise of ${PATH}/${node}/day.noise`, summary: [`Noise takes ${share} % of the time.`], facts: [["Noise", `${PATH}/${node}/day.noise`]],
    warnings: ["only 3 s were measured"], notes: ["every core has its own clock"],
    sections: [{ title: `Detours of ${PATH}/${node}/day.noise`, text: [], blocks: [points("Every detour"), table] }],
  });
  const latencies = { title: `Latencies of ${PATH}/eager.lat`, summary: ["Nothing stands out."], sections: [{ title: "Tail", text: [], blocks: [points("Tail")] }] };
  return w.container({ title: "day.noise and 2 more", facts: [["Command", `straggler report ${PATH}`]], parts: [noise("node-a", 1), noise("node-b", 2), latencies] });
}

/** Short activities of eight ranks with far more messages than there is room for between them. */
export function crowd() {
  const w = new Writer();
  return w.container({ title: "Crowd", sections: [{ title: "Timeline", text: [], blocks: [chart("Crowd", timeline(w, 8, timelineColumns(8, 300, 3)))] }] });
}

export function writeSamples(dir) {
  mkdirSync(dir, { recursive: true });
  const every = everyKind();
  const big = million();
  writeFileSync(join(dir, "every.html"), html(every.container, "Every kind"));
  writeFileSync(join(dir, "million.html"), html(big.container, "A million"));
  return { every, big };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dir = process.argv[2] ?? "samples";
  const { big } = writeSamples(dir);
  console.log(`${dir}: every.html, million.html (${big.columns.row.length} activities, ${big.columns.arrow_from.length} messages)`);
}
