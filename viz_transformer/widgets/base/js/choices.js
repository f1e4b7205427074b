// What the viewer chooses: set at once, and sent to Python after the frame that shows it, because the
// notebook answers with work of its own.

/**
 * Set a model's traits: {set, save, close}.
 *
 * Until a choice is sent it stays, whatever comes from Python: the echo of an earlier change would set it back.
 *
 * @param {import("./kernel.js").Model} model
 */
export function addChoices(model) {
  const unsaved = new Map();
  const keepers = new Map();

  function keep(trait) {
    if (keepers.has(trait)) return;
    const keeper = () => {
      if (unsaved.has(trait) && model.get(trait) !== unsaved.get(trait)) model.set(trait, unsaved.get(trait));
    };
    keepers.set(trait, keeper);
    model.on(`change:${trait}`, keeper);
  }

  /** @param {Record<string, unknown>} change */
  function set(change) {
    for (const [trait, value] of Object.entries(change)) {
      keep(trait);
      unsaved.set(trait, value);
      model.set(trait, value);
    }
    if (document.hidden) save();
    else requestAnimationFrame(() => setTimeout(save));
  }

  function save() {
    if (!unsaved.size) return;
    unsaved.clear();
    model.save_changes();
  }

  document.addEventListener("visibilitychange", save); // a page that is hidden draws no frames, and may never again
  return {
    set,
    save,
    close() {
      save();
      document.removeEventListener("visibilitychange", save);
      for (const [trait, keeper] of keepers) model.off(`change:${trait}`, keeper);
    },
  };
}
