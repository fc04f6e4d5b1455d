import { expect, test } from "vitest";
// @ts-expect-error the writer is plain JavaScript
import { Writer } from "./container.mjs";
import { decode, parse, ReportError } from "../src/data/container";

function sample(): { base64: string } {
  const w = new Writer();
  w.column([1.5, -2, 1e300]);
  w.column([7, 4294967295, 9], Uint32Array);
  w.column([1, 2, 255, 4, 5], Uint8Array);
  return { base64: w.container({ title: "Überschrift — longer" }).toString("base64") };
}

test("what was written is read, as views", async () => {
  const data = await decode(sample().base64);
  expect(data.header.title).toBe("Überschrift — longer");
  expect([...data.f64(0)]).toEqual([1.5, -2, 1e300]);
  expect([...data.u32(1)]).toEqual([7, 4294967295, 9]);
  expect([...data.u8(2)]).toEqual([1, 2, 255, 4, 5]);
  expect(data.f64(0).buffer).toBe(data.u32(1).buffer);
  expect([...data.f64(1)]).toEqual([7, 4294967295, 9]);
  expect(() => data.u8(0)).toThrow(ReportError);
  expect(() => data.raw(3)).toThrow(/column 3/);
});

test("damage is a sentence, never another error", async () => {
  const bytes = Buffer.from(sample().base64, "base64");
  for (let cut = 0; cut < bytes.length; cut += 7) {
    await expect(decode(bytes.subarray(0, cut).toString("base64"))).rejects.toThrow(ReportError);
  }
  const raw = new TextEncoder().encode("straggler page 1\n\xff\xff\xff\x7f{}");
  expect(() => parse(raw.buffer as ArrayBuffer)).toThrow(ReportError);
  expect(() => parse(new ArrayBuffer(3))).toThrow(ReportError);
});
