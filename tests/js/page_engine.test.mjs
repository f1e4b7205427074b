// The way from a view to the engine in its page, and on to the kernel where the engine cannot answer.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { canAsk, connectKernel, NEEDS_KERNEL } from "../../viz_transformer/widgets/base/kernel.ts";
import { engineBehind } from "../../viz_transformer/widgets/base/page_engine.ts";

const ENGINE = { lab: "a_lab", models: { "": "IPY_MODEL_7" }, context: { words: ["a"] } };
const pause = () => new Promise((done) => setTimeout(done, 5));

/** A view of a page whose widget 7 carries the model of digest "abc". */
function view(state = {}) {
  const traits = { engine: ENGINE, ...state };
  return {
    sent: [],
    get: (name) => traits[name],
    send(content) {
      this.sent.push(content);
    },
    on() {},
    off() {},
    widget_manager: {
      async get_model(id) {
        assert.equal(id, "7");
        return { get: (name) => ({ digest: "abc" })[name] };
      },
      async create_view() {},
    },
  };
}

/** Offer an engine as the script of a PageModel does. */
function offer(answer) {
  const engine = { textModel: () => "the model", answer };
  globalThis.vtEngines ??= new Map();
  const awaited = globalThis.vtEngines.get("abc");
  if (awaited) awaited.resolve(engine);
  else globalThis.vtEngines.set("abc", { promise: Promise.resolve(engine) });
}

/** Offer an engine that answers every request with an error. */
function offerError(message, name = "Error") {
  offer(() => {
    throw Object.assign(new Error(message), { name });
  });
}

beforeEach(() => {
  delete globalThis.vtEngines;
});

test("the engine answers, given the lab, the models, the request and the context", async () => {
  offer((...given) => ({ given }));
  const reply = await connectKernel(view()).ask({ n: 1 });
  assert.deepEqual(reply.given, ["a_lab", { "": "the model" }, { n: 1 }, { words: ["a"] }]);
});

test("a view that was drawn before the engine's script has run gets its answer", async () => {
  const asked = connectKernel(view()).ask({ n: 1 });
  await pause();
  offer((_lab, _models, request) => ({ n: request.n + 1 }));
  assert.deepEqual(await asked, { n: 2 });
});

test("what the user can mend comes as an error, and is not asked of the kernel", async () => {
  offerError("'dog' is unknown");
  const model = view({ live: true });
  await assert.rejects(connectKernel(model).ask({ n: 1 }), { message: "'dog' is unknown" });
  assert.deepEqual(model.sent, []);
});

test("an engine that has answered once answers at once, and drops what was asked before", async () => {
  const [told, late] = [[], []];
  offer((_lab, _models, { n }) => {
    if (n < 0) throw new Error("too small");
    return { n };
  });
  const kernel = connectKernel(view());
  /** @type {(answer: { reply?: any, error?: any }) => void} */
  const tell = ({ reply, error }) => told.push(error?.message ?? reply.n);
  const settle = (n) => kernel.settle({ n }, tell, () => late.push(n));
  assert.equal(settle(1), false); // its promise is still to be kept
  assert.deepEqual(told, []);
  await pause();
  assert.deepEqual([settle(2), settle(-1)], [true, true]);
  kernel.latest({ n: 3 }, ({ n }) => told.push(n));
  settle(4);
  await pause();
  assert.deepEqual([told, late], [[1, 2, "too small", 4], [1]]);
});

test("what needs Python is asked of the kernel", async () => {
  offerError("only Python knows", "NotInPage");
  const model = view({ live: true });
  const kernel = connectKernel(model);
  kernel.ask({ n: 1 });
  await pause();
  const tell = () => assert.fail("there was no answer");
  assert.equal(kernel.settle({ n: 2 }, tell, tell), false);
  await pause();
  assert.deepEqual(
    model.sent.map(({ ask }) => ask),
    [{ n: 1 }, { n: 2 }],
  );
});

test("or found among the replies that the page carries, or refused in one line", async () => {
  offerError("only Python knows", "NotInPage");
  const page = view({ live: true, answers: [[{ n: 1 }, { carried: true }]] });
  delete page.send;
  const kernel = connectKernel(page);
  assert.deepEqual(await kernel.ask({ n: 1 }), { carried: true });
  await assert.rejects(kernel.ask({ n: 2 }), { message: NEEDS_KERNEL });
});

test("a view has an engine behind it where one is carried and the host can run its script", () => {
  assert.equal(engineBehind(view({ engine: {} })), null);
  assert.equal(engineBehind(view({ engine: undefined })), null);
  const inMarimo = view();
  delete inMarimo.widget_manager.create_view;
  assert.equal(engineBehind(inMarimo), null);
  const askable = [view(), view({ engine: {}, live: true }), view({ engine: {}, live: false })].map(canAsk);
  assert.deepEqual(askable, [true, true, false]);
  assert.equal(canAsk({ get: (name) => ({ live: true })[name] }), false); // a page without an engine
});
