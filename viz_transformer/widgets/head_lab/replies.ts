// The newest replies of the model, each with its request: unchanged, changed, and with one head at a time off.

import { canonicalJson, type connectKernel, NO_ANSWER } from "../base/js/kernel.js";
import { decodeWeights, weightsIn } from "../base/js/weights.js";
import type { Factor, Head } from "./changes.ts";

/** A kind's words and its weights, [layer, head, query, key]. */
export interface Kind {
  kind: string;
  queries: string[];
  /** The words that were read where the queries stand. */
  reads: string[];
  keys: string[];
  shape: [number, number, number, number];
  dtype: string;
  weights: DataView;
}

export interface Reply {
  log_probs: number[];
  translation: string[];
  /** The words that the log-probabilities are of. */
  output: string[];
  kinds: Kind[];
  request: Request;
  asked: string;
}

/** Log-probabilities with one head at a time off, float64 [layer, head, word]; of one layer, if `layer` is set. */
export interface Alone {
  kind: string;
  shape: [number, number, number];
  log_probs: DataView;
  layer?: number;
}

interface Request {
  sentence: string;
  changes?: Factor[];
  each?: number;
  kind?: string;
  layer?: number;
}

export interface State {
  sentence: string;
  factors: Factor[];
}

/** What is here, and what is asked for next; `onChange` is called when something arrives, fails or takes long. */
export class Replies {
  base: Reply | null = null;
  #changed: Reply | null = null;
  #alone = new Map<string, Alone[]>();
  #kernel: Pick<ReturnType<typeof connectKernel>, "settle">;
  #onChange: () => void;
  #byLayers: () => boolean;
  #pending: string | null = null;
  #slow: string | null = null;
  #failures = new Map<string, string>();
  #state = "";

