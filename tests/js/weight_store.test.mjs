// The explorer's store of weights: what is here, what is fetched, what is evicted.

import assert from "node:assert/strict";
import { test } from "node:test";

import { combine, unpackBits, WeightStore } from "../../viz_transformer/widgets/explorer/weight_store.js";
import { createLruCache } from "../../viz_transformer/widgets/explorer/caches.js";
import { halfTable } from "../../viz_transformer/widgets/base/js/weights.js";

const tick = () => new Promise((done) => setTimeout(done, 0));
const floats = (values) => new DataView(Float32Array.from(values).buffer);

/** The bits of halves; the values must be ones that a half can hold. */
function halves(values) {
  const table = halfTable();
  return new DataView(Uint16Array.from(values, (value) => table.indexOf(value)).buffer);
}

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
    async reply(content, reply, buffers = []) {
      for (const listener of listeners) listener({ id: content.id, ...reply }, buffers);
      await tick();
    },
  };
}

const words = { queries: ["a", "b"], keys: ["a", "b"], reads: null, noRollout: "" };
const small = {
  version: 0,
  traces: [
    {
      sourceTokens: ["a", "b"],
      targetTokens: [],
      outputTokens: null,
      sourceWords: null,
      targetWords: null,
      attention: {
        encoder: { shape: [1, 2, 2, 2], weights: floats([1, 0, 0.25, 0.75, 0.5, 0, 0.125, 0.875]) },
      },
    },
  ],
};
function large(version = 0, [layers, heads] = [3, 4]) {
  return {
    version,
    kinds: [
      {
        ...words,
        kind: "encoder",
        shape: [layers, heads, 2, 2],
        dtype: "float16",
        overview: { rows: 1, cols: 1, values: new DataView(new ArrayBuffer(layers * heads)) },
        first: { layer: 0, head: 0, weights: halves([1, 0, 0.5, 0.5]) },
      },
    ],
  };
}
const asks = (model) => model.sent.map(({ ask }) => ask.head ?? ask);
const answer = (model, index, values) =>
  model.reply(model.sent[index], { reply: { weights: { buffer: 0 } } }, [halves(values)]);

test("a small trace is here at once, exactly, with nobody to ask", async () => {
  const model = fakeModel(small, false);
  const store = new WeightStore(model, () => assert.fail("nothing is to come"));
  assert.deepEqual(Array.from(store.matrix("encoder", 0, 1)), [0.5, 0, 0.125, 0.875]);
  assert.deepEqual(
    Array.from(
      store.aggregate(
        "encoder",
        [
          [0, 0],
          [0, 1],
        ],
        "mean",
      ),
    ),
    [0.75, 0, 0.1875, 0.8125],
  );
  assert.deepEqual(Array.from(store.rollout("encoder", 0)), [1, 0, 0.09375, 0.90625]);
  assert.deepEqual(Array.from(store.overview("encoder").values.subarray(0, 4)), [255, 0, 64, 191]);
  assert.deepEqual(Array.from(store.entries.get("encoder").masked), [0, 1, 0, 0]);
  assert.equal(await store.exact("encoder", 0, 0, 1, 1), 0.75);
  assert.deepEqual([model.sent, store.problem, store.pending], [[], "", false]);
});

test("the same trace, sent back by Python's echo, changes nothing", () => {
  const model = fakeModel(small, false);
  const store = new WeightStore(model, () => {});
  const entry = store.entries.get("encoder");
  model.state.data = { ...small };
  assert.equal(store.load(), false);
  assert.equal(store.entries.get("encoder"), entry);
  model.state.data = { ...small, version: 1 };
  assert.equal(store.load(), true);
});

test("of a large trace a head comes when it is looked at", async () => {
  const model = fakeModel(large());
  let changes = 0;
  const store = new WeightStore(model, () => {
    changes += 1;
  });
  assert.deepEqual(Array.from(store.matrix("encoder", 0, 0)), [1, 0, 0.5, 0.5], "the first is here");
  assert.equal(store.matrix("encoder", 2, 3), null);
  assert.equal(store.pending, true);
  assert.deepEqual(asks(model), [["encoder", 2, 3]]);
  assert.equal(store.matrix("encoder", 2, 3), null);
  assert.equal(model.sent.length, 1, "it is requested once");
  await answer(model, 0, [0.25, 0.75, 0, 1]);
  assert.equal(changes, 1);
  assert.deepEqual(Array.from(store.matrix("encoder", 2, 3)), [0.25, 0.75, 0, 1]);
  assert.equal(store.pending, false);
  store.close();
});

