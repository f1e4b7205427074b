// The mask lab's answers: what leaks through a mask, and what formulas and libraries make of its rows.
//
// labs/mask_lab.py answers the same requests in Python.

import { UserError } from "../errors.js";
import { attentionLayers } from "../interventions.js";
import { newestOf } from "../remembered.js";
import { repr } from "../repr.js";
import { outputsOf, readSentence } from "../rereading.js";
import { float32View, readBatch, SIDES_OF } from "./mask_batch.js";
import { waysReply } from "./mask_formulas.js";

/**
 * @typedef {import("../matrix.js").Matrix} Matrix
 * @typedef {import("./mask_batch.js").MaskedSentence} MaskedSentence
 */

const MASK_ASKS = ["leaks", "formulas", "libraries", "eager"];
const SPARE_POSITIONS = 2; // positions that the longer batch needs

/**
 * @param {Record<string, any>} models the model, under the name ""
 * @param {any} request see widgets/mask_lab/requests.js
 */
export function answerMaskLab({ "": textModel }, request) {
  const { model, vocabulary } = textModel;
  const { ask, kind } = request;
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
function checkRoom({ source, target }, longest) {
  const length = Math.max(source.length, target.length);
  if (length <= longest) return;
  throw new UserError(
    `the longest sentence has ${length} tokens, and the leak meter reads at most ${longest} with this ` +
      "model; give shorter sentences",
  );
}

/**
 * How much each output changes when one key becomes another word, and when there is more padding.
 *
 * @param {any} textModel
 * @param {string} kind
 * @param {MaskedSentence[]} sentences
 * @param {any} request
 */
function leaksReply({ model, vocabulary }, kind, sentences, request) {
  const edited = /** @type {"source" | "target"} */ (SIDES_OF[kind].key);
  const side = request.vocabulary;
  const nearest = newestOf(vocabulary, side, () => nearestWords(model, vocabulary, side));
  const others = sentences.map((sentence) => sentence[edited].map(nearest)); // [batch][key]
  const longer = request.longer && readLonger(vocabulary, kind, sentences, request.longer);
  const known = newestLeaks.get(model);
  const found = new Map(); // in this request's sentences; painting a cell changes but one of them
  newestLeaks.set(model, found);
  const leaks = sentences.map((sentence, b) => {
    const asked = {
      kind,
      edited,
      sentence,
      others: others[b],
      longer: longer?.[b],
      first: request.longer?.first,
    };
    const name = JSON.stringify(asked, (_, value) => (ArrayBuffer.isView(value) ? String(value) : value));
    if (!found.has(name)) found.set(name, known?.get(name) ?? leaksOf(model, asked));
    return found.get(name);
  });
  const shape = [sentences.length, others[0].length, leaks[0].changes[0].length]; // [batch, edited, query]
  return {
    shape,
    changes: float32View(leaks.flatMap(({ changes }) => changes.flat())),
    replacements: others.map((row) => vocabulary.tokensOf(row)),
    writes: leaks[0].written && {
      words: [0, 1].map((mask) => leaks.map(({ written }) => vocabulary.tokensOf(written[mask].ids))),
      shares: float32View([0, 1].flatMap((mask) => leaks.flatMap(({ written }) => written[mask].shares))),
    },
    longer: longer && float32View(leaks.flatMap((each) => each.longer)),
  };
}

/** @type {WeakMap<object, Map<string, ReturnType<typeof leaksOf>>>} of each model's newest request */
const newestLeaks = new WeakMap();

/**
 * The leaks of one sentence: `changes` [edited][query], `longer` [query] if it is given longer, and what is
 * `written` with its mask and with the right ones, but by the encoder.
 */
function leaksOf(model, { kind, edited, sentence, others, longer, first }) {
  const before = readSentence(model, kind, readable(kind, sentence));
  const { outputs } = outputsOf(model, before); // [query, feature]
  const changesOf = (reading, shift = 0) => rowChanges(outputs, outputsOf(model, reading), shift); // [query]
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
function likeliest({ rows, cols, data }) {
  const words = Array.from({ length: rows }, (_, row) => {
    const logits = data.subarray(row * cols, (row + 1) * cols);
    const largest = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
    const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
    return { id: logits.indexOf(largest), share: 1 / sum };
  });
  return { ids: words.map(({ id }) => id), shares: words.map(({ share }) => share) };
}

/** A sentence with the mask that is tried, and the right ones elsewhere. */
function readable(kind, { source, target, mask, correct }) {
  return { source, target, masks: { ...correct, [kind]: mask } };
}

/** The sentences with more padding. */
function readLonger(vocabulary, kind, sentences, given) {
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
 * The largest change in each row, 0 where nothing was computed again; row 0 before is row `shift` after.
 *
 * @param {Matrix} before [query, feature]
 * @param {{ rows: number[], outputs: Matrix }} after outputs [row, feature]
 * @returns {number[]} [query]
 */
function rowChanges(before, { rows, outputs }, shift) {
  const changes = new Array(before.rows).fill(0);
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

/**
 * A function from an id to that of another word of one side: the nearest by cosine similarity.
 *
 * @param {"source" | "target"} side
 */
function nearestWords(model, vocabulary, side) {
  const known = vocabulary.idsOf(vocabulary.words(side));
  const { words } = model[`${side}Embedding`] ?? model.targetEmbedding ?? model.sourceEmbedding;
  const vectorOf = (id) => words.data.subarray(id * words.cols, (id + 1) * words.cols); // [d_model]
  const found = new Map();
  return (id) => {
    if (!found.has(id)) {
      const others = known.filter((other) => other !== id);
      const closeness = others.map((other) => cosine(vectorOf(id), vectorOf(other)));
      found.set(id, others[closeness.indexOf(Math.max(...closeness))]);
    }
    return found.get(id);
  };
}

function cosine(x, y) {
  let [product, xx, yy] = [0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    product += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  return product / (Math.max(Math.sqrt(xx), 1e-12) * Math.max(Math.sqrt(yy), 1e-12));
}