  constructor(
    kernel: Pick<ReturnType<typeof connectKernel>, "settle">,
    onChange: () => void,
    byLayers: () => boolean,
  ) {
    [this.#kernel, this.#onChange, this.#byLayers] = [kernel, onChange, byLayers];
  }

  /** Why a reply is missing, or undefined. */
  get failure(): string | undefined {
    const [why] = this.#failures.values();
    return why ?? (this.#pending && this.#pending === this.#slow ? NO_ANSWER : undefined);
  }

  /** Keep a reply for the unchanged model that came another way. */
  setBase(request: Request, reply: Reply): void {
    this.base = { ...reply, request, asked: canonicalJson(request) };
  }

  /** What is shown under the changes: until the newest reply is here, the last that fits. */
  after({ factors }: Pick<State, "factors">): Reply | null {
    if (!factors.length || this.#changed?.request.sentence !== this.base?.request.sentence) return this.base;
    return this.#changed;
  }

  /** Each head alone off, as far as it is known, and how many of the parts of this ranking are. */
  ranking(): { each: Alone[]; done: number; of: number } {
    const parts = this.base ? this.#rankingRequests(this.base.request.sentence) : [];
    const found = parts.flatMap((part) => this.#alone.get(canonicalJson(part)) ?? []);
    const done = parts.filter((part) => this.#alone.has(canonicalJson(part))).length;
    return { each: found, done, of: parts.length };
  }

  /** Whether all that is shown belongs to the state. */
  isCurrent(state: State): boolean {
    const { done, of } = this.ranking();
    const wanted = canonicalJson({ sentence: state.sentence, changes: state.factors });
    return (
      this.base?.request.sentence === state.sentence && this.after(state)?.asked === wanted && done === of
    );
  }

  /** A kernel is asked for a layer at a time, so that it answers other questions meanwhile; all else knows all. */
  #rankingRequests(sentence: string): Request[] {
    const layers = (this.#byLayers() && this.base?.kinds) || [];
    const parts = layers.flatMap(({ kind, shape }) =>
      Array.from({ length: shape[0] }, (_, layer) => ({ sentence, each: 0, kind, layer })),
    );
    return parts.length ? parts : [{ sentence, each: 0 }];
  }

  /** Ask for the first reply that is missing; an engine in the page gives all of them at once. */
  fetchMissing({ sentence, factors }: State): void {
    const state = canonicalJson([sentence, factors]);
    if (state !== this.#state) this.#failures.clear();
    this.#state = state;
    for (;;) {
      const next = this.#missing(sentence, factors);
      if (!next || this.#pending === canonicalJson(next) || !this.#fetch(next)) return;
    }
  }

  #missing(sentence: string, factors: Factor[]): Request | undefined {
    const whole = { sentence, changes: [] };
    const isHere = (request: Request) => {
      const asked = canonicalJson(request);
      const known = this.base?.asked === asked || this.#changed?.asked === asked || this.#alone.has(asked);
      return known || this.#failures.has(asked);
    };
    if (!isHere(whole)) return whole;
    const changed = factors.length ? [{ sentence, changes: factors }] : [];
    return [...changed, ...this.#rankingRequests(sentence)].find((each) => !isHere(each));
  }

  /** Fetch a reply; return whether it is here at once. */
  #fetch(request: Request): boolean {
    const asked = canonicalJson(request);
    this.#pending = asked;
    // biome-ignore lint/suspicious/noExplicitAny: what a kernel or a page sends
    const keep = ({ reply, error }: { reply?: any; error?: Error }) => {
      if (this.#pending === asked) this.#pending = null;
      if (error) this.#failures.set(asked, error.message);
      else this.#keep(request, { ...reply, request, asked });
    };
    return this.#kernel.settle(request, keep, this.#onChange, () => {
      if (request.each === undefined) this.#slow = asked; // a ranking says itself how far it is
      this.#onChange();
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: what a kernel or a page sends
  #keep(request: Request, reply: any): void {
    if (request.each !== undefined) {
      const ofOthers = Array.from(this.#alone.keys()).filter((asked) => !this.#isOf(asked, request.sentence));
      for (const asked of ofOthers) this.#alone.delete(asked);
      const { layer } = request;
      this.#alone.set(
        reply.asked,
        reply.each.map((each: Alone) => ({ ...each, layer })),
      );
    } else if (request.changes?.length)
      this.#changed = reply.moved ? { ...reply, kinds: withMoved(reply.moved, this.base!.kinds) } : reply;
    else this.base = reply;
  }

  #isOf = (asked: string, sentence: string): boolean => JSON.parse(asked).sentence === sentence;
}

interface Moved {
  kind: string;
  /** Flat numbers of the heads that moved, and their weights in 16 bits; `causal`: up to each query's own key. */
  heads: number[];
  causal: boolean;
  weights: DataView;
}

/** All weights of a changed model from those that moved, as an exported page carries them. */
export function withMoved(moved: readonly Moved[], kinds: readonly Kind[]): Kind[] {
  return kinds.map((entry) => {
    const all: Float32Array = weightsIn(entry).slice();
    const { heads, causal, weights } = moved.find(({ kind }) => kind === entry.kind)!;
    const [, , rows, cols] = entry.shape;
    const values = decodeWeights(weights, "float16");
    let next = 0;
    for (const head of heads)
      for (let row = 0; row < rows; row++) {
        const width = causal ? row + 1 : cols; // a decoder's row ends at its own key
        all.set(values.subarray(next, next + width), (head * rows + row) * cols);
        next += width;
      }
    return { ...entry, dtype: "float32", weights: new DataView(all.buffer) };
  });
}

/** One head's weights, flat [query, key]. */
export function weightsOf(kinds: readonly Kind[], { kind, layer, head }: Head): Float32Array {
  const entry = kinds.find((each) => each.kind === kind)!;
  const [, heads, rows, cols] = entry.shape;
  const start = (layer * heads + head) * rows * cols;
  return weightsIn(entry).subarray(start, start + rows * cols);
}
