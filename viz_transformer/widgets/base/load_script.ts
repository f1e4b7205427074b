// The script of every view in a notebook: it draws with the script of the view's class, which the notebook
// holds once. An exported page has only that one.

import type { Model } from "./kernel.ts";

/** Where a view is drawn. */
interface Place {
  model: Model;
  el: HTMLElement;
}

interface Widget {
  render: (place: Place) => unknown;
}

declare global {
  /** The scripts of the classes, by the widget that holds them. */
  var vtLoaded: Map<string, ReturnType<typeof load>> | undefined;
}

/** A text that Python's zlib has compressed. */
function unpacked(bytes: BlobPart) {
  const unpacking = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(unpacking).text();
}

async function load(
  manager: Model["widget_manager"],
  id: string,
): Promise<{ widget: Widget; style: string }> {
  const shared = await manager.get_model(id);
  const [script, style] = await Promise.all(["script", "sheet"].map((name) => unpacked(shared.get(name))));
  const { default: widget } = await import(
    URL.createObjectURL(new Blob([script], { type: "text/javascript" }))
  );
  return { widget, style };
}

/** Add a style once to the page, or to the shadow tree that a view stands in. */
function addStyle(text: string, el: HTMLElement) {
  const root = el.getRootNode();
  const place = root instanceof ShadowRoot ? root : document.head;
  if (Array.from(place.querySelectorAll("style.vt-style")).some((each) => each.textContent === text)) return;
  const style = document.createElement("style");
  style.className = "vt-style";
  style.textContent = text;
  place.append(style);
}

async function render(place: Place) {
  const { model, el } = place;
  const id = model.get("_shared").replace("IPY_MODEL_", "");
  globalThis.vtLoaded ??= new Map();
  const loaded = globalThis.vtLoaded;
  if (!loaded.has(id)) loaded.set(id, load(model.widget_manager, id));
  const { widget, style } = await loaded.get(id)!.catch((error) => {
    loaded.delete(id); // it may be there the next time
    throw error;
  });
  addStyle(style, el);
  return widget.render(place);
}

export default { render };
