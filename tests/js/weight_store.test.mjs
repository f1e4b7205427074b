// The explorer's store of weights: what is here, what is fetched, what is evicted.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createLruCache } from "../../viz_transformer/widgets/explorer/caches.ts";
import { combine, unpackBits, WeightStore } from "../../viz_transformer/widgets/explorer/weight_store.ts";
import { floats, halves } from "./helpers.mjs";

const tick = () => new Promise((done) => setTimeout(done, 0));

/** A kernel that answers when the test says so, behind a model with this data. */
function fakeModel(data, live = true) {
  const [listeners, sent] = [new Set(), []];
  const state = { data, live };
  return {
    state,
    sent,
    listeners,
    get: (name) => state[name],
    send: (content) => {
      sent.push(content);
    },
    on: (event, listener) => event === "msg:custom" && listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
    async reply(index, reply, buffers = []) {
      for (const listener of listeners) listener({ id: sent[index].id, reply }, buffers);
      await tick();
    },
    /** Answer a question for one matrix. */
    answer(index, ...values) {
      return this.reply(index, { weights: { buffer: 0 } }, [halves(values)]);
    },
  };
}

/** A store behind such a model, with `shown(layer, head)`, its numbers as a text or null. */
function storeOf(data, { live = true, onChange = () => {}, limit = undefined } = {}) {
  const model = fakeModel(data, live);
  const store = new WeightStore(model, onChange, limit);
  const shown = (layer, head) => store.matrix("encoder", layer, head)?.join() ?? null;
  return { model, store, shown };
}

const TRACE = { targetTokens: [], outputTokens: null, sourceWords: null, targetWords: null };
const weights = floats([1, 0, 0.25, 0.75, 0.5, 0, 0.125, 0.875]);
const attention = { encoder: { shape: [1, 2, 2, 2], weights } };
const SMALL = { version: 0, traces: [{ ...TRACE, sourceTokens: ["a", "b"], attention }] };

function large(version = 0, [layers, heads] = [3, 4], side = 2) {
  const kind = {
    ...{ kind: "encoder", queries: ["a", "b"], keys: ["a", "b"], reads: null, noRollout: "" },
    shape: [layers, heads, side, side],
    dtype: "float16",
    overview: { rows: 1, cols: 1, values: new DataView(new ArrayBuffer(layers * heads)) },
    first: {
      layer: 0,
      head: 0,
      weights: side === 2 ? halves(1, 0, 0.5, 0.5) : halves(Array(side * side).fill(0)),
    },
  };
  return { version, kinds: [kind] };
}

test("a small trace is here at once, exactly, without a question; an echo of it changes nothing", async () => {
  const { model, store, shown } = storeOf(SMALL, {
    live: false,
    onChange: () => assert.fail("nothing is to come"),
  });
  assert.equal(shown(0, 1), "0.5,0,0.125,0.875");
  const both = Array.of([0, 0], [0, 1]);
  assert.equal(store.aggregate("encoder", both, "mean").join(), "0.75,0,0.1875,0.8125");
  assert.equal(store.rollout("encoder", 0).join(), "1,0,0.09375,0.90625");
  assert.equal(store.overview("encoder").values.subarray(0, 4).join(), "255,0,64,191");
  const entry = store.entries.get("encoder");
  assert.equal(entry.masked.join(), "0,1,0,0");
  assert.equal(await store.exact("encoder", 0, 0, 1, 1), 0.75);
  assert.deepEqual([model.sent, store.problem, store.pending], [[], "", false]);
  model.state.data = { ...SMALL };
  assert.deepEqual([store.load(), store.entries.get("encoder") === entry], [false, true]);
  model.state.data = { ...SMALL, version: 1 };
  assert.equal(store.load(), true);
});

