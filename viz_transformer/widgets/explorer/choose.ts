// How what is chosen changes: a head, a cell, a token, all heads.

import { tokenOf } from "./displayed_head.ts";
import { type Place, pinOf } from "./linked_columns.ts";
import type { Room, Traits } from "./room.ts";
import {
  type Cell,
  carryPins,
  escapeChange,
  areSame,
  foundIn,
  nextFound,
  NOTHING,
  type Picked,
  withHead,
} from "./selection.ts";
import type { Head, Snapshot } from "./snapshot.ts";

// --- heads ----------------------------------------------------------------------------------

/** Choose a head, or add it to the selected ones; `event` is the click, if it was one. */
export function chooseHead(room: Room, to: Head, event: MouseEvent | null = null): void {
  const snapshot = room.snapshot();
  const { chosen, state, options } = snapshot;
  const adds = event && (state.selectsSeveral || event.ctrlKey || event.metaKey || event.shiftKey);
  if (adds && to.kind === chosen.kind) {
    room.set({ ...withHead(chosen, [to.layer, to.head]), layer: to.layer, head: to.head });
    return;
  }
  const change: Partial<Traits> = {
    ...to,
    ...carryPins(chosen.kind, to.kind, chosen),
    ...rememberedHead(snapshot, to.kind),
  };
  if (chosen.selected.length && (event || to.kind !== chosen.kind)) {
    change.selected = []; // one head again
    if (chosen.aggregate !== "rollout") change.aggregate = "head";
  }
  room.set(change);
  if (event && options.wall) showWall(room, false);
}

/** When the kind changes, the linked columns go on showing the head of the kind that is left. */
function rememberedHead({ chosen, options }: Snapshot, kind: string): Partial<Traits> {
  if (kind === chosen.kind) return {};
  return { linked_heads: { ...options.linkedHeads, [chosen.kind]: [chosen.layer, chosen.head] } };
}

/** Show all heads, or the chosen one. */
export function showWall(room: Room, isOn: boolean): void {
  room.setState({ hoveredHead: null, hover: null, cameFromWall: !isOn });
  room.set({ wall: isOn });
}

/** W shows all heads, or the one again, and Escape undoes one thing after another; returns whether it was one. */
export function onRoomKey(room: Room, { key }: KeyboardEvent, pinsFirst: boolean): boolean {
  const { chosen, state, options } = room.snapshot();
  if (key === "w" || key === "W") showWall(room, !options.wall);
  else if (key !== "Escape") return false;
  else if (isPlain(chosen) && state.cameFromWall && !options.wall) showWall(room, true);
  else room.set(escapeChange(chosen, pinsFirst) as Partial<Traits>);
  return true;
}

function isPlain({ query, key, selected, aggregate }: Snapshot["chosen"]): boolean {
  return query === null && key === null && !selected.length && aggregate === "head";
}

// --- cells and tokens -----------------------------------------------------------------------

/** Pin a cell of the chosen picture. */
export function pin(room: Room, cell: Picked): void {
  const { shown } = room.snapshot();
  room.set({
    query: cell.token ?? tokenOf(shown.queryAxis, cell.query),
    key: tokenOf(shown.keyAxis, cell.key),
  });
  room.setState({ hover: null }); // what was pinned is shown, wherever the pointer is
}

/** Pin a cell, or let go of it. */
export function togglePin(room: Room, cell: Picked): void {
  const { pinned, chosen } = room.snapshot();
  const isQuery = cell.token === undefined ? cell.query === pinned.query : cell.token === chosen.query;
  pin(room, isQuery && cell.key === pinned.key ? NOTHING : cell);
}

/** Pin a token of the columns, or let go of it. */
export function toggleToken(room: Room, place: Place): void {
  const { linked, pinned } = room.snapshot();
  const { index } = place;
  if (linked) togglePlace(room, place);
  else if (place.column === 0) pin(room, index === pinned.query ? NOTHING : { query: index, key: null });
  else pin(room, { query: pinned.query, key: index === pinned.key ? null : index });
}

/** Pin a token of the linked columns, and choose the kind that it is a query or key of. */
export function togglePlace(room: Room, place: Place): void {
  const { linked, pinned, placesFor } = room.snapshot();
  const isPinned = placesFor(pinned).some((one) => one.column === place.column && one.index === place.index);
  room.setState({ hover: null });
  if (isPinned) room.set(NOTHING);
  else if (linked) pinOfKind(room, pinOf(linked, place));
}

/** Pin a cell of any kind, which becomes the chosen one. */
export function pinOfKind(room: Room, { kind, query, key }: Cell & { kind: string }): void {
  const snapshot = room.snapshot();
  const { chosen, chosenOf, pictureOf } = snapshot;
  const { queryAxis, keyAxis } = pictureOf(kind);
  const { layer, head } = chosenOf(kind);
  const change: Partial<Traits> =
    kind === chosen.kind ? {} : { kind, layer, head, selected: [], aggregate: "head" };
  room.setState({ hover: null });
  room.set({
    ...change,
    ...rememberedHead(snapshot, kind),
    query: tokenOf(queryAxis, query),
    key: tokenOf(keyAxis, key),
  });
}

/** Pin the next token that is searched for. */
export function findNext(room: Room): void {
  const { shown, pinned, options } = room.snapshot();
  const [queries, others] = [shown.queries, shown.keys].map((names) => foundIn(names, options.search));
  const keys = areSame(shown.queries, shown.keys) ? null : others!;
  const next = queries && nextFound({ queries, keys }, pinned);
  if (next) pin(room, { query: next.query, key: next.key });
}
