// A view inside another one: drawn by the widget manager of a notebook or an exported page, or by marimo.

import { element } from "./elements.ts";
import type { Model } from "./kernel.ts";

/** A widget that marimo draws. */
interface Drawn {
  render: (place: { el: HTMLElement; signal: AbortSignal }) => Promise<void>;
}

/** What draws the views of a notebook, or of an exported page. */
interface Manager {
  get_model: (id: string) => Promise<Model>;
  create_view: (model: Model) => Promise<{ el: HTMLElement; remove?: () => void }>;
}

/** Where a view stands, as its `render` is told. */
export interface Surroundings {
  model: Pick<Model, "get" | "widget_manager">;
  /** What marimo draws other widgets by: its manager finds them and draws none. */
  host?: { getWidget?: (reference: string) => Promise<Drawn> };
}

/**
 * Draw the view that a trait refers to into `place`.
 *
 * `opened` is a promise of its model, which fails where the view is not to be found; `close()` removes
 * the view again.
 *
 * @param reference the trait's value
 * @param prepare called before it is drawn
 */
export function addChildView(
  { model, host }: Surroundings,
  reference: string,
  place: HTMLElement,
  prepare: (inner: Model) => void = (_) => {},
) {
  const [manager, id] = [model.widget_manager, String(reference).replace("IPY_MODEL_", "")];
  let [remove, closed] = [() => {}, false];

  async function open() {
    const inner = await manager.get_model(id);
    prepare(inner);
    remove = await (manager.create_view ? drawByManager(manager, inner, place) : drawByHost(host, id, place));
    if (closed) remove();
    return inner;
  }

  function close() {
    closed = true;
    remove();
  }

  return { opened: open(), close };
}

async function drawByManager(manager: Manager, inner: Model, place: HTMLElement) {
  const view = await manager.create_view(inner);
  place.append(view.el);
  return () => view.remove?.();
}

async function drawByHost(host: Surroundings["host"], id: string, place: HTMLElement) {
  if (!host?.getWidget)
    throw new Error(
      "this notebook draws no view inside another; update it, or show each in a cell of its own",
    );
  const widget = await host.getWidget(`anywidget:${id}`);
  const [el, shown] = [element(place, "div"), new AbortController()]; // on the page first: then it gets its style
  await widget.render({ el, signal: shown.signal });
  return () => {
    shown.abort();
    el.remove();
  };
}
