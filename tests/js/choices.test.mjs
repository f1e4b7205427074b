// A choice in the page stays until it is sent to Python, and is sent once, after the frame that shows it.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { pageModel } from "../../viz_transformer/export/page.ts";
import { addChoices } from "../../viz_transformer/widgets/base/choices.ts";

test("the echo of an earlier choice does not set a later one back", (context) => {
  const frames = [];
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const document = Object.assign(new EventTarget(), { hidden: false });
  Object.assign(globalThis, { document, requestAnimationFrame: (draw) => frames.push(draw) });
  const model = { ...pageModel({ step: 0, picked: [] }), save_changes: mock.fn() };
  const choices = addChoices(model);
  const sent = () => {
    for (const draw of frames.splice(0)) draw();
    context.mock.timers.tick(0);
    return model.save_changes.mock.callCount();
  };

  for (const step of [6, 7]) choices.set({ step });
  assert.equal(sent(), 1, "one frame's choices go together");
  choices.set({ step: 26, picked: [3] });
  model.set("step", 7);
  model.set("picked", [1]);
  assert.deepEqual([model.get("step"), model.get("picked")], [26, [3]]);
  assert.equal(sent(), 2);
  model.set("step", 7); // another page's, or Python's
  assert.deepEqual([model.get("step"), sent()], [7, 2]);

  const other = addChoices(model); // of the same model, as in two cells
  choices.set({ step: 3 });
  other.set({ step: 4 });
  assert.deepEqual([model.get("step"), model.save_changes.mock.callCount()], [4, 3], "the later choice wins");
  assert.equal(sent(), 4);
  other.close();

  choices.set({ step: 8 });
  document.hidden = true;
  document.dispatchEvent(new Event("visibilitychange"));
  assert.equal(model.save_changes.mock.callCount(), 5, "a hidden page draws no frames");
  choices.set({ step: 9 });
  assert.equal(model.save_changes.mock.callCount(), 6);
  choices.close();
  document.dispatchEvent(new Event("visibilitychange"));
  assert.equal(sent(), 6);
});
