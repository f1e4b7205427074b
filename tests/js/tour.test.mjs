// Tours: where a key leads, what is remembered, and the views of a page by their numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pageManager } from "../../viz_transformer/export/page.ts";
import { connectKernel } from "../../viz_transformer/widgets/base/kernel.ts";
import * as tour from "../../viz_transformer/widgets/tour/steps.ts";
import { assertTable } from "./helpers.mjs";

test("keys lead to steps that there are", () => {
  assertTable(tour.stepOnKey, [
    ["ArrowRight", 0, 3, 1],
    ["PageDown", 2, 3, 2],
    ["ArrowLeft", 0, 3, 0],
    ["PageUp", 2, 3, 1],
    ["Home", 2, 3, 0],
    ["End", 0, 3, 2],
    ["End", 0, 0, 0],
    ["a", 0, 3, null],
    ["constructor", 0, 3, null],
  ]);
  const steps = (count) =>
    Array.from({ length: count }, () => ({ caption: "Where “gato” looks now.", state: {} }));
  assert.deepEqual(tour.chapters([...steps(1), { caption: "", state: {} }]), ["Where “gato” looks …", "2"]);
  assert.equal(tour.chapters(steps(9)).join(""), "123456789");
});

test("a state is remembered as it was, and only what differs is set, never the tour's own list", () => {
  const traits = { layer: 1, key: null, head: 0, selected: [[0, 1]] };
  const state = tour.chosenState(["layer", "key", "selected", "none"], (name) => traits[name]);
  traits.selected[0][1] = 5;
  assert.deepEqual(state, { layer: 1, key: null, selected: [[0, 1]] });
  const changes = tour.differing(
    ["layer", "head", "selected"],
    { ...state, head: 2 },
    (name) => traits[name],
  );
  assert.deepEqual(changes, { head: 2, selected: [[0, 1]] });
  assert.notEqual(changes.selected, state.selected);
  assert.deepEqual(
    tour.differing(["layer"], {}, () => 3),
    {},
  );
});

test("steps are put in after the one on show, changed and taken out", () => {
  const steps = (captions) => [...captions].map((caption) => ({ caption, state: {} }));
  const [added] = steps("n");
  const captions = (list) => list.map(({ caption }) => caption).join("");
  const told = ({ steps, step }) => `${captions(steps)} ${step}`;
  const before = steps("ab");
  assert.equal(told(tour.withStep(before, 0, added)), "anb 1");
  assert.equal(told(tour.withStep([], 0, added)), "n 0");
  assert.equal(captions(tour.withChange(before, 1, { caption: "c" })), "ac");
  assert.equal(captions(before), "ab");
  assert.equal(told(tour.withoutStep(before, 1)), "a 0");
  assert.equal(told(tour.withoutStep(steps("a"), 0)), " 0");
});

test("a page's views are found by number, each once, and share their state", async () => {
  const states = [{ view: "IPY_MODEL_1" }, { n: 1 }];
  const manager = pageManager(states.map((state, script) => ({ script: String(script), state })));
  const first = await manager.get_model("0");
  const view = await first.widget_manager.get_model(first.get("view").replace("IPY_MODEL_", ""));
  view.set("n", 2);
  assert.equal((await manager.get_model("1")).get("n"), 2);
  for (const id of ["2", "constructor"]) await assert.rejects(manager.get_model(id), /not on this page/);
});

test("what a tour adds to a view's answers is known at once", async () => {
  const manager = pageManager([{ script: "x", state: { answers: [[{ n: 1 }, { text: "one" }]] } }]);
  const model = await manager.get_model("0");
  const kernel = connectKernel(model);
  assert.deepEqual(await kernel.ask({ n: 1 }), { text: "one" });
  await assert.rejects(kernel.ask({ n: 2 }));
  model.set("answers", [...model.get("answers"), [{ n: 2 }, { text: "two" }]]);
  assert.deepEqual(await kernel.ask({ n: 2 }), { text: "two" });
});
