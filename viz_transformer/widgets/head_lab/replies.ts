// The newest replies of the model: unchanged, under the viewer's changes, and with one head at a time off.

import { decodeWeights, weightsIn } from "../base/bytes.ts";
import { canonicalJson, type connectKernel, NEEDS_KERNEL } from "../base/kernel.ts";
import { STOPPED } from "../base/waits.ts";
import type { Factor, Head } from "./changes.ts";

/** A kind's words, its weights, [layer, head, query, key], and what was read where the queries stand. */
export type Kind = { kind: string; shape: number[]; dtype: string; weights: DataView } & Record<
  "queries" | "reads" | "keys",
  string[]
>;

/** What the model writes, and the log-probabilities of the words (`output`) that it writes unchanged. */
export interface Reply {
  log_probs: number[];
  translation: string[];
  output: string[];
  kinds: Kind[];
  request: Request;
  asked: string;
  /** Of a model whose words can be measured: the likeliest where the first one is written, and the metric. */
  likeliest?: string[];
  shares?: number[];
  value?: number;
}

/** Log-probabilities with one head at a time off, float64 [layer, head, word]; of one layer, if `layer` says so. */
export type Alone = { kind: string; shape: number[]; log_probs: DataView; values?: DataView; layer?: number };

type Given = { sentence: string; metric?: string[] };
export type Request = Given & { changes?: Factor[]; each?: number; kind?: string; layer?: number };
export type State = { sentence: string; factors: Factor[]; metric?: string[] };

/** What each request says; a metric only where there is one. */
export const givenOf = ({ sentence, metric }: Given): Given =>
  metric?.length ? { sentence, metric } : { sentence };

/** A model ranks a layer at a time, so that it answers other questions meanwhile; a page that carries replies knows all. */
function partsOf(given: Given, kinds: readonly Kind[]): Request[] {
  const parts = kinds.flatMap(({ kind, shape }) =>
    Array.from({ length: shape[0]! }, (_, layer) => ({ ...given, each: 0, kind, layer })),
  );
  return parts.length ? parts : [{ ...given, each: 0 }];
}

/** "Ranking heads: 12 of 40."; nothing where there are no parts. */
function progressInWords(
  parts: readonly Request[],
  isKnown: (part: Request) => boolean,
  kinds: readonly Kind[],
): string {
  const headsIn = (some: readonly Request[]) =>
    some.reduce((sum, part) => sum + kinds.find(({ kind }) => kind === part.kind)!.shape[1]!, 0);
  return parts.length ? `Ranking heads: ${headsIn(parts.filter(isKnown))} of ${headsIn(parts)}.` : "";
}

