// What the viewer chooses: set at once, and sent to Python after the frame that shows it, because the
// notebook answers with work of its own.

import type { Model } from "./kernel.ts";

const CHOICE = "vt-choice"; // an event of the document: a choice was made, by the view that `detail` names

/**
 * Set a model's traits: {set, close}.
 *
 * Until a choice is sent it stays, whatever comes from Python: the echo of an earlier change would set it back.
 * A later choice elsewhere in the page has it sent at once, because two views may set the same model.
 */
export function addChoices(model: Model) {
  const unsaved = new Map();
  const keepers = new Map();
  let setting = false; // what is set now is not yet ready to be sent

  function keep(trait: string) {
    if (keepers.has(trait)) return;
    const keeper = () => {
      if (unsaved.has(trait) && model.get(trait) !== unsaved.get(trait)) model.set(trait, unsaved.get(trait));
    };
    keepers.set(trait, keeper);
    model.on(`change:${trait}`, keeper);
  }

  function set(change: Record<string, unknown>) {
    document.dispatchEvent(new CustomEvent(CHOICE, { detail: unsaved }));
    setting = true;
    for (const [trait, value] of Object.entries(change)) {
      keep(trait);
      unsaved.set(trait, value);
      model.set(trait, value);
    }
    setting = false;
    if (document.hidden) save();
    else requestAnimationFrame(() => setTimeout(save));
  }

  function save() {
    if (!unsaved.size) return;
    unsaved.clear();
    model.save_changes();
  }

  function onChoice(event: Event) {
    if ((event as CustomEvent).detail !== unsaved && !setting) save();
  }

  document.addEventListener("visibilitychange", save); // a page that is hidden draws no frames, and may never again
  document.addEventListener(CHOICE, onChoice);
  return {
    set,
    close() {
      save();
      document.removeEventListener("visibilitychange", save);
      document.removeEventListener(CHOICE, onChoice);
      for (const [trait, keeper] of keepers) model.off(`change:${trait}`, keeper);
    },
  };
}

/** Tells what changes in the page from what Python sets: {here(), close()}; `here()` is true while a view chooses. */
export function watchChoices() {
  let choosing = false;
  function onChoice() {
    choosing = true;
    queueMicrotask(() => {
      choosing = false;
    });
  }
  document.addEventListener(CHOICE, onChoice);
  return { here: () => choosing, close: () => document.removeEventListener(CHOICE, onChoice) };
}
