// The newest replies that the head lab's function has given, each with its request.

import { canonicalJson, NO_ANSWER } from "../base/js/kernel.js";
import { withAllWeights } from "./moved_weights.js";

/**
 * The replies; `onChange()` is called when one arrives, fails, or takes long.
 *
 * A reply has `request`, and that request as text in `asked`.
 */
export class Replies {
  /** The unchanged model. */
  base = null;
  /** The model with one head at a time switched off. */
  effects = null;
  /** The model under the viewer's changes. */
  changed = null;
  #kernel;
  #onChange;
  /** @type {string | null} the request under way */
  #pending = null;
  /** @type {string | null} the request under way, if its reply takes long */
  #slow = null;
  /** @type {Map<string, string>} requests that failed since the state last changed, and why */
  #failures = new Map();
  #state = "";

  /**
   * @param {{settle: Function}} kernel
   * @param {() => void} onChange
   */
  constructor(kernel, onChange) {
    this.#kernel = kernel;
    this.#onChange = onChange;
  }

  /** Why a reply is missing, or undefined. */
  get failure() {
    const [why = this.#pending && this.#pending === this.#slow ? NO_ANSWER : undefined] =
      this.#failures.values();
    return why;
  }

  /** Keep a reply for the unchanged model that came another way. */
  setBase(request, reply) {
    this.base = { ...reply, request, asked: canonicalJson(request) };
  }

  /**
   * What is shown under the viewer's changes: until the newest reply is here, the last that fits.
   *
   * @param {{factors: object[]}} state
   */
  after({ factors }) {
    if (!factors.length) return this.base;
    return this.changed?.request.sentence === this.base.request.sentence ? this.changed : this.base;
  }

  /** Whether all that is shown belongs to the state. */
  isCurrent({ sentence, factors }) {
    const wanted = canonicalJson({ sentence, changes: factors });
    return (
      this.base.request.sentence === sentence &&
      this.after({ factors }).asked === wanted &&
      this.effects?.request.sentence === sentence
    );
  }

  /**
   * Request the first reply that is missing; its arrival causes a frame, and that requests the next. An
   * engine in the page gives all of them at once.
   */
  fetchMissing({ sentence, factors }) {
    const state = canonicalJson([sentence, factors]);
    if (state !== this.#state) this.#failures.clear();
    this.#state = state;
    const wanted = [
      { name: "base", request: { sentence, changes: [] } },
      { name: "effects", request: { sentence, each: 0 } },
      ...(factors.length ? [{ name: "changed", request: { sentence, changes: factors } }] : []),
    ].map((each) => ({ ...each, asked: canonicalJson(each.request) }));
    const isMissing = ({ name, asked }) => this[name]?.asked !== asked && !this.#failures.has(asked);
    let missing = wanted.find(isMissing);
    while (missing && this.#pending !== missing.asked && this.#fetch(missing))
      missing = wanted.find(isMissing);
  }

  /** Fetch a reply; return whether it is here at once. */
  #fetch({ name, request, asked }) {
    this.#pending = asked;
    const keep = ({ reply, error }) => {
      if (this.#pending === asked) this.#pending = null;
      if (error) this.#failures.set(asked, error.message);
      else this[name] = { ...(reply.moved ? withAllWeights(reply, this.base) : reply), asked, request };
    };
    return this.#kernel.settle(request, keep, this.#onChange, () => {
      this.#slow = asked; // still pending: nothing else is requested in its place
      this.#onChange();
    });
  }
}
