// Requests to the function behind a view, whichever is nearest: the engine in this page, the replies
// that the page carries, or the notebook's kernel.

import { STOPPED, waitsOf } from "./waits.ts";
import { engineBehind, NOT_IN_PAGE } from "./page_engine.ts";

export const NEEDS_KERNEL = "This part needs the running notebook: run its cell, and try again.";

/** A request, a reply or a trait, of the form that its view knows. */
// biome-ignore lint/suspicious/noExplicitAny: each view has its own
type Some = any;
type Request = object;

/** JSON with sorted names: equal requests have one text, whatever the order of their names. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const known = Object.entries(value).filter(([, item]) => item !== undefined);
  known.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${known.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`).join(",")}}`;
}

/** A reply with its bytes back in their places. */
export function joinBytes(value: Some, buffers: readonly DataView[]): Some {
  if (Array.isArray(value)) return value.map((item) => joinBytes(item, buffers));
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (typeof value.buffer === "number") return buffers[value.buffer];
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, joinBytes(item, buffers)]));
}

/** Of anywidget: the traits, and messages to and from Python. */
export interface Model {
  get: (trait: string) => Some;
  set: (trait: string, value: unknown) => void;
  save_changes: () => void;
  /** Absent in an exported page. */
  send?: (content: unknown) => void;
  on: (event: string, listener: (...values: Some[]) => void) => void;
  off: (event: string, listener: (...values: Some[]) => void) => void;
  widget_manager?: Some;
}
type Asked = Pick<Model, "get" | "send" | "on" | "off" | "widget_manager">;
type Answer = { reply?: Some; error?: Some };

/** Whether a view can be asked what nobody asked before: by an engine in the page, or by a kernel. */
export function canAsk(model: Pick<Model, "get" | "send">) {
  return Boolean(model.get("engine")?.lab || (model.get("live") && model.send));
}

/** A function that finds the reply that a page carries, if it does; a tour adds to them. */
function repliesOf(model: Pick<Model, "get">) {
  type Pair = [Request, Some];
  let answers: Pair[] | null = null;
  let carried = new Map<string, Pair>();
  return (request: Request) => {
    const newest: Pair[] = model.get("answers") ?? [];
    if (newest !== answers)
      [answers, carried] = [newest, new Map(newest.map((pair) => [canonicalJson(pair[0]), pair]))];
    return carried.get(canonicalJson(request))?.[1]; // of a page, read no sooner than it is needed
  };
}

/** Messages to the kernel and back: {send(request, part), close()}; `send` is a promise of the reply. */
function openMessages(model: Asked) {
  interface Pending {
    request: Request;
    resolve: (reply: Some) => void;
    reject: (error: Error) => void;
  }
  const [pending, waits] = [new Map<string, Pending>(), waitsOf(model)];
  const session = Math.random().toString(36).slice(2); // a model may be shown twice, each with its own
  let [count, restarted] = [0, false];

  function onMessage(content: Some, buffers: readonly DataView[]) {
    if (!pending.has(content?.id)) return;
    if (content.words !== undefined) return waits.hear(content.id, content.words);
    const { resolve, reject } = forget(content.id);
    if (content.error === undefined) resolve(joinBytes(content.reply, buffers));
    else reject(new Error(content.error));
  }

  function forget(id: string) {
    const settle = pending.get(id) as Pending;
    waits.end(id);
    pending.delete(id);
    return settle;
  }

  /** Let go of an answer. The kernel need not find it any more, if it hears of that in time. */
  function stop(id: string) {
    forget(id).reject(new Error(STOPPED));
    try {
      model.send?.({ stop: id });
    } catch {} // it is no longer there
  }

  function post(id: string, request: Request) {
    try {
      if (restarted) throw new Error("its kernel has no such view");
      model.send?.({ id, ask: request });
    } catch {
      forget(id).reject(new Error(NEEDS_KERNEL)); // a notebook opened without its kernel
    }
  }

  /** Ask again: while the connection was cut, the reply may have gone elsewhere. The first one counts. */
  function postAgain() {
    for (const [id, { request }] of Array.from(pending)) post(id, request);
  }

  function onReconnected() {
    if (opening) opening = false;
    else postAgain();
  }

  function onRestart() {
    restarted = true;
    postAgain();
  }

  function send(request: Request, part: string): Promise<Some> {
    if (!model.get("live") || !model.send) return Promise.reject(new Error(NEEDS_KERNEL));
    return new Promise((resolve, reject) => {
      const id = `${session}-${count++}`;
      pending.set(id, { request, resolve, reject });
      waits.begin(id, () => stop(id), part); // a notebook reopened without its kernel never answers
      post(id, request);
    });
  }

  const manager = model.widget_manager;
  const reconnected = manager?.restored; // a signal of JupyterLab's; others have none
  let opening = manager?.restoredStatus === false; // then it comes first when the notebook has opened
  model.on("msg:custom", onMessage);
  model.on("comm_live_update", onRestart);
  reconnected?.connect?.(onReconnected);

  function close() {
    model.off("msg:custom", onMessage);
    model.off("comm_live_update", onRestart);
    reconnected?.disconnect?.(onReconnected);
    for (const id of Array.from(pending.keys())) forget(id);
  }
  return { send, close };
}

