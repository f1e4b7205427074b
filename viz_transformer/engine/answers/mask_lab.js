// The mask lab's answers: what leaks through a mask, and what formulas and libraries make of its rows.
//
// labs/mask_lab.py answers the same requests in Python.

import { UserError } from "../errors.js";
import { attentionLayers, checkedInterventions } from "../interventions.js";
import { linear } from "../matrix.js";
import { runDecoder, runEncoder } from "../model.js";
import { repr } from "../repr.js";
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
  const nearest = nearestWords(model, vocabulary, request.vocabulary);
  const others = sentences.map((sentence) => sentence[edited].map(nearest)); // [batch][key]
  const memories = sentences.map((sentence) => memoryOf(model, kind, sentence));
  const before = sentences.map((sentence, b) => outputsOf(model, kind, sentence, memories[b]));
  const changes = sentences.map((sentence, b) =>
    others[b].map((other, key) => {
      const changed = { ...sentence, [edited]: sentence[edited].with(key, other) };
      const memory = edited === "target" ? memories[b] : undefined; // of the source, which stays
      return rowChanges(before[b], outputsOf(model, kind, changed, memory)); // [query]
    }),
  );
  const shape = [sentences.length, others[0].length, before[0].rows]; // [batch, edited, query]
  return {
    shape,
    changes: float32View(changes.flat(2)),
    replacements: others.map((row) => vocabulary.tokensOf(row)),
    longer: request.longer && longerChanges(model, vocabulary, kind, before, request.longer),
  };
}

/** The change that more padding makes to the outputs before, [batch, query]. */
function longerChanges(model, vocabulary, kind, before, given) {
  const after = readBatch(vocabulary, kind, given).map((sentence) => outputsOf(model, kind, sentence));
  const [held, rows] = [Math.max(0, after[0].rows - given.first), before[0].rows];
  if (after.length !== before.length || held < rows) {
    throw new UserError(
      `the longer batch holds ${after.length} × ${Math.min(held, rows)} of the ${before.length} × ${rows} ` +
        "tokens; give the same sentences, longer, and where their tokens begin",
    );
  }
  const changes = after.map((outputs, b) => rowChanges(before[b], outputs, given.first));
  return float32View(changes.flat());
}

/**
 * What the encoder makes of a sentence, with the mask that is tried if it is the encoder's.
 *
 * @param {MaskedSentence} sentence
 * @returns {Matrix | null} [source, d_model]; of a model without an encoder null
 */
function memoryOf(model, kind, sentence) {
  if (!model.encoder) return null;
  const { source, mask, correct } = sentence;
  const unchanged = checkedInterventions(null, model.config);
  return runEncoder(model, source, unchanged, kind === "encoder" ? mask : correct.encoder).x;
}

/**
 * What the model makes of a sentence with the mask that is tried and the right ones elsewhere: logits,
 * or of the encoder its vectors.
 *
 * @param {MaskedSentence} sentence
 * @returns {Matrix} [query, feature]
 */
function outputsOf(model, kind, sentence, memory = memoryOf(model, kind, sentence)) {
  if (kind === "encoder") return memory;
  const { source, target, mask, correct } = sentence;
  const unchanged = checkedInterventions(null, model.config);
  const { x } = runDecoder(model, target, memory, source, unchanged, { ...correct, [kind]: mask });
  return linear(x, model.output); // [target, vocab]
}

/**
 * The largest change in each row of a matrix; row 0 of the first is row `first` of the second.
 *
 * @param {Matrix} before [query, feature]
 * @param {Matrix} after
 * @returns {number[]} [query]
 */
function rowChanges(before, after, first = 0) {
  const shift = first * after.cols;
  return Array.from({ length: before.rows }, (_, row) => {
    let largest = 0;
    for (let i = row * before.cols; i < (row + 1) * before.cols; i++) {
      largest = Math.max(largest, Math.abs(after.data[i + shift] - before.data[i]));
    }
    return largest;
  });
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