test("of a large trace a head comes when it is looked at, and those beside it with one question", {
  timeout: 20_000,
}, async () => {
  let changes = 0;
  const { model, store, shown } = storeOf(large(), { onChange: () => changes++ });
  assert.equal(shown(0, 0), "1,0,0.5,0.5"); // the first is here
  assert.deepEqual([shown(1, 1), shown(1, 1), store.pending], [null, null, true]);
  assert.deepEqual(
    model.sent.map(({ ask }) => ask),
    [{ head: ["encoder", 1, 1], version: 0 }],
  );
  await model.answer(0, 0.25, 0.75, 0, 1);
  assert.deepEqual([changes, shown(1, 1), store.pending], [1, "0.25,0.75,0,1", false]);
  while (model.sent.length < 2) await tick(); // when nothing else is to be done
  const beside = Array.of([1, 2], [2, 1], [1, 0], [0, 1]);
  assert.deepEqual(model.sent[1].ask, { heads: ["encoder", beside], version: 0 });
  const bytes = beside.map(([layer, head]) => halves(layer / 4, 0, 0, head / 4));
  await model.reply(1, { weights: beside.map((_, buffer) => ({ buffer })) }, bytes);
  store.load();
  for (const [layer, head] of beside) assert.equal(shown(layer, head), `${layer / 4},0,0,${head / 4}`);
  assert.equal(model.sent.length, 2);
  store.close();
});

test("thirty fast clicks end on the last, and ask for few of the others", async () => {
  const { model, store, shown } = storeOf(large(0, [5, 6]));
  const click = (head) => {
    store.load();
    return shown(Math.floor(head / 6), head % 6);
  };
  for (let head = 1; head < 30; head++) click(head);
  assert.ok(model.sent.length <= 3);
  for (let index = 0; index < model.sent.length; index++) await model.answer(index, 1, 0, 0.5, 0.5);
  assert.deepEqual(model.sent[3].ask.head, ["encoder", 4, 5], "after those under way, the last");
  assert.notEqual(click(29), null);
  store.close();
});

test("a reply that was meant for another trace is not shown with the new one's words", async () => {
  const { model, store, shown } = storeOf(large(0));
  shown(1, 1);
  model.state.data = large(1);
  assert.equal(store.load(), true);
  await model.answer(0, 1, 0, 1, 0); // of version 0, late
  assert.equal(shown(1, 1), null);
  assert.equal(model.sent.at(-1).ask.version, 1);
  await model.answer(1, 0, 1, 0, 1);
  assert.equal(shown(1, 1), "0,1,0,1");
  store.close();
});

test("a kernel that is ahead of the page is not asked again and again", async () => {
  const onChange = () => assert.fail("there is nothing new to draw");
  const { model, store, shown } = storeOf(large(0), { onChange });
  shown(1, 1);
  await model.reply(0, { stale: true });
  assert.deepEqual([shown(1, 1), model.sent.length, store.problem], [null, 1, ""]);
  store.close();
});

test("without a kernel it says so, and asks again when the head is looked at again", async () => {
  let changes = 0;
  const { model, store, shown } = storeOf(large(), { live: false, onChange: () => changes++ });
  shown(1, 1);
  await tick();
  assert.equal(changes, 1);
  store.load();
  assert.equal(shown(1, 1), null);
  assert.match(store.problem, /running notebook/);
  store.load();
  assert.notEqual(shown(0, 0), null);
  assert.equal(store.problem, "");
  model.state.live = true;
  store.load();
  shown(1, 1);
  assert.equal(model.sent.length, 1);
  store.close();
});

test("several heads come as one from the kernel, and from its heads in an exported page", async () => {
  const heads = Array.of([0, 0], [1, 1]);
  const { model, store } = storeOf(large());
  assert.equal(store.aggregate("encoder", heads, "mean"), null);
  assert.deepEqual(model.sent[0].ask, { aggregate: ["encoder", "mean", heads], version: 0 });
  await model.answer(0, 0.5, 0.5, 0.25, 0.75);
  assert.equal(store.aggregate("encoder", heads, "mean").join(), "0.5,0.5,0.25,0.75");
  store.close();

  const page = fakeModel(large());
  page.state.answers = [[{ head: ["encoder", 1, 1], version: 0 }, { weights: halves(0, 1, 0, 1) }]];
  delete page.send;
  const exported = new WeightStore(page, () => {});
  for (let draw = 0; draw < 3; draw++) {
    exported.load();
    exported.aggregate("encoder", heads, "max");
    await tick();
  }
  exported.load();
  assert.equal(exported.aggregate("encoder", heads, "max").join(), "1,1,0.5,1");
  assert.equal(exported.problem, "");
});

