// Decodes the text of the data script into a header and typed columns. The columns are views into the decompressed
// buffer, so that even a million activities are held only once.

import type { Header } from "./report";

/** An error in the report, shown to the reader; any other error is a bug of the page. */
export class ReportError extends Error {}

const MAGIC = "straggler page ";
const VERSION = 1;
const PREFIX = MAGIC.length + 2; // magic, version digit and newline

export type Numbers = Float64Array | Uint32Array | Uint8Array;

export class Container {
  private readonly numbersAsF64 = new Map<number, Float64Array>();

  constructor(readonly header: Header, private readonly columns: Numbers[]) {}

  /** The column as stored in the file. */
  raw(index: number): Numbers {
    const column = this.columns[index];
    if (column === undefined) throw new ReportError(`The data name column ${index}, of ${this.columns.length} there are.`);
    return column;
  }

  f64(index: number): Float64Array {
    const column = this.raw(index);
    if (column instanceof Float64Array) return column;
    let wide = this.numbersAsF64.get(index);
    if (!wide) this.numbersAsF64.set(index, (wide = Float64Array.from(column)));
    return wide;
  }

  u32(index: number): Uint32Array {
    const column = this.raw(index);
    if (column instanceof Uint32Array) return column;
    throw new ReportError(`Column ${index} must hold 32-bit numbers.`);
  }

  u8(index: number): Uint8Array {
    const column = this.raw(index);
    if (column instanceof Uint8Array) return column;
    throw new ReportError(`Column ${index} must hold bytes.`);
  }
}

export async function decode(text: string): Promise<Container> {
  const base64 = text.trim();
  if (base64 === "" || base64.startsWith("@@")) {
    throw new ReportError("This page has no data in it. `straggler report DIR -o report.html` writes one that has.");
  }
  return parse(await gunzip(fromBase64(base64)));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    const native = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64;
    if (native) return native.call(Uint8Array, text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    throw new ReportError("The data of this report are damaged: they are not base64. Was the file cut or edited?");
  }
}

async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  if (typeof DecompressionStream === "undefined") {
    throw new ReportError("This browser cannot unpack the data: it has no DecompressionStream (any of 2023 or later has).");
  }
  try {
    return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  } catch {
    throw new ReportError("The data of this report are damaged: they cannot be unpacked. Was the file cut or edited?");
  }
}

export function parse(buffer: ArrayBuffer): Container {
  checkVersion(buffer);
  if (buffer.byteLength < PREFIX + 4) throw new ReportError("The data of this report end too early.");
  const length = new DataView(buffer).getUint32(PREFIX, true);
  const first = PREFIX + 4 + length;
  if (first > buffer.byteLength) throw new ReportError("The data of this report end within their header.");
  const header = parseHeader(new Uint8Array(buffer, PREFIX + 4, length));
  return new Container(header, header.columns.map((place, i) => view(buffer, first, place, i)));
}

function checkVersion(buffer: ArrayBuffer): void {
  const start = new TextDecoder().decode(new Uint8Array(buffer, 0, Math.min(40, buffer.byteLength)));
  if (!start.startsWith(MAGIC)) throw new ReportError("What lies in this page are not the data of a report.");
  const version = start.slice(MAGIC.length).split("\n", 1)[0];
  if (version !== String(VERSION)) {
    throw new ReportError(`The data are of version ${version}; this page reads version ${VERSION}. Write the report again with one version of straggler.`);
  }
}

function parseHeader(bytes: Uint8Array): Header {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ReportError("The header of the data cannot be read.");
  }
  if (typeof header !== "object" || header === null || !Array.isArray((header as Header).columns)) {
    throw new ReportError("The header of the data lacks its columns.");
  }
  return header as Header;
}

const WIDTH = { f64: 8, u32: 4, u8: 1 } as const;

function view(buffer: ArrayBuffer, first: number, place: Header["columns"][number], index: number): Numbers {
  const width = WIDTH[place.type];
  const at = first + place.offset;
  const whole = Number.isSafeInteger(place.length) && Number.isSafeInteger(place.offset) && place.length >= 0 && place.offset >= 0;
  if (!width) throw new ReportError(`Column ${index} is of the unknown type ${String(place.type)}.`);
  if (!whole || at + width * place.length > buffer.byteLength) throw new ReportError(`Column ${index} lies beyond the end of the data.`);
  if (at % width !== 0) throw new ReportError(`Column ${index} is not aligned.`);
  if (place.type === "f64") return new Float64Array(buffer, at, place.length);
  if (place.type === "u32") return new Uint32Array(buffer, at, place.length);
  return new Uint8Array(buffer, at, place.length);
}
