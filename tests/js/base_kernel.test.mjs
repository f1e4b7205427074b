// Shared by all views: requests to the kernel, and a table of numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  canonicalJson,
  joinBytes,
  NEEDS_KERNEL,
  NO_ANSWER,
  connectKernel,
} from "../../viz_transformer/widgets/base/js/kernel.js";
import { moveInTable, numberColour } from "../../viz_transformer/widgets/base/js/number_table.js";
import { formatNumber } from "../../viz_transformer/widgets/base/js/text.js";
import { SIGNED, STOPS } from "../../viz_transformer/widgets/base/js/colour.js";

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
      restored: {
        connect: (slot) => reconnected.add(slot),
        disconnect: (slot) => reconnected.delete(slot),
      },
    },
    reply: (content, buffers = []) => tell("msg:custom", content, buffers),
    restart: () => tell("comm_live_update"),
    reconnect: () => Array.from(reconnected, (slot) => slot()),
    listening: () => listeners.length + reconnected.size,
  };
}
/** The numbers that a model was asked for, in order. */
const asked = (model) => model.sent.map(({ ask }) => ask.n);
const tick = () => new Promise((done) => setTimeout(done, 0));

test("equal requests have one text, whatever the order of their names", () => {
  assert.equal(
    canonicalJson({ b: [1, { d: null, c: "x" }], a: true }),
    canonicalJson({ a: true, b: [1, { c: "x", d: null }] }),
  );
  assert.equal(canonicalJson({ a: undefined, b: 1 }), '{"b":1}');
  assert.notEqual(canonicalJson({ a: "1" }), canonicalJson({ a: 1 }));
});

test("bytes come back in their places", () => {
  const bytes = new DataView(new ArrayBuffer(2));
  assert.deepEqual(joinBytes({ w: { buffer: 0 }, deep: [{ buffer: 0 }], n: 3 }, [bytes]), {
    w: bytes,
    deep: [bytes],
    n: 3,
  });
});

test("a reply reaches the one who asked, an error as an error", async () => {
  const model = fakeModel({ live: true });
  const kernel = connectKernel(model);
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
  const model = fakeModel({ live: true });
  const kernel = connectKernel(model);
  const told = [];
  for (let n = 0; n < 30; n++) kernel.latest({ n }, (reply) => told.push(reply.n));
  assert.deepEqual(asked(model), [0]);
  model.reply({ id: model.sent[0].id, reply: { n: 0 } });
  await tick();
  assert.deepEqual(asked(model), [0, 29]);
  model.reply({ id: model.sent[1].id, reply: { n: 29 } });
  await tick();
  assert.deepEqual(told, [29]);
});

test("a kernel that does not answer is told of, and its late answer still counts", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const model = fakeModel({ live: true });
  const [told, problems] = [[], []];
  connectKernel(model).latest(
    { n: 1 },
    (reply) => told.push(reply.n),
    (error) => problems.push(error.message),
  );
  context.mock.timers.tick(4000);
  assert.deepEqual(problems, []);
  context.mock.timers.tick(2000);
  assert.deepEqual(problems, [NO_ANSWER]);
  context.mock.timers.tick(54_000); // a minute in all
  assert.deepEqual([told, problems], [[], [NO_ANSWER]]);
  model.reply({ id: model.sent[0].id, reply: { n: 1 } });
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  assert.deepEqual([told, problems], [[1], [NO_ANSWER]]);
});

test("asking a silent kernel again says at once to wait, and only the newest answer is shown", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const model = fakeModel({ live: true });
  const kernel = connectKernel(model);
  const told = [];
  const latest = (n) =>
    kernel.latest(
      { n },
      (reply) => told.push(reply.n),
      () => told.push("error"),
      () => told.push(`wait ${n}`),
    );
  const settle = async () => {
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  latest(1);
  latest(2);
  context.mock.timers.tick(6000);
  assert.deepEqual(told, ["wait 2"]);
  latest(3);
  assert.deepEqual(told.splice(0), ["wait 2", "wait 3"]);
  model.reply({ id: model.sent[0].id, reply: { n: 1 } });
  await settle();
  assert.deepEqual(asked(model), [1, 3]);
  model.reply({ id: model.sent[1].id, reply: { n: 3 } });
  await settle();
  assert.deepEqual(told.splice(0), [3]);
  latest(4); // it answers again: a question asked now is not told to wait
  latest(5);
  assert.deepEqual(told, []);
});

