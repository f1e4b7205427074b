// Shared by all views: requests to the kernel, and a table of numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  canonicalJson,
  connectKernel,
  NEEDS_KERNEL,
  NO_ANSWER,
} from "../../viz_transformer/widgets/base/js/kernel.js";
import { moveInTable, numberColour } from "../../viz_transformer/widgets/base/number_table.ts";
import { colourOf, SIGNED, STOPS } from "../../viz_transformer/widgets/base/colour.ts";

/** A model whose kernel answers when the test says so, is restarted, or is reached again. */
function fakeModel(state) {
  const listeners = [];
  const sent = [];
  const reconnected = new Set();
  const tell = (event, ...values) => {
    for (const each of Array.from(listeners)) if (each[0] === event) each[1](...values);
  };
  return {
    sent,
    get: (name) => state[name],
    send: (content) => sent.push(content),
    on: (...listener) => listeners.push(listener),
    off(event, listener) {
      const at = listeners.findIndex((each) => each[0] === event && each[1] === listener);
      if (at >= 0) listeners.splice(at, 1);
    },
    widget_manager: {
      restoredStatus: !state.opening,
      restored: {
        connect: (slot) => reconnected.add(slot),
        disconnect: (slot) => reconnected.delete(slot),
      },
    },
    reply: (content) => tell("msg:custom", content, []),
    /** Reply to a question, by its index, with the question itself. */
    answer(index) {
      this.reply({ id: sent[index].id, reply: sent[index].ask });
    },
    restart: () => tell("comm_live_update"),
    reconnect: () => Array.from(reconnected, (slot) => slot()),
    listening: () => listeners.length + reconnected.size,
  };
}
/**
 * A connection to a kernel that is there, with `latest(n)` and what was told, in order: the number of a
 * reply, or the words of an error. A `context` stops the clock.
 */
function connect(context, state = { live: true }) {
  context?.mock.timers.enable({ apis: ["setTimeout"] });
  const model = fakeModel(state);
  const [kernel, told] = [connectKernel(model), []];
  const latest = (n, ...onWait) =>
    kernel.latest(
      { n },
      (reply) => told.push(reply.n),
      (error) => told.push(error.message),
      ...onWait,
    );
  return { model, kernel, told, latest };
}
/** The numbers that a model was asked for, in order. */
const asked = (model) => model.sent.map(({ ask }) => ask.n);
/** Let every promise that is kept by now be told; the clock may stand still. */
const settle = async () => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
};

test("equal requests have one text, whatever the order of their names", () => {
  assert.equal(
    canonicalJson({ b: [1, { d: null, c: "x" }], a: true }),
    canonicalJson({ a: true, b: [1, { c: "x", d: null }] }),
  );
  assert.equal(canonicalJson({ a: undefined, b: 1 }), '{"b":1}');
  assert.notEqual(canonicalJson({ a: "1" }), canonicalJson({ a: 1 }));
});

test("a reply reaches the one who asked, an error as an error", async () => {
  const { model, kernel } = connect();
  const [first, second] = [kernel.ask({ n: 1 }), kernel.ask({ n: 2 })];
  assert.deepEqual(asked(model), [1, 2]);
  model.reply({ id: model.sent[1].id, error: "no such word" });
  model.reply({ id: model.sent[0].id, reply: { ok: 1 } });
  assert.deepEqual(await first, { ok: 1 });
  await assert.rejects(second, /no such word/);
  kernel.close();
  assert.equal(model.listening(), 0);
});

test("thirty fast questions ask the first and the last, and only the last is told", async () => {
  const { model, told, latest } = connect();
  for (let n = 0; n < 30; n++) latest(n);
  assert.deepEqual(asked(model), [0]);
  model.answer(0);
  await settle();
  assert.deepEqual(asked(model), [0, 29]);
  model.answer(1);
  await settle();
  assert.deepEqual(told, [29]);
});

test("a kernel that does not answer is told of, and its late answer still counts", async (context) => {
  const { model, told, latest } = connect(context);
  latest(1);
  context.mock.timers.tick(4000);
  assert.deepEqual(told, []);
  context.mock.timers.tick(2000);
  assert.deepEqual(told, [NO_ANSWER]);
  context.mock.timers.tick(54_000); // a minute in all
  assert.deepEqual(told, [NO_ANSWER]);
  model.answer(0);
  await settle();
  assert.deepEqual(told, [NO_ANSWER, 1]);
});

