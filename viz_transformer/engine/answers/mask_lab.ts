// The mask lab's answers: what leaks through a mask, and what formulas and libraries make of its rows.
//
// widgets/mask_lab/live.py answers the same requests in Python.

import { probabilities, topIds } from "../decoding/candidates.ts";
import { repr, UserError } from "../errors.ts";
import { attentionLayers } from "../interventions.ts";
import { countTo, type Matrix, rowOf } from "../matrix.ts";
import type { Model } from "../model.ts";
import { outputsOf, type Reading, readSentence } from "../rereading.ts";
import { newestOf } from "../reuse.ts";
import type { AnyTextModel, Models } from "../text_model.ts";
import type { Kind } from "../trace.ts";
import type { Side, Vocabulary } from "../vocabulary.ts";
import { type Batch, float32View, type MaskedSentence, readBatch, SIDES_OF } from "./mask_batch.ts";
import { waysReply } from "./mask_formulas.ts";

const MASK_ASKS = ["leaks", "formulas", "libraries", "eager"];
const SPARE_POSITIONS = 2; // positions that the longer batch needs

/**
 * What widgets/mask_lab/requests.ts asks; for leaks also whose words replace others, and longer sentences.
 */
interface Request {
  ask: string;
  kind: string;
  batch: Batch;
  vocabulary?: string;
  longer?: Longer | null;
}

/** The batch with more padding, and the position from which its tokens stand in it. */
type Longer = Batch & { first: number };

export function answerMaskLab({ "": textModel }: Models, request: Request) {
  const { model, vocabulary } = textModel;
  const { ask } = request;
  const kind = request.kind as Kind; // checked below
  if (!MASK_ASKS.includes(ask))
    throw new UserError(`${repr(ask ?? null)} is none of ${MASK_ASKS.map(repr).join(", ")}`);
  const kinds = Object.keys(attentionLayers(model.config));
  if (!kinds.includes(kind)) {
    throw new UserError(`kind=${repr(kind ?? null)} is none of ${repr(kinds)}, which this model has`);
  }
  const sentences = readBatch(vocabulary, kind, request.batch);
  checkRoom(sentences[0], model.config.max_length - SPARE_POSITIONS);
  if (ask === "leaks") return leaksReply(textModel, kind, sentences, request);
  return waysReply(model, kind, sentences, ask);
}

/** Check that there is room for the sentences, and for two more padding tokens. */
function checkRoom({ source, target }: MaskedSentence, longest: number) {
  const length = Math.max(source.length, target.length);
  if (length <= longest) return;
  throw new UserError(
    `the longest sentence has ${length} tokens, and the leak meter reads at most ${longest} with this ` +
      "model; give shorter sentences",
  );
}

/** How much each output changes when one key becomes another word, and when there is more padding. */
function leaksReply(
  { model, vocabulary }: AnyTextModel,
  kind: Kind,
  sentences: MaskedSentence[],
  request: Request,
) {
  const edited = SIDES_OF[kind].key;
  const side = request.vocabulary as Side;
  const nearest = newestOf(vocabulary, side, () => nearestWords(model, vocabulary, side));
  const others = sentences.map((sentence) => sentence[edited].map(nearest)); // [batch][key]
  const longer = request.longer && readLonger(vocabulary, kind, sentences, request.longer);
  const known = newestLeaks.get(model);
  const found = new Map<string, Leaks>(); // in this request's sentences; painting a cell changes but one of them
  newestLeaks.set(model, found);
  const leaks = sentences.map((sentence, b) => {
    const asked: Asked = {
      kind,
      edited,
      sentence,
      others: others[b],
      longer: longer?.[b],
      first: request.longer?.first,
    };
    const name = JSON.stringify(asked, (_, value) => (ArrayBuffer.isView(value) ? String(value) : value));
    const leaks = found.get(name) ?? known?.get(name) ?? leaksOf(model, asked);
    found.set(name, leaks);
    return leaks;
  });
  const shape = [sentences.length, others[0].length, leaks[0].changes[0].length]; // [batch, edited, query]
  return {
    shape,
    changes: float32View(leaks.flatMap(({ changes }) => changes.flat())),
    replacements: others.map((row) => vocabulary.tokensOf(row)),
    writes: leaks[0].written && {
      words: [0, 1].map((mask) => leaks.map(({ written }) => vocabulary.tokensOf(written![mask].ids))),
      shares: float32View([0, 1].flatMap((mask) => leaks.flatMap(({ written }) => written![mask].shares))),
    },
    longer: longer && float32View(leaks.flatMap((each) => each.longer!)),
  };
}