/** Requests of which only the newest matters: {latest, forget()}; one is under way, and one waits. */
export function newestOf(ask: (request: Request, part: string) => Promise<Some>) {
  interface Wanted {
    request: Request;
    onReply: (reply: Some) => void;
    onError: (error: Some) => void;
    part: string;
  }
  let busy = false;
  let next: Wanted | null = null;
  let newest: Wanted | null = null;
  /** `part` is what is said while it is waited for, if it is one of several parts. */
  function latest(
    request: Request,
    onReply: (reply: Some) => void,
    onError: (error: Some) => void = () => {},
    part = "",
  ) {
    next = newest = { request, onReply, onError, part };
    if (!busy) sendNext();
  }
  function sendNext() {
    const mine = next as Wanted;
    [busy, next] = [true, null];
    const settle = (of: Wanted, callback: (value: Some) => void) => (value: Some) => {
      busy = false;
      if (next) sendNext();
      else if (newest === of) callback(value); // else this reply is no longer wanted
    };
    const onFailure = (error: Error) => {
      const of = error.message === STOPPED && next ? next : mine; // who stops one means those behind it too
      if (of !== mine) next = null;
      settle(of, of.onError)(error);
    };
    ask(mine.request, mine.part).then(settle(mine, mine.onReply), onFailure);
  }
  return {
    latest,
    forget() {
      next = newest = null;
    },
  };
}

/** Do a part of a work once the page has drawn, and heard what the viewer does: that may stop it. */
function inPause(model: Asked, part: string, work: () => Some): Promise<Some> {
  const [id, waits] = [{}, waitsOf(model)];
  const pause = new Promise<void>((resolve, reject) => {
    waits.begin(id, () => reject(new Error(STOPPED)), part);
    setTimeout(resolve);
  });
  return pause.then(work).finally(() => waits.end(id));
}

/**
 * Connect to the function behind a view's model.
 *
 * `ask(request)` is a promise of the reply. `latest(request, onReply, onError)` keeps one request
 * under way and one waiting, the newest: thirty fast clicks ask for the first and the last. All
 * take words that are said while an answer takes long, if it is one part of several of a work; the view's frame
 * says so (`waits.ts`), and what the viewer stops fails with STOPPED. `settle(request, keep, onLate)` does as
 * `latest`, and gives `keep` a `{reply}` or an `{error}`: before it returns, and then it returns true, if an
 * engine in this page has answered before, so that the answer is drawn in the frame that asks; else later,
 * and then it calls `onLate()`.
 */
export function connectKernel(model: Asked) {
  const [carriedReply, messages] = [repliesOf(model), openMessages(model)];
  type Answers = (request: Request) => Some;
  let behind: object | null = null;
  let engine: Promise<Answers> | null = null;
  let answerHere: Answers | null = null;

  function findEngine() {
    if (model.get("engine") === behind) return;
    [behind, engine, answerHere] = [model.get("engine"), engineBehind(model), null];
  }

  function ask(request: Request, part = ""): Promise<Some> {
    findEngine();
    if (!engine) return askBeyond(request, part);
    const asked = engine;
    return asked
      .then((answer) => {
        if (asked === engine) answerHere = answer;
        return part ? inPause(model, part, () => answer(request)) : answer(request);
      })
      .catch((error) => {
        if (error.name === NOT_IN_PAGE) return askBeyond(request, part);
        throw error;
      });
  }

  /** Ask what this page carries, or the kernel. */
  function askBeyond(request: Request, part: string): Promise<Some> {
    const known = carriedReply(request);
    if (!known) return messages.send(request, part);
    return Promise.resolve(known).then((reply: Some) => {
      if (reply.error !== undefined) throw new Error(reply.error);
      return reply;
    });
  }

  const { latest, forget } = newestOf(ask);

  /** What an engine in this page that has answered before answers at once; else null. */
  function answerNow(request: Request, part?: string): Answer | null {
    findEngine();
    if (!answerHere || part) return null;
    try {
      return { reply: answerHere(request) };
    } catch (error) {
      return (error as Error).name === NOT_IN_PAGE ? null : { error };
    }
  }

  function settle(request: Request, keep: (answer: Answer) => void, onLate: () => void, part?: string) {
    const here = answerNow(request, part);
    if (here) {
      forget(); // whatever was asked before
      keep(here);
      return true;
    }
    const keepLate = (answer: Answer) => {
      keep(answer);
      onLate();
    };
    latest(
      request,
      (reply) => keepLate({ reply }),
      (error) => keepLate({ error }),
      part,
    );
    return false;
  }

  return {
    ask,
    latest,
    settle,
    close() {
      messages.close();
      forget();
    },
  };
}