test("asking a silent kernel again says at once to wait, and only the newest answer is shown", async (context) => {
  const { model, told, latest } = connect(context);
  const patient = (n) => latest(n, () => told.push(`wait ${n}`));
  patient(1);
  patient(2);
  context.mock.timers.tick(6000);
  assert.deepEqual(told, ["wait 2"]);
  patient(3);
  assert.deepEqual(told.splice(0), ["wait 2", "wait 3"]);
  model.answer(0);
  await settle();
  assert.deepEqual(asked(model), [1, 3]);
  model.answer(1);
  await settle();
  assert.deepEqual(told.splice(0), [3]);
  patient(4); // it answers again: a question asked now is not told to wait
  patient(5);
  assert.deepEqual(told, []);
});

test("a promised reply may be late: a word is said, once, and none after it came", async (context) => {
  const { model, kernel } = connect(context);
  let waits = 0;
  const [late, quick, closed] = [1, 2, 3].map((n) => kernel.ask({ n }, () => waits++));
  model.answer(1);
  assert.deepEqual(await quick, { n: 2 });
  context.mock.timers.tick(6000);
  assert.equal(waits, 2); // not of the quick one
  model.answer(0);
  assert.deepEqual(await late, { n: 1 });
  kernel.ask({ n: 4 }, () => waits++);
  kernel.close();
  context.mock.timers.tick(6000);
  assert.equal(waits, 2);
  assert.ok(closed instanceof Promise);
});

test("a restarted kernel owes no answer: what was asked fails, and what is asked then fails at once", async () => {
  const { model, told, latest } = connect();
  latest(1);
  model.restart();
  await settle();
  assert.deepEqual(told, [NEEDS_KERNEL]);
  latest(2);
  await settle();
  assert.deepEqual(told, [NEEDS_KERNEL, NEEDS_KERNEL]);
  assert.deepEqual(asked(model), [1]);
});

test("a notebook that has just opened was not cut off: nothing is asked twice", async () => {
  const { model, told, latest } = connect(null, { live: true, opening: true });
  latest(1);
  model.reconnect(); // the widget manager has read what the kernel had
  assert.deepEqual(asked(model), [1]);
  model.reconnect(); // after a cut
  assert.deepEqual(asked(model), [1, 1]);
  model.answer(0);
  model.answer(1);
  await settle();
  assert.deepEqual(told, [1]);
});

test("what was asked before the connection was cut is asked again, and answered once", async () => {
  const { model, kernel, told } = connect();
  for (const n of [1, 2]) kernel.ask({ n }).then((reply) => told.push(reply.n));
  model.answer(0);
  model.reconnect();
  assert.deepEqual(asked(model), [1, 2, 2]); // what is answered is not asked again
  assert.equal(model.sent[1].id, model.sent[2].id);
  for (let twice = 0; twice < 2; twice++) model.answer(1);
  await settle();
  assert.deepEqual(told, [1, 2]);
});

test("of two tabs on one notebook each gets its own answers", async () => {
  const { model, kernel: one, told } = connect();
  const tabs = [one, connectKernel(model)]; // the kernel sends each message to both
  for (const [tab, kernel] of tabs.entries()) kernel.ask({ n: tab }).then(({ n }) => told.push([tab, n]));
  for (const index of [1, 0]) model.answer(index);
  await settle();
  assert.deepEqual(told, [
    [1, 1],
    [0, 0],
  ]);
});

test("a signed number of 0 has the middle colour, a plain one none; arrow keys stay inside the table", () => {
  const theme = { stops: STOPS.light, signedStops: SIGNED.light, changes: [] };
  assert.deepEqual(numberColour(0, { scale: "signed", limit: 3 }, theme), [0xf5, 0xf5, 0xf2]);
  assert.deepEqual(numberColour(3, { scale: "signed", limit: 3 }, theme), colourOf(1, SIGNED.light));
  assert.equal(numberColour(0.5, { scale: "plain" }, theme), null);
  const from = (key) => moveInTable({ row: 0, col: 0 }, 2, 3, key);
  assert.deepEqual([from("ArrowUp"), from("a")], [{ row: 0, col: 0 }, null]);
  assert.deepEqual(from("End"), { row: 0, col: 2 });
});
