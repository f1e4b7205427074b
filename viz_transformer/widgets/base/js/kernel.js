// Asking the function behind a view: in a notebook the kernel, in an exported page the replies
// that the page carries.

const PATIENCE_MS = 5000; // after this long without a reply the viewer is told

export const NO_ANSWER =
  "The notebook's kernel does not answer yet: it is busy, or not running. If it is not, run this view's cell again.";
export const NEEDS_KERNEL = "This part needs the running notebook: run its cell, and try again.";

/** One text for equal requests, whatever the order of their names. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const names = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

/** A reply with its bytes back in their places. */
export function joinBytes(value, buffers) {
  if (Array.isArray(value)) return value.map((item) => joinBytes(item, buffers));
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (typeof value.buffer === "number") return buffers[value.buffer];
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, joinBytes(item, buffers)]));
}

/**
 * The door to the function behind a view's model.
 *
 * `ask(request)` is a promise of the reply. `latest(request, onReply, onError)` keeps one question
 * under way and one waiting, the newest: thirty fast clicks ask for the first and the last. Both
 * take an `onWait()`, called when a reply takes long; the reply still counts when it comes. Without
 * one, `latest` gives a sentence that says so to `onError`.
 */
export function openKernel(model) {
  const waiting = new Map();
  let [answers, carried] = [null, new Map()];
  const mine = Math.random().toString(36).slice(2); // a model may be shown twice, each with its own
  let count = 0;

  function hear(content, buffers) {
    const settle = waiting.get(content?.id);
    if (!settle) return;
    forget(content.id);
    if (content.error === undefined) settle.resolve(joinBytes(content.reply, buffers));
    else settle.reject(new Error(content.error));
  }
  model.on("msg:custom", hear);

  function forget(id) {
    clearTimeout(waiting.get(id).silence);
    waiting.delete(id);
  }

  /** The reply that the page carries, if it does; a tour adds to them. */
  function carriedReply(request) {
    const now = model.get("answers") ?? [];
    if (now !== answers)
      [answers, carried] = [now, new Map(now.map(([asked, reply]) => [canonical(asked), reply]))];
    return carried.get(canonical(request));
  }

  function ask(request, onWait = () => {}) {
    const known = carriedReply(request);
    if (known)
      return known.error === undefined ? Promise.resolve(known) : Promise.reject(new Error(known.error));
    if (!model.get("live") || !model.send) return Promise.reject(new Error(NEEDS_KERNEL));
    return new Promise((resolve, reject) => {
      const id = `${mine}-${count++}`;
      // A notebook opened again without its kernel takes questions, and nobody is there to answer.
      const silence = setTimeout(onWait, PATIENCE_MS);
      silence.unref?.(); // in Node a test need not wait for it
      waiting.set(id, { resolve, reject, silence });
      try {
        model.send({ id, ask: request });
      } catch {
        forget(id);
        reject(new Error(NEEDS_KERNEL)); // a notebook opened without its kernel has nobody to ask
      }
    });
  }

  let [busy, late, next] = [false, false, null]; // one question under way, one waiting
  function latest(request, onReply, onError = () => {}, onWait = () => onError(new Error(NO_ANSWER))) {
    next = { request, onReply, onError, onWait };
    if (!busy) go();
    else if (late) onWait();
  }
  function go() {
    const { request, onReply, onError, onWait } = next;
    [busy, late, next] = [true, false, null];
    const tellWait = () => {
      late = true;
      (next?.onWait ?? onWait)();
    };
    const done = (tell) => (value) => {
      busy = false;
      if (next)
        go(); // what was asked meanwhile is newer: this reply is no longer wanted
      else tell(value);
    };
    ask(request, tellWait).then(done(onReply), done(onError));
  }

  return {
    ask,
    latest,
    close() {
      model.off("msg:custom", hear);
      Array.from(waiting.keys()).forEach(forget);
      next = null;
    },
  };
}
