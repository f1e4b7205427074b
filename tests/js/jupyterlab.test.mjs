// The keys that run a cell, handed over by a view; what has the focus is pretended.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forwardCellKeys, runsCell } from "../../viz_transformer/widgets/base/jupyterlab.ts";

/** A view in a cell, a page that has the focus, and the one observer that was made. */
function pretend(context, { inCell = true } = {}) {
  const page = { body: {}, activeElement: null };
  const cell = Object.assign(new EventTarget(), {
    focus: () => {
      page.activeElement = cell;
    },
  });
  const root = new EventTarget();
  const node = { style: {}, closest: (selector) => (selector === ".jp-Cell" && inCell ? cell : null) };
  const seen = {};
  const made = {
    document: page,
    KeyboardEvent: class extends Event {
      constructor(type, init) {
        super(type, { bubbles: init.bubbles, cancelable: init.cancelable });
        Object.assign(this, { key: init.key, shiftKey: init.shiftKey });
      }
    },
    MutationObserver: class {
      constructor(hear) {
        seen.changed = () => hear([{ target: seen.node }]);
      }
      observe(observed) {
        seen.node = observed;
      }
      disconnect() {
        seen.node = null;
      }
    },
  };
  for (const [name, value] of Object.entries(made)) {
    const before = globalThis[name];
    globalThis[name] = value;
    context.after(() => {
      globalThis[name] = before;
    });
  }
  function send(type, init = {}) {
    const event = Object.assign(new Event(type, { bubbles: true, cancelable: true }), init);
    Object.defineProperty(event, "target", { value: node });
    root.dispatchEvent(event);
    return event;
  }
  return { page, cell, root, node, send, seen };
}

test("Enter runs a cell with a modifier only, and never while a character is composed", () => {
  for (const name of ["shiftKey", "ctrlKey", "altKey", "metaKey"])
    assert.ok(runsCell({ key: "Enter", [name]: true }), name);
  assert.ok(!runsCell({ key: "Enter" }));
  assert.ok(!runsCell({ key: "ArrowDown", shiftKey: true }));
  assert.ok(!runsCell({ key: "Enter", shiftKey: true, isComposing: true }));
});

test("Shift+Enter goes to the cell, which has the focus then; an arrow key stays", (context) => {
  const { page, cell, root, send } = pretend(context);
  const heard = [];
  cell.addEventListener("keydown", (/** @type {any} */ { key, shiftKey }) => {
    heard.push([key, shiftKey, page.activeElement === cell]);
  });
  const stop = forwardCellKeys(root);
  assert.equal(send("keydown", { key: "ArrowDown" }).defaultPrevented, false);
  assert.deepEqual([heard, page.activeElement], [[], null]);
  assert.equal(send("keydown", { key: "Enter", shiftKey: true }).defaultPrevented, true);
  assert.deepEqual(heard, [["Enter", true, true]]);
  stop();
  send("keydown", { key: "Enter", shiftKey: true });
  assert.equal(heard.length, 1);
});

test("in a page without cells, and outside of what counts, the key is left alone", (context) => {
  const outside = pretend(context, { inCell: false });
  forwardCellKeys(outside.root);
  assert.equal(outside.send("keydown", { key: "Enter", shiftKey: true }).defaultPrevented, false);
  const other = pretend(context);
  forwardCellKeys(other.root, () => false);
  assert.equal(other.send("keydown", { key: "Enter", shiftKey: true }).defaultPrevented, false);
  assert.equal(other.page.activeElement, null);
});

test("the cell gets the focus of a control that is disabled or hidden, unless another has it", (context) => {
  const { page, cell, root, node, send, seen } = pretend(context);
  forwardCellKeys(root);
  send("focusin");
  page.activeElement = node;
  seen.changed(); // of style, say
  assert.equal(page.activeElement, node);
  node.disabled = true;
  seen.changed();
  assert.equal(page.activeElement, cell);
  Object.assign(node, { disabled: false, style: { display: "none" } });
  page.activeElement = page.body; // a browser may have let go of it already
  seen.changed();
  assert.equal(page.activeElement, cell);
  const other = {};
  page.activeElement = other;
  seen.changed();
  assert.equal(page.activeElement, other);
});