/** `want(state)` tells what is here, and asks for what is missing; `onNews` is called when it comes, or does not. */
export function createReplies(
  kernel: Pick<ReturnType<typeof connectKernel>, "settle">,
  onNews: () => void,
  byLayers: () => boolean,
) {
  let [base, changed]: (Reply | null)[] = [null, null];
  let [pending, shown, stopped]: (string | null)[] = [null, null, null]; // `stopped`: the sentence of a ranking
  const alone = new Map<string, Alone[]>();
  const failures = new Map<string, string>();

  let isWhole = false; // whether only the ranking of all layers is known
  const rankingOf = (given: Given) => partsOf(given, byLayers() && !isWhole && base ? base.kinds : []);
  const isKnown = (request: Request) => alone.has(canonicalJson(request));

  function missing(given: Given, factors: Factor[]): Request | undefined {
    const wanted = [{ ...given, changes: [] }, ...(factors.length ? [{ ...given, changes: factors }] : [])];
    const ranking = stopped === given.sentence ? [] : rankingOf(given);
    return [...wanted, ...ranking].find((request) => {
      const asked = canonicalJson(request);
      return ![base?.asked, changed?.asked].includes(asked) && !alone.has(asked) && !failures.has(asked);
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: what a kernel or a page sends
  function keep(request: Request, reply: any): void {
    const asked = canonicalJson(request);
    const { each, changes, layer } = request;
    const withLayer = (one: Alone) => ({ ...one, layer });
    if (each !== undefined) alone.set(asked, reply.each.map(withLayer));
    else if (!changes?.length) base = { ...reply, request, asked };
    else
      changed = {
        ...reply,
        ...(reply.moved && { kinds: withMoved(reply.moved, base!.kinds) }),
        request,
        asked,
      };
  }

  /** Fetch a reply; return whether it is here at once, as from an engine in the page. */
  function fetch(request: Request): boolean {
    const asked = canonicalJson(request);
    pending = asked;
    const settled = ({ reply, error }: { reply?: unknown; error?: Error }) => {
      if (pending === asked) pending = null;
      if (!error) keep(request, reply);
      else if (error.message === STOPPED && request.each !== undefined) stopped = request.sentence;
      else if (error.message === NEEDS_KERNEL && request.layer !== undefined) isWhole = true;
      else failures.set(asked, error.message);
    };
    const parts = request.layer === undefined ? [] : rankingOf(givenOf(request));
    return kernel.settle(request, settled, onNews, progressInWords(parts, isKnown, base?.kinds ?? []));
  }

  function want(state: State) {
    const { sentence, factors } = state;
    if (canonicalJson(state) !== shown) failures.clear();
    if (base?.request.sentence !== sentence) alone.clear();
    if (stopped !== sentence) stopped = null;
    shown = canonicalJson(state);
    let next = missing(givenOf(state), factors);
    while (next && pending !== canonicalJson(next) && fetch(next)) next = missing(givenOf(state), factors);
    const fits = factors.length > 0 && changed?.request.sentence === base?.request.sentence;
    const parts = rankingOf(givenOf(state)).map((request) => alone.get(canonicalJson(request)));
    const known = parts.filter((part) => part !== undefined);
    const [why] = failures.values();
    return {
      base,
      after: fits ? changed : base,
      each: known.flat(),
      ...{ done: known.length, of: parts.length, isCurrent: next === undefined && !why },
      failure: why ?? "",
      /** Whether the picture waits for an answer, and not only the ranking. */
      isBehind: next !== undefined && next.each === undefined,
      /** Goes on with a ranking that was stopped; null where none was. */
      goOn: stopped === null ? null : goOn,
    };
  }

  function goOn(): void {
    stopped = null;
    onNews();
  }

  return { want, setBase: (request: Request, reply: Reply) => keep(request, reply) };
}

/** Of a kind: flat numbers of the heads that moved, and their weights; if `causal`, up to each query's own key. */
type Moved = { kind: string; heads: number[]; causal: boolean; weights: DataView };

/** All weights of a changed model from those that moved, as an exported page carries them, in 16 bits. */
export function withMoved(moved: readonly Moved[], kinds: readonly Kind[]): Kind[] {
  return kinds.map((entry) => {
    const all: Float32Array = weightsIn(entry).slice();
    const { heads, causal, weights } = moved.find(({ kind }) => kind === entry.kind)!;
    const [rows, cols] = entry.shape.slice(2) as [number, number];
    const values = decodeWeights(weights, "float16");
    let next = 0;
    for (const row of heads.flatMap((head) => Array.from({ length: rows }, (_, i) => head * rows + i))) {
      const width = causal ? (row % rows) + 1 : cols;
      all.set(values.subarray(next, next + width), row * cols);
      next += width;
    }
    return { ...entry, dtype: "float32", weights: new DataView(all.buffer) };
  });
}

/** One head's weights, flat [query, key]. */
export function weightsOf(kinds: readonly Kind[], { kind, layer, head }: Head): Float32Array {
  const entry = kinds.find((each) => each.kind === kind)!;
  const [, heads, rows, cols] = entry.shape as [number, number, number, number];
  const start = (layer * heads + head) * rows * cols;
  return weightsIn(entry).subarray(start, start + rows * cols);
}
