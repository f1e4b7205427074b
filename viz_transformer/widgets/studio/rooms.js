// What a room and the studio share, by the table that the room's door carries; rooms.py reads it in the same way.

/** What all rooms share, in the order in which it can be set. */
export const CHOSEN = ["sentence", "kind", "layer", "head", "query"];
/** Beside what is chosen, what is carried along. */
export const CARRIED = [...CHOSEN, "text_size"];

/**
 * @typedef {Record<string, any>} State values by the names of the studio's traits
 *
 * @typedef {object} Door
 * @property {string} name what it says
 * @property {Record<string, string>} traits by the studio's names the room's: "row", or "explorer.head" of a view
 *   inside it; "place" is kind and layer as one
 * @property {Record<string, string>} places the values of that one, by kind and layer
 * @property {State} also what else is set when another choice is carried in
 * @property {string[]} needed what must not be null
 * @property {State} own by their paths the first values of what is chosen in this room alone
 * @property {boolean} follows whether the room shows a trace, which the studio has to give it
 */

/** @param {string} path @returns {[inside: string, trait: string]} the trait that holds a view, and that view's trait */
export function targetOf(path) {
  const at = path.lastIndexOf(".");
  return [path.slice(0, Math.max(0, at)), path.slice(at + 1)];
}

/**
 * What is chosen in a room, as far as it says so. A place that is no attention chooses no head, and a query only
 * where the words are those that attend. The mean of all heads is no head.
 *
 * @param {Door} door
 * @param {(path: string) => any} get a trait of the room
 * @param {State} state what was chosen before
 * @returns {State}
 */
export function chosenIn({ traits, places }, get, state) {
  const found = Object.fromEntries(Object.entries(traits).map(([name, path]) => [name, get(path) ?? null]));
  if ("place" in found) {
    const { place } = found;
    const here = Object.keys(places).find((each) => places[each] === place);
    delete found.place;
    if (here) [found.kind, found.layer] = [here.split(" ")[0], Number(here.split(" ")[1])];
    else {
      delete found.head;
      if (stackOf(place) !== stackOf(places[`${state.kind} ${state.layer}`])) delete found.query;
    }
  }
  return Object.fromEntries(
    Object.entries(found).filter(([name, value]) => value !== null || name === "query"),
  );
}

/** The encoder or the decoder, which a place's name begins with. */
const stackOf = (place) => String(place).split(".")[0];

/**
 * The values of a room's traits, by their paths, that show a choice.
 *
 * @param {Door} door
 * @param {State} state
 * @returns {[path: string, value: any][]}
 */
export function changesFor({ traits, places, needed }, state) {
  const wanted = { ...state, place: places[`${state.kind} ${state.layer}`] };
  return Object.entries(traits)
    .filter(([name]) => wanted[name] !== undefined && (wanted[name] !== null || !needed.includes(name)))
    .map(([name, path]) => [path, wanted[name]]);
}

/** Whether two states have the same values of some traits. */
export function isSame(one, other, names) {
  return Boolean(one && other) && names.every((name) => one[name] === other[name]);
}
