// When a view draws, and when it gives its canvases back.

import assert from "node:assert/strict";
import { test } from "node:test";

import { addFrames } from "../../viz_transformer/widgets/base/frames.ts";

let frames, idle, observer, listeners, canvas, drawn, known, papers;

/** A queue of callbacks in place of the browser's; each returns the number that cancels it. */
function queue() {
  const waiting = new Map();
  let count = 0;
  return {
    add: (callback) => waiting.set(++count, callback) && count,
    cancel: (number) => waiting.delete(number),
    run() {
      const due = Array.from(waiting.values());
      waiting.clear();
      for (const callback of due) callback();
      return due.length;
    },
  };
}

/** What tells whether a view is in sight: when the test says so. */
class Observer {
  constructor(onChange) {
    this.see = (isIntersecting) => this.on && onChange([{ isIntersecting }]);
    observer = this;
  }
  observe() {
    this.on = true;
  }
  disconnect() {
    this.on = false;
  }
}

/** Put a browser's functions in place, and take them away after the test. */
function pretendBrowser(context) {
  [frames, idle, listeners, drawn] = [queue(), queue(), new Map(), 0];
  canvas = { width: 0, height: 0 };
  const browser = {
    requestAnimationFrame: frames.add,
    cancelAnimationFrame: frames.cancel,
    requestIdleCallback: idle.add,
    cancelIdleCallback: idle.cancel,
    addEventListener: (type, listener) => listeners.set(type, listener),
    removeEventListener: (type) => listeners.delete(type),
    IntersectionObserver: Observer,
  };
  const before = Object.keys(browser).map((name) => [name, globalThis[name]]);
  Object.assign(globalThis, browser);
  context.after(() => Object.assign(globalThis, Object.fromEntries(before)));
}

/** The frames of a view with one canvas of 30 by 20 pixels, which is drawn only if that is not `known`. */
function view(context) {
  pretendBrowser(context);
  const root = /** @type {any} */ ({ querySelectorAll: () => [canvas] });
  [known, papers] = [false, []];
  const draw = () => {
    drawn++;
    if (!known) [canvas.width, canvas.height] = [30, 20];
    known = true;
  };
  const onEmptied = () => {
    known = false;
  };
  return addFrames(root, draw, { onEmptied, onPrint: (printing) => papers.push(printing) });
}

test("in sight, a view draws once in a frame, and keeps its canvas", (context) => {
  const { request } = view(context);
  observer.see(true);
  for (let again = 0; again < 3; again++) request();
  assert.equal(idle.run(), 0);
  frames.run();
  assert.deepEqual([drawn, canvas], [1, { width: 30, height: 20 }]);
  assert.equal(frames.run(), 0);
});

test("out of sight, it draws when the page is idle, and keeps no pixels", (context) => {
  const { request } = view(context);
  request();
  observer.see(false);
  assert.equal(frames.run(), 0);
  idle.run();
  assert.deepEqual([drawn, canvas], [1, { width: 0, height: 0 }]);
});

test("it is drawn as it comes into sight, and gives its canvas back as it leaves", (context) => {
  const { request } = view(context);
  request();
  observer.see(true);
  assert.equal(idle.run(), 0); // it did not wait for idle time any more
  frames.run();
  observer.see(false);
  assert.equal(canvas.width, 30); // it may come back at once
  idle.run();
  assert.deepEqual([drawn, canvas], [1, { width: 0, height: 0 }]);
  observer.see(true);
  frames.run();
  assert.deepEqual([drawn, canvas], [2, { width: 30, height: 20 }]);
});

test("a view that comes back at once was never emptied, and is not drawn again", (context) => {
  view(context);
  observer.see(true);
  frames.run();
  observer.see(false);
  observer.see(true);
  assert.deepEqual([idle.run(), frames.run(), drawn, canvas.width], [0, 0, 1, 30]);
});

test("a printed page shows it wherever it stands, at once, and no more after", (context) => {
  view(context);
  observer.see(false);
  listeners.get("beforeprint")({ type: "beforeprint" });
  assert.deepEqual([drawn, canvas, papers], [1, { width: 30, height: 20 }, [true]]);
  listeners.get("afterprint")({ type: "afterprint" });
  observer.see(false);
  idle.run();
  assert.deepEqual([canvas, papers], [{ width: 0, height: 0 }, [true, false]]);
});

test("closed, it listens to nothing and draws no more", (context) => {
  const { request, close } = view(context);
  request();
  close();
  assert.deepEqual([idle.run(), frames.run(), listeners.size, observer.on], [0, 0, 0, false]);
});
