// The results of searches: those that came with the view, those received since, and what is requested.

import { canonicalJson, NEEDS_KERNEL, newestOf } from "../base/js/kernel.js";
import { NewestMap } from "../base/js/newest_map.js";
import { quoted } from "../base/js/text.js";
import { candidateTexts, describeCarried, describeSettings, searchRequest } from "./candidates.js";

/** @typedef {import("./candidates.js").SearchResult} SearchResult */

/** The traits that a search is made with. */
export const SETTINGS = [
  "sentence",
  "checkpoint",
  "method",
  "beam_width",
  "length_penalty",
  "temperature",
  "top_k",
  "top_p",
  "seed",
];

/** The results of a view: for its settings, and for a sentence that is typed. */
export class Results {
  /**
   * @param {import("../base/js/kernel.js").Model} model
   * @param {ReturnType<typeof import("../base/js/kernel.js").connectKernel>} kernel
   * @param {import("../base/js/view.js").View} view
   */
  constructor(model, kernel, view) {
    this.model = model;
    this.kernel = kernel;
    this.view = view;
    this.given = new Map(); // results by request: those that came with the view,
    this.received = new NewestMap(); // and the newest of the others
    this.data = null;
    /** @type {SearchResult | null} the last that the settings had an answer for */
    this.shown = null;
    this.asking = null; // the request under way
    this.typed = newestOf(kernel.ask); // searches for sentences that were typed
    this.failure = null; // why the settings have no answer
    this.refused = null; // why a typed sentence has none, where the settings have one
  }

  request() {
    return searchRequest((trait) => this.model.get(trait));
  }

  find(key) {
    return this.given.get(key) ?? this.received.get(key);
  }

  receive(request, reply) {
    this.received.set(canonicalJson(request), toResult(request, reply));
  }

  /** Search for another sentence: it becomes the view's when it has an answer. */
  search(text) {
    const request = { ...this.request(), text };
    const show = () => {
      this.refused = null;
      this.view.set({ sentence: text, chosen: null });
    };
    if (this.find(canonicalJson(request))) {
      this.typed.forget(); // whatever was typed before
      show();
      return;
    }
    this.typed.latest(
      request,
      (reply) => {
        this.receive(request, reply);
        show();
      },
      ({ message }) => {
        this.refused = { key: canonicalJson(this.request()), message };
        this.view.redraw();
      },
    );
  }

  /**
   * The result for the settings, or while it is under way or there is none, the last; it is requested.
   *
   * @returns {{ result: SearchResult | null, isCurrent: boolean }}
   */
  update() {
    if (this.model.get("data") !== this.data) {
      this.data = this.model.get("data");
      for (const [request, reply] of this.data)
        this.given.set(canonicalJson(request), toResult(request, reply));
    }
    const request = this.request();
    const key = canonicalJson(request);
    const known = this.find(key);
    if (this.refused?.key !== key) this.refused = null;
    if (known || this.failure?.key !== key) this.failure = null; // a reply may come after all
    if (!known && this.asking !== key && !this.failure) this.ask(request, key);
    const found = known ?? this.find(key); // an engine in the page answers at once
    if (found) this.shown = found;
    return { result: this.shown, isCurrent: Boolean(found) };
  }

  ask(request, key) {
    this.asking = key;
    const keep = ({ reply = null, error = null }) => {
      if (this.asking === key) this.asking = null;
      if (error) this.failure = { key, message: error.message };
      else this.receive(request, reply);
    };
    this.kernel.settle(request, keep, () => this.view.redraw());
  }

  /** What is wrong, and what is shown meanwhile, or "". */
  problem() {
    const problem = this.refused ?? this.failure;
    if (!problem) return "";
    const { message } = problem;
    const sentences = [/[.!?]$/.test(message) ? message : `${message}.`];
    const carried = message === NEEDS_KERNEL ? this.carriedRequests() : [];
    if (carried.length) sentences.push(describeCarried(carried));
    if (this.shown) {
      const { request } = this.shown;
      sentences.push(`Still shown: ${quoted(request.text)}, ${describeSettings(request)}.`);
    }
    return sentences.join(" ");
  }

  /** The requests for this sentence and method that the page has results for. */
  carriedRequests() {
    const [text, method] = [this.model.get("sentence"), this.model.get("method")];
    return [...(this.model.get("data") ?? []), ...(this.model.get("answers") ?? [])]
      .filter(([, reply]) => reply.error === undefined)
      .map(([request]) => request)
      .filter((request) => request.text === text && request.method === method);
  }
}

/** @returns {SearchResult} */
function toResult(request, reply) {
  const sampled = (reply.steps[0][0].share ?? null) !== null;
  return { ...reply, request, sampled, texts: candidateTexts(reply.steps) };
}