test("the heads beside the one that is looked at come with one question, and are then here", async () => {
  const model = fakeModel(large());
  const store = new WeightStore(model, () => {});
  store.matrix("encoder", 1, 1);
  await answer(model, 0, [0.25, 0.75, 0, 1]);
  await new Promise((done) => setTimeout(done, 80)); // when nothing else is to be done
  const beside = [
    [1, 2],
    [2, 1],
    [1, 0],
    [0, 1],
  ];
  assert.deepEqual(
    model.sent.slice(1).map(({ ask }) => ask),
    [{ heads: ["encoder", beside], version: 0 }],
  );
  const bytes = beside.map(([layer, head]) => halves([layer / 4, 0, 0, head / 4]));
  await model.reply(model.sent[1], { reply: { weights: beside.map((_, buffer) => ({ buffer })) } }, bytes);
  store.load();
  for (const [layer, head] of beside) {
    assert.deepEqual(Array.from(store.matrix("encoder", layer, head)), [layer / 4, 0, 0, head / 4]);
  }
  assert.equal(model.sent.length, 2);
  store.close();
});

test("thirty fast clicks end on the last, and ask for few of the others", async () => {
  const model = fakeModel(large(0, [5, 6]));
  const store = new WeightStore(model, () => {});
  const click = (head) => {
    store.load();
    return store.matrix("encoder", Math.floor(head / 6), head % 6);
  };
  for (let head = 1; head < 30; head++) click(head);
  assert.ok(model.sent.length <= 3);
  for (let index = 0; index < model.sent.length; index++) await answer(model, index, [1, 0, 0.5, 0.5]);
  assert.deepEqual(asks(model)[3], ["encoder", 4, 5], "after those under way, the last");
  assert.notEqual(click(29), null);
  store.close();
});

test("a reply that was meant for another trace is not shown with the new one's words", async () => {
  const model = fakeModel(large(0));
  const store = new WeightStore(model, () => {});
  store.matrix("encoder", 1, 1);
  model.state.data = large(1);
  assert.equal(store.load(), true);
  await answer(model, 0, [1, 0, 1, 0]); // of version 0, late
  assert.equal(store.matrix("encoder", 1, 1), null);
  assert.equal(model.sent.at(-1).ask.version, 1);
  await answer(model, 1, [0, 1, 0, 1]);
  assert.deepEqual(Array.from(store.matrix("encoder", 1, 1)), [0, 1, 0, 1]);
  store.close();
});

test("a kernel that is ahead of the page is not asked again and again", async () => {
  const model = fakeModel(large(0));
  const store = new WeightStore(model, () => assert.fail("there is nothing new to draw"));
  store.matrix("encoder", 1, 1);
  await model.reply(model.sent[0], { reply: { stale: true } });
  assert.equal(store.matrix("encoder", 1, 1), null);
  assert.deepEqual([model.sent.length, store.problem], [1, ""]);
  store.close();
});

test("without a kernel it says so, and asks again when the head is looked at again", async () => {
  const model = fakeModel(large(), false);
  let changes = 0;
  const store = new WeightStore(model, () => {
    changes += 1;
  });
  store.matrix("encoder", 1, 1);
  await tick();
  assert.equal(changes, 1);
  store.load();
  assert.equal(store.matrix("encoder", 1, 1), null);
  assert.match(store.problem, /running notebook/);
  store.load();
  assert.notEqual(store.matrix("encoder", 0, 0), null);
  assert.equal(store.problem, "");
  model.state.live = true;
  store.load();
  store.matrix("encoder", 1, 1);
  assert.equal(model.sent.length, 1);
  store.close();
});

test("several heads come as one from the kernel, and from its heads in an exported page", async () => {
  const heads = [
    [0, 0],
    [1, 1],
  ];
  const model = fakeModel(large());
  const store = new WeightStore(model, () => {});
  assert.equal(store.aggregate("encoder", heads, "mean"), null);
  assert.deepEqual(model.sent[0].ask, { aggregate: ["encoder", "mean", heads], version: 0 });
  await answer(model, 0, [0.5, 0.5, 0.25, 0.75]);
  assert.deepEqual(Array.from(store.aggregate("encoder", heads, "mean")), [0.5, 0.5, 0.25, 0.75]);
  store.close();

  const page = fakeModel(large());
  page.state.answers = [[{ head: ["encoder", 1, 1], version: 0 }, { weights: halves([0, 1, 0, 1]) }]];
  delete page.send;
  const exported = new WeightStore(page, () => {});
  for (let draw = 0; draw < 3; draw++) {
    exported.load();
    exported.aggregate("encoder", heads, "max");
    await tick();
  }
  exported.load();
  assert.deepEqual(Array.from(exported.aggregate("encoder", heads, "max")), [1, 1, 0.5, 1]);
  assert.equal(exported.problem, "");
});

