// Decoding steps: texts continued word by word, each with the keys and values of its words so far.
//
// A decoder writes one word at a time. What it computed for the words before stays true, because the
// causal mask hides the later ones from them; so each layer keeps their keys and values, and a new word
// costs one position instead of the whole sentence. The source's never change at all.

import { extendKeysValues } from "./attention.js";
import { embed, outputVocabSize } from "./embedding.js";
import { checkIds, checkNextIds } from "./inputs.js";
import { checkedInterventions } from "./interventions.js";
import { sourceMask, targetPaddingMask } from "./masks.js";
import { linear, makeMatrix, rowsFrom } from "./matrix.js";
import { runEncoder } from "./model.js";
import { readMemory, runStack } from "./stacks.js";

/**
 * @typedef {import("./model.js").Model} Model
 *
 * @typedef {object} StepAttention what a text's newest word attended to
 * @property {Float32Array} decoder [layer, head, target]
 * @property {Float32Array | null} cross [layer, head, source]; of a decoder alone null
 *
 * @typedef {object} Text one text under way
 * @property {Uint8Array} mask [position], 0 where it is padding
 * @property {import("./attention.js").KeysValues[]} keysValues of each layer
 */

/**
 * Begin to write.
 *
 * Beside an encoder the source is read once, and writing begins with <sos>, the id of the first step. A
 * decoder alone reads all but the last id of its prompt; that last one is the id of the first step.
 *
 * @param {Model} model with a decoder
 * @param {object} beginning
 * @param {number[]} [beginning.source] ids, beside an encoder
 * @param {number[]} [beginning.prompt] ids, of a decoder alone
 * @param {object} [options]
 * @param {import("./interventions.js").Interventions | null} [options.interventions]
 * @param {boolean} [options.attention] whether every head's weights are wanted
 */
export function openSteps(model, { source, prompt = [] }, { interventions = null, attention = false } = {}) {
  const changes = checkedInterventions(interventions, model.config);
  const memory = model.encoder ? runEncoder(model, source, changes).x : null; // [source, d_model]
  const steps = new Steps(model, memory, source, changes, attention);
  if (!model.encoder) {
    checkIds("target_ids", prompt, model.config.vocab_size, model.config.max_length);
    steps.readPrompt(prompt);
  }
  return steps;
}

/** Texts under way; one at first, and as many as `select` chooses then. */
class Steps {
  /** @type {StepAttention[] | null} of each text, if it is wanted */
  attention = null;
  /** @type {import("./model.js").AttentionWeights | null} of all but the last word of a prompt */
  promptAttention = null;

  /** @type {Text[]} */
  #texts;
  #length = 0; // number of words so far, the same in every text

  constructor(model, memory, source, interventions, wantsAttention) {
    this.model = model;
    this.source = source;
    this.interventions = interventions;
    this.wantsAttention = wantsAttention;
    this.sources = memory && readMemory(model.decoder, memory);
    const nothing = makeMatrix(0, model.config.d_model);
    const keysValues = model.decoder.layers.map(() => ({ keys: nothing, values: nothing }));
    this.#texts = [{ mask: new Uint8Array(0), keysValues }];
  }

  /**
   * Read the next word of every text, and score the words that may follow.
   *
   * @param {number[]} ids one for each text
   * @returns {Float32Array[]} logits [vocab] of each text
   */
  step(ids) {
    const logits = linear(this.#read(ids), this.model.output); // [text, vocab]
    return ids.map((_, row) => rowsFrom(logits, row).data);
  }

  /**
   * Go on with these texts, in this order; one may come several times.
   *
   * @param {number[]} rows
   */
  select(rows) {
    this.#texts = rows.map((row) => this.#texts[row]); // shared: a step replaces what it adds to
  }

  /** Read all but the last word of a prompt. */
  readPrompt(prompt) {
    const before = prompt.slice(0, -1).map((id) => {
      this.#read([id]);
      return this.attention?.[0].decoder; // [layer, head, key]
    });
    if (this.wantsAttention && before.length)
      this.promptAttention = this.#promptWeights(before, prompt.length);
    this.attention = null;
  }

  /** Read one more word in every text; return the vectors [text, d_model] that the next are scored from. */
  #read(ids) {
    const { config, targetEmbedding, decoder } = this.model;
    checkNextIds(ids, outputVocabSize(config), config.max_length, this.#length);
    const texts = this.#texts;
    const masks = texts.map(({ mask }, row) => this.#extendMask(mask, ids[row]));
    const positions = ids.map(() => this.#length);
    const { x, layers } = runStack(decoder, embed(targetEmbedding, ids, positions, this.interventions), {
      positions,
      masks,
      interventions: this.interventions,
      step: this.#length,
      among: decoder.layers.map((_, layer) => (fresh) => {
        return texts.map(({ keysValues }, row) => extendKeysValues(keysValues[layer], fresh, row));
      }),
      sources: this.sources,
      sourceMask: this.sources && sourceMask(config, this.source, this.interventions, ids.length),
    });
    this.#texts = masks.map((mask, row) => ({
      mask,
      keysValues: layers.map((layer) => layer.keysValues[row]),
    }));
    this.#length += 1;
    if (this.wantsAttention) this.attention = ids.map((_, row) => this.#weightsOf(layers, row, ids.length));
    return x;
  }

  #extendMask(mask, id) {
    const longer = new Uint8Array(mask.length + 1);
    longer.set(mask);
    const fresh = targetPaddingMask(this.model.config, [id], this.interventions, mask.length); // [1]
    longer.set(fresh, mask.length);
    return longer;
  }

  /** What the newest word of a text attended to in every layer. */
  #weightsOf(layers, row, nRows) {
    const decoder = joined(layers.map((layer) => layer.selfWeights[row]));
    const cross = layers.map((layer) => this.#rowOfHeads(layer.crossWeights, row, nRows));
    return { decoder, cross: this.sources ? joined(cross) : null };
  }

  /** Of weights [head, text, source] those of one text, [head, source]. */
  #rowOfHeads(weights, row, nRows) {
    if (!weights) return null;
    const nKeys = this.source.length;
    const chosen = new Float32Array(weights.length / nRows);
    for (let head = 0; head * nKeys < chosen.length; head++) {
      const first = (head * nRows + row) * nKeys;
      chosen.set(weights.subarray(first, first + nKeys), head * nKeys);
    }
    return chosen;
  }

  /** The rows [layer, head, key] of a prompt's words as one array [layer, head, query, key]. */
  #promptWeights(rows, nKeys) {
    const [nLayers, nHeads] = [this.model.decoder.layers.length, this.model.config.n_heads];
    const shape = [nLayers, nHeads, rows.length, nKeys];
    const data = new Float32Array(nLayers * nHeads * rows.length * nKeys); // zeros at later words
    for (const [query, row] of rows.entries()) {
      const seen = query + 1; // words that this one could look at
      for (let head = 0; head < nLayers * nHeads; head++) {
        data.set(row.subarray(head * seen, (head + 1) * seen), (head * rows.length + query) * nKeys);
      }
    }
    return { shape, data };
  }
}

function joined(arrays) {
  const whole = new Float32Array(arrays.length * arrays[0].length);
  for (const [i, each] of arrays.entries()) whole.set(each, i * each.length);
  return whole;
}
