// What was made of the newest sentence, so that a second question about it computes only what that
// changes: a translation and its trace share the encoder, and a head that is switched off leaves the
// layers below it as they were.
//
// Nothing that is kept is ever changed, and it lasts as long as the vectors that it was made of.

import type { Matrix } from "./matrix.ts";

/** The newest, by what it is made for. */
const newest = new WeakMap<object, { of: string; made: unknown }>();

/** By the vectors. */
const first = new WeakMap<Matrix, { by: object; beside: object | null; of: string; made: unknown }>();

/**
 * What is made for an object, such as an embedding, of a sentence: the same while the sentence stays the
 * same. An object has one such thing at a time. `of` names all that it depends on.
 */
export function newestOf<T>(by: object, of: string, make: () => T): T {
  const known = newest.get(by);
  if (known?.of === of) return known.made as T;
  const made = make();
  newest.set(by, { of, made });
  return made;
}

/**
 * What a layer makes of vectors. The first that was made of them is kept: of a model and its changes, that is
 * mostly the unchanged one. It is made by a layer (`by`) that reads `beside` too, and `of` names all else
 * that it depends on.
 */
export function firstOf<T>(x: Matrix, by: object, beside: object | null, of: string, make: () => T): T {
  const known = first.get(x);
  if (known?.by === by && known.beside === beside && known.of === of) return known.made as T;
  const made = make();
  if (!known) first.set(x, { by, beside, of, made });
  return made;
}
