// Shared by all views: requests to the kernel, and a table of numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalJson, connectKernel, NEEDS_KERNEL } from "../../viz_transformer/widgets/base/kernel.ts";
import { moveInTable } from "../../viz_transformer/widgets/base/keys.ts";
import { STOPPED, Waits, waitsOf } from "../../viz_transformer/widgets/base/waits.ts";

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
 * reply, or the words of an error.
 */
function connect(state = { live: true }) {
  const model = fakeModel(state);
  const [kernel, told] = [connectKernel(model), []];
  const latest = (n) =>
    kernel.latest(
      { n },
      (reply) => told.push(reply.n),
      (error) => told.push(error.message),
    );
  return { model, kernel, told, latest };
}
/** The numbers that a model was asked for, in order. */
const asked = (model) => model.sent.map(({ ask }) => ask.n);
/** Let every promise that is kept by now be told. */
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

test("a work that takes long is told of: what the kernel says of it, and for how long", () => {
  const waits = new Waits();
  const toldAt = (now) => {
    const told = waits.told(now);
    return told && [told.words, told.seconds, told.isShown];
  };
  waits.begin("a", assert.fail, "", 0);
  assert.equal(toldAt(999), null);
  assert.deepEqual(toldAt(1000), ["Waiting for the kernel.", 1, false]);
  assert.match(String(toldAt(5000)[0]), /^The notebook's kernel does not answer yet/);
  waits.hear("a", "");
  assert.deepEqual(toldAt(6500), ["Computing.", 6, false]);
  waits.hear("a", "Writing token 3 of at most 8");
  assert.deepEqual(toldAt(60_000), ["Writing token 3 of at most 8.", 60, false]);
  waits.begin("b", assert.fail, "", 60_000); // newer: the oldest is told of
  waits.end("a", 60_100);
  waits.hear("a", "too late");
  assert.equal(toldAt(60_500), null);
  waits.end("b", 60_500);
  assert.equal(waits.isOver(60_500), true);
});

test("parts of one work are told of as one, whose clock goes on, and are stopped between two as well", async () => {
  const waits = new Waits();
  for (const [part, now] of [0, 700, 1400].entries()) {
    waits.begin(String(part), assert.fail, `Ranking heads: ${part} of 9.`, now);
    if (part < 2) waits.end(String(part), now + 650);
  }
  assert.deepEqual(waits.told(2500), { words: "Ranking heads: 2 of 9.", seconds: 2, isShown: true });
  assert.match(waits.told(6400).words, /does not answer yet/); // this part, for five seconds
  waits.end("2", 6500);
  assert.deepEqual([waits.isOver(6600), waits.told(6600).seconds, waits.isOver(7000)], [false, 6, true]);
  let stopped = 0;
  waits.stop();
  waits.begin("3", () => stopped++, "Ranking heads: 3 of 9.", 6700);
  await settle();
  assert.equal(stopped, 1);
  waits.begin("4", () => stopped++, "Ranking heads: 3 of 9.", 6800);
  await settle();
  assert.equal(stopped, 1);
});

test("who stops a work is told so once, for all that was asked; its late answer counts no more", async () => {
  const { model, told, latest } = connect();
  for (const n of [1, 2, 3]) latest(n);
  waitsOf(model).stop();
  await settle();
  assert.deepEqual(told.splice(0), [STOPPED]);
  assert.deepEqual(model.sent.at(-1), { stop: model.sent[0].id });
  model.answer(0);
  latest(4);
  model.reply({ id: model.sent[2].id, words: "Computing" }); // no answer yet
  model.answer(2);
  await settle();
  assert.deepEqual(told, [4]);
  assert.equal(waitsOf(model).isOver(), true);
});

test("only the view that waits says so, and one that has gone waits for nothing", () => {
  const [one, other] = [connect(), connect()];
  one.latest(1);
  const later = performance.now() + 2500;
  assert.deepEqual([waitsOf(one.model).told(later)?.seconds, waitsOf(other.model).told(later)], [2, null]);
  one.kernel.close();
  assert.equal(waitsOf(one.model).told(later), null);
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
  const { model, told, latest } = connect({ live: true, opening: true });
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

test("arrow keys stay inside the table", () => {
  const from = (key) => moveInTable({ row: 0, col: 0 }, 2, 3, key);
  assert.deepEqual([from("ArrowUp"), from("a")], [{ row: 0, col: 0 }, null]);
  assert.deepEqual(from("End"), { row: 0, col: 2 });
});
