// A view inside another one: drawn by the widget manager of the notebook, or of an exported page.

/**
 * Draw the view that a trait of `model` refers to into `place`.
 *
 * `opened` is a promise of its model, which fails where the view is not to be found; `close()` removes
 * the view again.
 *
 * @param {Pick<import("./kernel.js").Model, "get" | "widget_manager">} model
 * @param {string} trait
 * @param {HTMLElement} place
 * @param {(inner: import("./kernel.js").Model) => void} prepare called before it is drawn
 */
export function addChildView(model, trait, place, prepare = (_) => {}) {
  let [view, closed] = [null, false];

  async function open() {
    const manager = model.widget_manager;
    const inner = await manager.get_model(String(model.get(trait)).replace("IPY_MODEL_", ""));
    prepare(inner);
    view = await manager.create_view(inner);
    if (closed) view.remove?.();
    else place.append(view.el);
    return inner;
  }

  function close() {
    closed = true;
    view?.remove?.();
  }

  return { opened: open(), close };
}
