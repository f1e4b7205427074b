// The engine behind a view: its model, computed in this page. Views know it only by this door.

import type { Model } from "./kernel.ts";

/** What a PageModel leaves for the views: see engine/engine.ts. */
interface Engine {
  textModel: () => unknown;
  answer: (lab: string, models: Record<string, unknown>, request: unknown, context: unknown) => unknown;
}

declare global {
  /** The engines by the digests of their models; `resolve` where a view waits for one. */
  var vtEngines: Map<string, { promise: Promise<Engine>; resolve?: (engine: Engine) => void }> | undefined;
}

/** What an engine throws when a question needs Python, as kernel.js then asks it. */
export const NOT_IN_PAGE = "NotInPage";

const ENGINE_WAIT_MS = 5000; // for the engine's script; after it the kernel is asked

/**
 * The engine of a model. A view may be drawn before the script of its engine has run, so whichever
 * comes first leaves a promise for the other.
 */
function engineOf(digest: string): Promise<Engine> {
  globalThis.vtEngines ??= new Map();
  let awaited = globalThis.vtEngines.get(digest);
  if (!awaited) {
    let resolve: ((engine: Engine) => void) | undefined;
    const promise = new Promise<Engine>((done) => {
      resolve = done;
    });
    awaited = { promise, resolve };
    globalThis.vtEngines.set(digest, awaited);
  }
  return awaited.promise;
}

/** A promise that fails in time, where the engine's script does not come. */
function soon<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error("the model of this page did not load");
      error.name = NOT_IN_PAGE;
      reject(error);
    }, ENGINE_WAIT_MS);
    (timer as { unref?: () => void }).unref?.(); // in Node a test need not wait for it
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A promise of the function that answers a view's requests in this page; null if there is none. */
export function engineBehind(
  model: Pick<Model, "get" | "widget_manager">,
): Promise<(request: unknown) => unknown> | null {
  const { lab, models, context } = model.get("engine") ?? {};
  if (!lab) return null;
  if (!model.widget_manager.create_view) return null; // marimo runs a widget's script only where it is shown
  const named = Object.entries(models).map(async ([name, reference]): Promise<[string, Engine]> => {
    const carrier = await model.widget_manager.get_model(String(reference).replace("IPY_MODEL_", ""));
    return [name, await engineOf(carrier.get("digest"))];
  });
  return soon(Promise.all(named)).then((engines) => (request: unknown) => {
    const textModels = Object.fromEntries(engines.map(([name, engine]) => [name, engine.textModel()]));
    return engines[0][1].answer(lab, textModels, request, context);
  });
}
