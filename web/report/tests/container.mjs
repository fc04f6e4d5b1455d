// Writes the container of docs/report-format.md, independently of the Rust writer, and inserts it into the built page.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const TYPE = new Map([[Float64Array, "f64"], [Uint32Array, "u32"], [Uint8Array, "u8"]]);

/** Collects columns; `column(values)` returns the index to put in the header. */
export class Writer {
  columns = [];
  parts = [];
  offset = 0;

  column(values, Type = Float64Array) {
    const array = values instanceof Type ? values : Type.from(values);
    this.columns.push({ type: TYPE.get(Type), offset: this.offset, length: array.length });
    const bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    const padding = (8 - (bytes.length % 8)) % 8;
    this.parts.push(bytes, Buffer.alloc(padding));
    this.offset += bytes.length + padding;
    return this.columns.length - 1;
  }

  container(header, version = 1) {
    const magic = Buffer.from(`straggler page ${version}\n`);
    let json = Buffer.from(JSON.stringify({ columns: this.columns, ...header }));
    const unpadded = magic.length + 4 + json.length;
    json = Buffer.concat([json, Buffer.alloc((8 - (unpadded % 8)) % 8, " ")]);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(json.length);
    return gzipSync(Buffer.concat([magic, length, json, ...this.parts]), { level: 6 });
  }
}

const page = readFileSync(new URL("../dist/report.html", import.meta.url), "utf8");

export function html(container, title = "Sample") {
  const data = typeof container === "string" ? container : container.toString("base64");
  // Functions, so that `$&` in the data is not taken for a replacement pattern.
  return page.replace("@@TITLE@@", () => title.replace(/[<&]/g, (c) => ({ "<": "&lt;", "&": "&amp;" })[c])).replace("@@DATA@@", () => data);
}

/** A reproducible random number generator (mulberry32). */
export function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
