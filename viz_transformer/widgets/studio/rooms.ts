// What a room and the studio share, by the table that the room's door carries; rooms.py reads it in the same way.

/** What all rooms share, in the order in which it can be set. */
export const CHOSEN = ["sentence", "kind", "layer", "head", "query", "key"];
/** Beside what is chosen, what is carried along. */
export const CARRIED = [...CHOSEN, "text_size"];
/** What does not outlive the words that it is an index of. */
export const WORDS = ["query", "key"];

/** Values by the names of the studio's traits. */
export type State = Record<string, unknown>;

export interface Door {
  /**
   * By the studio's names the room's: "row", or "explorer.head" of a view inside it; "place" is kind and layer as
   * one.
   */
  traits: Record<string, string>;
  /** The values of "place", by kind and layer. */
  places: Record<string, string>;
  /** What else is set when another choice is carried in. */
  news: State;
  /** Values with which the room shows the sentence of all rooms; with others it gives nothing. */
  where: State;
  /** What must not be null. */
  needed: string[];
  /** By their paths the first values of what is chosen in this room alone. */
  own: State;
  /** What another sentence sets in a room that has none to set. */
  followed: string[];
}

type Get = (path: string) => unknown;

/** The trait that holds a view, and that view's trait. */
export function targetOf(path: string): [inside: string, trait: string] {
  const at = path.lastIndexOf(".");
  return [path.slice(0, Math.max(0, at)), path.slice(at + 1)];
}

/**
 * What is chosen in a room, as far as it says so; `state` is what was chosen before. A place that is no attention
 * chooses no head, and a query only where the words are those that attend. The mean of all heads is no head. A word
 * that the room does not know of is dropped with those it stood among.
 */
export function chosenIn({ traits, places, where }: Door, get: Get, state: State): State {
  if (Object.entries(where).some(([path, value]) => get(path) !== value)) return {};
  const { place, ...paths } = traits;
  const found: State = Object.fromEntries(
    Object.entries(paths).map(([name, path]) => [name, get(path) ?? null]),
  );
  if (place) {
    const box = get(place);
    const here = Object.keys(places).find((each) => places[each] === box);
    if (here) [found.kind, found.layer] = [here.split(" ")[0], Number(here.split(" ")[1])];
    else {
      delete found.head;
      if (stackOf(box) !== stackOf(places[`${state.kind} ${state.layer}`])) delete found.query;
    }
  }
  if (["sentence", "kind", "query"].some((name) => name in found && found[name] !== state[name]))
    for (const name of WORDS) if (!traits[name]) found[name] = null;
  return Object.fromEntries(
    Object.entries(found).filter(([name, value]) => value !== null || WORDS.includes(name)),
  );
}

/** The encoder or the decoder, which a place's name begins with. */
const stackOf = (place: unknown) => String(place ?? "").split(".")[0];

/** The values of a room's traits, by their paths, that show a choice; `seen` is what the room has shown last. */
export function changesFor(door: Door, state: State, seen: State | null = null): State {
  const wanted: State = { ...state, place: door.places[`${state.kind} ${state.layer}`] };
  const changes = Object.entries(door.traits)
    .filter(([name]) => wanted[name] !== undefined && (wanted[name] !== null || !door.needed.includes(name)))
    .map(([name, path]) => [path, wanted[name]]);
  const news = isSame(seen, state, CHOSEN) ? {} : { ...door.news, ...door.where };
  return { ...Object.fromEntries(changes), ...news };
}

/** Whether two states have the same values of some traits. */
export function isSame(one: State | null | undefined, other: State, names: readonly string[]): boolean {
  return Boolean(one) && names.every((name) => one![name] === other[name]);
}