const newestLeaks = new WeakMap<Model, Map<string, Leaks>>();

type Leaks = ReturnType<typeof leaksOf>;

/** What the leaks of one sentence depend on, beside the model. */
interface Asked {
  kind: Kind;
  edited: Side;
  sentence: MaskedSentence;
  /** The word that replaces each key. */
  others: number[];
  longer?: MaskedSentence;
  first?: number;
}

/**
 * The leaks of one sentence: `changes` [edited][query], `longer` [query] if it is given longer, and what is
 * `written` with its mask and with the right ones, but by the encoder.
 */
function leaksOf(model: Model, { kind, edited, sentence, others, longer, first }: Asked) {
  const before = readSentence(model, kind, readable(kind, sentence));
  const { outputs } = outputsOf(model, before); // [query, feature]
  const changesOf = (reading: Reading, shift = 0) => rowChanges(outputs, outputsOf(model, reading), shift); // [query]
  const right = () => outputsOf(model, readSentence(model, kind, { ...sentence, masks: sentence.correct }));
  return {
    written: kind === "encoder" ? null : [outputs, right().outputs].map(likeliest),
    changes: others.map((other, key) => {
      const changed = { ...sentence, [edited]: sentence[edited].with(key, other) };
      return changesOf(readSentence(model, kind, readable(kind, changed), before));
    }),
    // Where padding comes first, every word stands at another position.
    longer:
      longer && changesOf(readSentence(model, kind, readable(kind, longer), first ? null : before), first),
  };
}

/** The likeliest word of each row of logits [query, word], and its share. */
function likeliest(logits: Matrix) {
  const rows = countTo(logits.rows).map((query) => rowOf(logits, query));
  const ids = rows.map((row) => topIds(row, 1)[0]);
  return { ids, shares: rows.map((row, query) => probabilities(row)[ids[query]]) };
}

/** A sentence with the mask that is tried, and the right ones elsewhere. */
function readable(kind: Kind, { source, target, mask, correct }: MaskedSentence) {
  return { source, target, masks: { ...correct, [kind]: mask } };
}

function readLonger(vocabulary: Vocabulary, kind: Kind, sentences: MaskedSentence[], given: Longer) {
  const longer = readBatch(vocabulary, kind, given);
  const query = SIDES_OF[kind].query;
  const [held, rows] = [Math.max(0, longer[0][query].length - given.first), sentences[0][query].length];
  if (longer.length !== sentences.length || held < rows) {
    throw new UserError(
      `the longer batch holds ${longer.length} × ${Math.min(held, rows)} of the ${sentences.length} × ${rows} ` +
        "tokens; give the same sentences, longer, and where their tokens begin",
    );
  }
  return longer;
}

/**
 * The largest change in each row of outputs [query, feature], 0 where nothing was computed again; row 0 before is
 * row `shift` after.
 */
function rowChanges(
  before: Matrix,
  { rows, outputs }: { rows: number[]; outputs: Matrix },
  shift: number,
): number[] {
  const changes = new Array<number>(before.rows).fill(0);
  for (const [i, row] of rows.entries()) {
    const query = row - shift;
    if (query < 0 || query >= before.rows) continue;
    for (let col = 0; col < before.cols; col++) {
      const change = outputs.data[i * before.cols + col] - before.data[query * before.cols + col];
      changes[query] = Math.max(changes[query], Math.abs(change));
    }
  }
  return changes;
}

/** A function from an id to that of another word of one side: the nearest by cosine similarity. */
function nearestWords(model: Model, vocabulary: Vocabulary, side: Side) {
  const known = vocabulary.idsOf(vocabulary.words(side));
  const { words } = (model[`${side}Embedding`] ?? model.targetEmbedding ?? model.sourceEmbedding)!;
  const found = new Map<number, number>();
  return (id: number) => {
    let nearest = found.get(id);
    if (nearest === undefined) {
      const others = known.filter((other) => other !== id);
      const closeness = others.map((other) => cosine(rowOf(words, id), rowOf(words, other)));
      nearest = others[closeness.indexOf(Math.max(...closeness))];
      found.set(id, nearest);
    }
    return nearest;
  };
}

function cosine(x: Float32Array, y: Float32Array) {
  let [product, xx, yy] = [0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    product += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  return product / (Math.max(Math.sqrt(xx), 1e-12) * Math.max(Math.sqrt(yy), 1e-12));
}
