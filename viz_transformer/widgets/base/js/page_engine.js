// The engine behind a view: its model, computed in this page. Views know it only by this door.

/** What an engine throws when a question needs Python, as kernel.js then asks it. */
export const NOT_IN_PAGE = "NotInPage";

const ENGINE_WAIT_MS = 5000; // for the engine's script; after it the kernel is asked

/**
 * The engine of a model. A view may be drawn before the script of its engine has run, so whichever
 * comes first leaves a promise for the other.
 */
function engineOf(digest) {
  globalThis.vtEngines ??= new Map();
  const engines = globalThis.vtEngines;
  if (!engines.has(digest)) {
    const awaited = {};
    awaited.promise = new Promise((resolve) => {
      awaited.resolve = resolve;
    });
    engines.set(digest, awaited);
  }
  return engines.get(digest).promise;
}

/** A promise that fails in time, where the engine's script does not come. */
function soon(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error("the model of this page did not load");
      error.name = NOT_IN_PAGE;
      reject(error);
    }, ENGINE_WAIT_MS);
    timer.unref?.(); // in Node a test need not wait for it
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * A promise of the function that answers a view's requests in this page; null if there is none.
 *
 * @param {Pick<import("./kernel.js").Model, "get" | "widget_manager">} model
 * @returns {Promise<(request: any) => any> | null}
 */
export function engineBehind(model) {
  const { lab, models, context } = model.get("engine") ?? {};
  if (!lab) return null;
  if (!model.widget_manager.create_view) return null; // marimo runs a widget's script only where it is shown
  const named = Object.entries(models).map(async ([name, reference]) => {
    const carrier = await model.widget_manager.get_model(String(reference).replace("IPY_MODEL_", ""));
    return [name, await engineOf(carrier.get("digest"))];
  });
  return soon(Promise.all(named)).then((engines) => (request) => {
    const textModels = Object.fromEntries(engines.map(([name, engine]) => [name, engine.textModel()]));
    return engines[0][1].answer(lab, textModels, request, context);
  });
}
