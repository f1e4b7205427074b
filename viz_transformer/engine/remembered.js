// What was made of the newest sentence, so that a second question about it computes only what that
// changes: a translation and its trace share the encoder, and a head that is switched off leaves the
// layers below it as they were.
//
// Nothing that is kept is ever changed, and it lasts as long as the vectors that it was made of.

/** @import { Matrix } from "./matrix.js" */

/** @type {WeakMap<object, {of: string, made: any}>} by what it is made for, the newest */
const newest = new WeakMap();

/** @type {WeakMap<Matrix, {by: object, beside: object | null, of: string, made: any}>} by the vectors */
const first = new WeakMap();

/**
 * What is made for an object, such as an embedding, of a sentence: the same while the sentence stays the
 * same. An object has one such thing at a time.
 *
 * @template T
 * @param {object} by
 * @param {string} of all that it depends on
 * @param {() => T} make
 * @returns {T}
 */
export function newestOf(by, of, make) {
  if (newest.get(by)?.of !== of) newest.set(by, { of, made: make() });
  return newest.get(by).made;
}

/**
 * What a layer makes of vectors. The first that was made of them is kept: of a model and its changes,
 * that is mostly the unchanged one.
 *
 * @template T
 * @param {Matrix} x
 * @param {object} by the layer
 * @param {object | null} beside what it reads beside them
 * @param {string} of all else that it depends on
 * @param {() => T} make
 * @returns {T}
 */
export function firstOf(x, by, beside, of, make) {
  const known = first.get(x);
  if (known?.by === by && known.beside === beside && known.of === of) return known.made;
  const made = make();
  if (!known) first.set(x, { by, beside, of, made });
  return made;
}
