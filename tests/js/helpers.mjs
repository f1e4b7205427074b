// What several tests need: tables of cases, bytes as a kernel sends them, and text without its marks.

import assert from "node:assert/strict";
import { halfTable } from "../../viz_transformer/widgets/base/bytes.ts";

/**
 * Hold a function to a table: a row is what the function is given and, last, what it answers or a pattern
 * of it. Every row that is wrong is shown.
 *
 * @param {(...given: any[]) => any} answer
 * @param {any[][]} table
 */
export function assertTable(answer, table) {
  const found = table.map((row) => {
    const [given, wanted] = [row.slice(0, -1), row.at(-1)];
    const answered = answer(...given);
    return [...given, wanted instanceof RegExp && wanted.test(answered) ? wanted : answered];
  });
  assert.deepEqual(found, table);
}

export function assertNear(found, wanted, within = 1e-9) {
  assert.ok(Math.abs(found - wanted) <= within, `${found} is not ${wanted}`);
}

/** A text without the marks that keep a word's direction to itself. */
export const withoutMarks = (text) => text.replace(/[\u2068\u2069]/g, "");

/** The bytes of numbers, as a kernel sends them. */
export const floats = (...values) => new DataView(Float32Array.from(values.flat(9)).buffer);

/** The same in half precision; the values must be ones that a half can hold. */
export function halves(...values) {
  const table = halfTable();
  return new DataView(Uint16Array.from(values.flat(9), (value) => table.indexOf(value)).buffer);
}