test("a weight is exact where a kernel lives, though it comes late, and refused where none does", async (context) => {
  const { model, store } = storeOf(large());
  const [older, newer] = [store.exact("encoder", 0, 0, 0, 0), store.exact("encoder", 0, 0, 1, 1)];
  await assert.rejects(older, /another weight/);
  await model.reply(0, { value: 0.99999 });
  await model.reply(1, { value: 0.49999988 });
  assert.equal(await newer, 0.49999988);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const late = store.exact("encoder", 0, 0, 1, 0);
  context.mock.timers.tick(60_000);
  model.reply(2, { value: 0.25 });
  assert.equal(await late, 0.25);
  model.state.live = false;
  await assert.rejects(store.exact("encoder", 0, 0, 0, 1), /running notebook/);
  store.close();
});

test("an exact weight is not taken for that of the next trace", async () => {
  const { model, store } = storeOf(large(0));
  const weight = () => store.exactIfHere("encoder", 0, 0, 1, 1);
  assert.equal(weight(), null);
  await model.reply(0, { value: 0.25 });
  assert.equal(weight(), 0.25);
  model.state.data = large(1);
  store.load();
  assert.equal(weight(), null);
  store.close();
});

test("labels and entropies of a large trace come on request", async () => {
  const { model, store } = storeOf(large(0, [1, 2]));
  assert.equal(store.entries.get("encoder").entropies ?? null, null);
  store.measure("encoder");
  const labels = [[null, { name: "broad", evidence: 0.95 }]];
  await model.reply(0, { labels, entropies: { buffer: 0 } }, [floats(0.5, 0.25)]);
  const entry = store.entries.get("encoder");
  assert.deepEqual([entry.labels, entry.entropies.join()], [labels, "0.5,0.25"]);
  store.measure("encoder");
  assert.equal(model.sent.length, 1);
  store.close();
});

test("what is kept stays within its limit, whatever is looked at", async () => {
  const side = 32;
  const bytes = 4 * side * side;
  const { model, store, shown } = storeOf(large(0, [12, 12], side), { limit: 20 * bytes });
  const sent = new DataView(new ArrayBuffer(2 * side * side));
  model.send = ({ id }) =>
    queueMicrotask(() => {
      for (const listener of model.listeners) listener({ id, reply: { weights: { buffer: 0 } } }, [sent]);
    });
  let most = 0;
  for (let click = 0; click < 500; click++) {
    store.load();
    shown(click % 12, (7 * click) % 12);
    for (let turn = 0; turn < 4; turn++) await Promise.resolve();
    most = Math.max(most, store.bytes);
  }
  assert.ok(most <= 20 * bytes && most > 10 * bytes, `${most / bytes} heads`);
  store.close();
  assert.equal(model.listeners.size, 0);
});

test("the cache forgets what was not used for longest, and never what is on the screen", () => {
  const cache = createLruCache(12, (name) => name === "shown");
  for (const name of ["shown", "a", "b"]) cache.set(name, new Float32Array(1));
  cache.get("a");
  cache.set("c", new Float32Array(1));
  assert.deepEqual(["shown", "a", "b", "c"].map(cache.has), [true, true, false, true]);
  assert.equal(cache.bytes, 12);
  cache.set("c", new Float32Array(2)); // in place of the smaller one
  assert.deepEqual([cache.bytes, cache.has("a")], [12, false]);
});

test("heads are combined as they are seen, differences by their size; bits are read from the highest on", () => {
  const [one, other] = [Float32Array.of(0.5, -0.75), Float32Array.of(0.25, 0.5)];
  assert.equal(combine([one, other], "max").join(), "0.5,-0.75");
  assert.equal(combine([one, other], "mean").join(), "0.375,-0.125");
  assert.equal(combine([one, null], "mean"), null);
  const packed = new DataView(Uint8Array.of(0b10000001, 0b01000000).buffer);
  assert.equal(unpackBits(packed, 10).join(""), "1000000101");
});
