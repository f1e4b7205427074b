// Everything that the explorer shows at one moment, worked out from what is chosen.

import { linkedColumns, placesOf } from "./linked_columns.js";
import { activeCell, fitSelection, within } from "./selection.js";

/** What is chosen, fitted to the trace. */
export function selectionOf(model, entries) {
  const get = (name) => model.get(name) ?? undefined;
  return fitSelection(entries, {
    kind: get("kind"),
    layer: get("layer"),
    head: get("head"),
    selected: get("selected"),
    aggregate: get("aggregate"),
    query: get("query") ?? null,
    key: get("key") ?? null,
  });
}

/**
 * All that is shown: `chosen`; its picture `shown`; the pictures that join the columns of words
 * (`links`) and the columns' `names`; the `pinned` and the `active` cell, {kind, query, key}, in
 * the pictures' own indices. `lastHeads` has each kind's head as it was last seen.
 */
export function lookAt(model, store, pictures, lastHeads, hover) {
  const options = {
    hideSpecial: Boolean(model.get("hide_special")),
    mergeWords: Boolean(model.get("merge_words")),
  };
  const chosen = selectionOf(model, store.entries);
  lastHeads.set(chosen.kind, { layer: chosen.layer, head: chosen.head });
  const plan = linkedColumns(Array.from(store.entries.keys()));
  const linked = model.get("linked") ? plan : null;
  const chosenOf = (kind) => {
    if (kind === chosen.kind) return chosen;
    const { layer, head } = lastHeads.get(kind) ?? chosen;
    const [toLayer, toHead] = model.get("linked_heads")?.[kind] ?? [layer, head];
    const fitted = fitSelection(store.entries, { ...chosen, kind, layer: toLayer, head: toHead });
    return { ...fitted, selected: [], aggregate: "head" };
  };
  const pictureOf = (kind) => pictures.show(chosenOf(kind), options);
  const shown = pictureOf(chosen.kind);
  const links = (linked?.links ?? [{ kind: chosen.kind, flip: false }]).map(({ kind, flip }) => ({
    shown: pictureOf(kind),
    flip,
  }));
  const sides = links.map(({ shown: one, flip }) =>
    flip ? [one.keys, one.queries] : [one.queries, one.keys],
  );
  const at = (axis, index) => (index === null || axis.at[index] < 0 ? null : axis.at[index]);
  const pinned = {
    kind: chosen.kind,
    query: at(shown.queryAxis, chosen.query),
    key: at(shown.keyAxis, chosen.key),
  };
  const over = within(hover, linked && hover ? pictureOf(hover.kind) : shown);
  const active = { kind: chosen.kind, ...(linked ? (over ?? pinned) : activeCell(over, pinned)) };
  return {
    chosen,
    shown,
    plan,
    linked,
    links,
    pinned,
    active,
    chosenOf,
    pictureOf,
    names: [sides[0][0], ...sides.map(([, right]) => right)],
    entry: store.entries.get(chosen.kind),
    /** Where in the columns of words a cell's words stand, the one to start from first. */
    placesFor: (cell) => placesOf(linked, cell.kind, cell),
  };
}
