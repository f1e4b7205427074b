// What the address of a page says of its first view.

import assert from "node:assert/strict";
import { test } from "node:test";

import { addressOf, traitsIn } from "../../viz_transformer/export/address.ts";
import { assertTable } from "./helpers.mjs";

const RULES = {
  kind: { values: ["encoder", "cross"] },
  layer: { sizes: { encoder: 2, cross: 12 } },
  query: { sizes: { encoder: 5, cross: 5 }, usual: null },
  wall: { values: [false, true], usual: false },
};
const SHOWN = { kind: "encoder", layer: 1, query: null, wall: true };

test("an address names what is not as usual, and its values are those that the page has", () => {
  const read = (address) => traitsIn(address, RULES, (name) => SHOWN[name]);
  assertTable(
    (address) => read(address).traits,
    [
      ["#layer=0", { layer: 0, query: null, wall: false }],
      ["#kind=cross&layer=11&query=4", { kind: "cross", layer: 11, query: 4, wall: false }],
      ["#layer=11&kind=cross", { kind: "cross", layer: 11, query: null, wall: false }],
      ["#layer=1&wall=true&other=1", { layer: 1, query: null, wall: true }],
      ["", {}],
      ["#a-heading", {}],
      ["#layer=2&query=1", {}],
    ],
  );
  assertTable(
    (address) => read(address).lacking,
    [
      ["#layer=2&query=1", ["layer=2"]],
      ["#layer=-1", ["layer=-1"]],
      ["#layer=1.5&query=NaN", ["layer=1.5", "query=NaN"]],
      ["#kind=toString&layer=0", ["kind=toString", "layer=0"]],
      ["#wall=yes", ["wall=yes"]],
      ["#constructor=1&layer=0", []],
      ["#layer=%ZZ", ["layer=%ZZ"]],
    ],
  );
});

test("what an address says is read back from it", () => {
  const shown = { kind: "cross", layer: 0, query: 3, wall: false };
  const address = addressOf(RULES, (name) => shown[name]);
  assert.equal(address, "#kind=cross&layer=0&query=3");
  assert.deepEqual(
    traitsIn(address, RULES, (name) => SHOWN[name]),
    { traits: shown, lacking: [] },
  );
});