test("a promised reply may be late: a word is said, once, and none after it came", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const model = fakeModel({ live: true });
  const kernel = connectKernel(model);
  let waits = 0;
  const [late, quick, closed] = [1, 2, 3].map((n) => kernel.ask({ n }, () => waits++));
  model.reply({ id: model.sent[1].id, reply: { n: 2 } });
  assert.deepEqual(await quick, { n: 2 });
  context.mock.timers.tick(6000);
  assert.equal(waits, 2); // not of the quick one
  model.reply({ id: model.sent[0].id, reply: { n: 1 } });
  assert.deepEqual(await late, { n: 1 });
  kernel.ask({ n: 4 }, () => waits++);
  kernel.close();
  context.mock.timers.tick(6000);
  assert.equal(waits, 2);
  assert.ok(closed instanceof Promise);
});

test("a restarted kernel owes no answer: what was asked fails, and what is asked then fails at once", async () => {
  const model = fakeModel({ live: true });
  const kernel = connectKernel(model);
  const told = [];
  const latest = (n) =>
    kernel.latest(
      { n },
      (reply) => told.push(reply.n),
      (error) => told.push(error.message),
    );
  latest(1);
  model.restart();
  await tick();
  assert.deepEqual(told, [NEEDS_KERNEL]);
  latest(2);
  await tick();
  assert.deepEqual(told, [NEEDS_KERNEL, NEEDS_KERNEL]);
  assert.deepEqual(asked(model), [1]);
});

test("what was asked before the connection was cut is asked again, and answered once", async () => {
  const model = fakeModel({ live: true });
  const kernel = connectKernel(model);
  const told = [];
  for (const n of [1, 2]) kernel.ask({ n }).then((reply) => told.push(reply.n));
  model.reply({ id: model.sent[0].id, reply: { n: 1 } });
  model.reconnect();
  assert.deepEqual(asked(model), [1, 2, 2]); // what is answered is not asked again
  assert.equal(model.sent[1].id, model.sent[2].id);
  for (let twice = 0; twice < 2; twice++) model.reply({ id: model.sent[1].id, reply: { n: 2 } });
  await tick();
  assert.deepEqual(told, [1, 2]);
});

test("of two tabs on one notebook each gets its own answers", async () => {
  const model = fakeModel({ live: true }); // the kernel sends each message to both
  const tabs = [connectKernel(model), connectKernel(model)];
  const told = [];
  for (const [tab, kernel] of tabs.entries()) kernel.ask({ n: tab }).then(({ n }) => told.push([tab, n]));
  for (const { id, ask } of model.sent.reverse()) model.reply({ id, reply: ask });
  await tick();
  assert.deepEqual(told, [
    [1, 1],
    [0, 0],
  ]);
});

test("an exported page answers what it carries, and says what it cannot", async () => {
  const kernel = connectKernel(fakeModel({ live: false, answers: [[{ head: 1 }, { loss: 2 }]] }));
  assert.deepEqual(await kernel.ask({ head: 1 }), { loss: 2 });
  await assert.rejects(kernel.ask({ head: 2 }), new RegExp(NEEDS_KERNEL));
});

test("numbers are shown as people write them", () => {
  assert.equal(formatNumber(-0.004, 2), "0.00");
  assert.equal(formatNumber(-1.5, 1), "−1.5");
  assert.equal(formatNumber(NaN, 2), "NaN");
  assert.equal(formatNumber(-Infinity, 2), "−∞");
});

test("a signed number of 0 has the middle colour, a plain one none", () => {
  const theme = { stops: STOPS.light, signedStops: SIGNED.light };
  assert.deepEqual(numberColour(0, { scale: "signed", limit: 3 }, theme), [0xf5, 0xf5, 0xf2]);
  assert.deepEqual(numberColour(3, { scale: "signed", limit: 3 }, theme), [0x22, 0x0e, 0x6f]);
  assert.equal(numberColour(0.5, { scale: "plain" }, theme), null);
});

test("arrow keys stay inside the table", () => {
  assert.deepEqual(moveInTable({ row: 0, col: 0 }, 2, 3, "ArrowUp"), { row: 0, col: 0 });
  assert.deepEqual(moveInTable({ row: 0, col: 0 }, 2, 3, "End"), { row: 0, col: 2 });
  assert.equal(moveInTable({ row: 0, col: 0 }, 2, 3, "a"), null);
});