test("a weight is exact where a kernel lives, and refused where none does", async () => {
  const model = fakeModel(large());
  const store = new WeightStore(model, () => {});
  const [older, newer] = [store.exact("encoder", 0, 0, 0, 0), store.exact("encoder", 0, 0, 1, 1)];
  await assert.rejects(older, /another weight/);
  await model.reply(model.sent[0], { reply: { value: 0.99999 } });
  await model.reply(model.sent[1], { reply: { value: 0.49999988 } });
  assert.equal(await newer, 0.49999988);
  model.state.live = false;
  await assert.rejects(store.exact("encoder", 0, 0, 1, 1), /running notebook/);
  store.close();
});

test("an exact weight that comes late is told", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const model = fakeModel(large());
  const store = new WeightStore(model, () => {});
  const weight = store.exact("encoder", 0, 0, 1, 1);
  context.mock.timers.tick(60_000);
  model.reply(model.sent[0], { reply: { value: 0.25 } });
  assert.equal(await weight, 0.25);
  store.close();
});

test("an exact weight is not taken for that of the next trace", async () => {
  const model = fakeModel(large(0));
  const store = new WeightStore(model, () => {});
  const weight = () => store.exactIfHere("encoder", 0, 0, 1, 1);
  assert.equal(weight(), null);
  model.reply(model.sent[0], { reply: { value: 0.25 } });
  await tick();
  assert.equal(weight(), 0.25);
  model.state.data = large(1);
  store.load();
  assert.equal(weight(), null);
  store.close();
});

test("labels and entropies of a large trace come on request", async () => {
  const model = fakeModel(large(0, [1, 2]));
  const store = new WeightStore(model, () => {});
  assert.equal(store.entries.get("encoder").entropies ?? null, null);
  store.measure("encoder");
  const labels = [[null, { name: "broad", evidence: 0.95 }]];
  await model.reply(model.sent[0], { reply: { labels, entropies: { buffer: 0 } } }, [floats([0.5, 0.25])]);
  const entry = store.entries.get("encoder");
  assert.deepEqual([entry.labels, Array.from(entry.entropies)], [labels, [0.5, 0.25]]);
  store.measure("encoder");
  assert.equal(model.sent.length, 1);
  store.close();
});

test("what is kept stays within its limit, whatever is looked at", async () => {
  const [layers, heads, side] = [12, 12, 32];
  const bytes = 4 * side * side;
  const data = large(0, [layers, heads]);
  data.kinds[0].shape = [layers, heads, side, side];
  data.kinds[0].first.weights = new DataView(new ArrayBuffer(2 * side * side));
  const model = fakeModel(data);
  model.send = ({ id }) =>
    queueMicrotask(() => {
      for (const listener of model.listeners)
        listener({ id, reply: { weights: { buffer: 0 } } }, [new DataView(new ArrayBuffer(2 * side * side))]);
    });
  const store = new WeightStore(model, () => {}, 20 * bytes);
  let most = 0;
  for (let click = 0; click < 500; click++) {
    store.load();
    store.matrix("encoder", click % 12, (7 * click) % 12);
    await Promise.resolve()
      .then(() => {})
      .then(() => {})
      .then(() => {});
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

test("heads are combined as they are seen, differences by their size", () => {
  const [one, other] = [Float32Array.of(0.5, -0.75), Float32Array.of(0.25, 0.5)];
  assert.deepEqual(Array.from(combine([one, other], "max")), [0.5, -0.75]);
  assert.deepEqual(Array.from(combine([one, other], "mean")), [0.375, -0.125]);
  assert.equal(combine([one, null], "mean"), null);
});

test("bits are read from the highest on", () => {
  assert.deepEqual(
    Array.from(unpackBits(new DataView(Uint8Array.of(0b10000001, 0b01000000).buffer), 10)),
    [1, 0, 0, 0, 0, 0, 0, 1, 0, 1],
  );
});
