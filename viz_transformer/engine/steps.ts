// Decoding steps: texts continued word by word, each with the keys and values of its words so far.
//
// A decoder writes one word at a time. What it computed for the words before stays true, because the
// causal mask hides the later ones from them; so each layer keeps their keys and values, and a new word
// costs one position instead of the whole sentence. The source's never change at all.

import { extendKeysValues, type KeysValues } from "./attention.ts";
import { embed, outputVocabSize } from "./embedding.ts";
import { checkIds, checkNextIds } from "./inputs.ts";
import { checkedInterventions, type Interventions } from "./interventions.ts";
import { sourceMask, targetPaddingMask } from "./masks.ts";
import { linear, concatenated, makeMatrix, rowOf, type Matrix } from "./matrix.ts";
import { runEncoder, type Model } from "./model.ts";
import type { AttentionWeights } from "./trace.ts";
import { readMemory, runStack } from "./stacks.ts";
import type { LayerOutput } from "./layers.ts";

/** What a text's newest word attended to */
export interface StepAttention {
  /** [layer, head, target] */
  decoder: Float32Array;
  /** [layer, head, source]; of a decoder alone null */
  cross: Float32Array | null;
}

/** One text under way */
interface Text {
  /** [position], 0 where it is padding */
  mask: Uint8Array;
  /** Of each layer. */
  keysValues: KeysValues[];
}

/**
 * Begin to write.
 *
 * Beside an encoder the source is read once, and writing begins with <sos>, the id of the first step. A
 * decoder alone reads all but the last id of its prompt; that last one is the id of the first step.
 */
export function openSteps(
  model: Model,
  { source, prompt = [] }: { source?: number[]; prompt?: number[] },
  {
    interventions = null,
    attention = false,
  }: { interventions?: Interventions | null; attention?: boolean } = {},
) {
  const changes = checkedInterventions(interventions, model.config);
  const memory = model.encoder ? runEncoder(model, source!, changes).x : null; // [source, d_model]
  const steps = new Steps(model, memory, source, changes, attention);
  if (!model.encoder) {
    checkIds("target_ids", prompt, model.config.vocab_size, model.config.max_length);
    steps.readPrompt(prompt);
  }
  return steps;
}

/** Texts under way; one at first, and as many as `select` chooses then. */
export class Steps {
  model: Model;
  source: number[] | undefined;
  interventions: Required<Interventions>;
  wantsAttention: boolean;
  /** What each layer's cross-attention looks at. */
  sources: KeysValues[] | null;
  /** Of each text, if it is wanted */
  attention: StepAttention[] | null = null;
  /** Of all but the last word of a prompt */
  promptAttention: AttentionWeights | null = null;

  #texts: Text[];
  #length = 0; // number of words so far, the same in every text

  constructor(
    model: Model,
    memory: Matrix | null,
    source: number[] | undefined,
    interventions: Required<Interventions>,
    wantsAttention: boolean,
  ) {
    this.model = model;
    this.source = source;
    this.interventions = interventions;
    this.wantsAttention = wantsAttention;
    this.sources = memory && readMemory(model.decoder!, memory);
    const nothing = makeMatrix(0, model.config.d_model);
    const keysValues = model.decoder!.layers.map(() => ({ keys: nothing, values: nothing }));
    this.#texts = [{ mask: new Uint8Array(0), keysValues }];
  }

  /**
   * Read the next word of every text, and score the words that may follow. One id for each text gives the
   * logits [vocab] of each.
   */
  step(ids: number[]): Float32Array[] {
    const logits = linear(this.#read(ids), this.model.output!); // [text, vocab]
    return ids.map((_, row) => rowOf(logits, row));
  }

  /** Go on with these texts, in this order; one may come several times. */
  select(rows: number[]) {
    this.#texts = rows.map((row) => this.#texts[row]); // shared: a step replaces what it adds to
  }

  /** Read all but the last word of a prompt. */
  readPrompt(prompt: number[]) {
    const before = prompt.slice(0, -1).map((id) => {
      this.#read([id]);
      return this.attention?.[0].decoder; // [layer, head, key]
    });
    if (this.wantsAttention && before.length)
      this.promptAttention = this.#promptWeights(before, prompt.length);
    this.attention = null;
  }

  /** Read one more word in every text; return the vectors [text, d_model] that the next are scored from. */
  #read(ids: number[]) {
    const { config, targetEmbedding, decoder } = this.model;
    checkNextIds(ids, outputVocabSize(config), config.max_length, this.#length);
    const texts = this.#texts;
    const masks = texts.map(({ mask }, row) => this.#extendMask(mask, ids[row]));
    const positions = ids.map(() => this.#length);
    const { x, layers } = runStack(decoder!, embed(targetEmbedding!, ids, positions, this.interventions), {
      positions,
      masks,
      interventions: this.interventions,
      step: this.#length,
      among: decoder!.layers.map((_, layer) => (fresh) => {
        return texts.map(({ keysValues }, row) => extendKeysValues(keysValues[layer], fresh, row));
      }),
      sources: this.sources,
      sourceMask: this.sources && sourceMask(config, this.source!, this.interventions, ids.length),
    });
    this.#texts = masks.map((mask, row) => ({
      mask,
      keysValues: layers.map((layer) => layer.keysValues[row]),
    }));
    this.#length += 1;
    if (this.wantsAttention) this.attention = ids.map((_, row) => this.#weightsOf(layers, row, ids.length));
    return x;
  }

  #extendMask(mask: Uint8Array, id: number) {
    const longer = new Uint8Array(mask.length + 1);
    longer.set(mask);
    const fresh = targetPaddingMask(this.model.config, [id], this.interventions, mask.length); // [1]
    longer.set(fresh, mask.length);
    return longer;
  }

  /** What the newest word of a text attended to in every layer. */
  #weightsOf(layers: LayerOutput[], row: number, nRows: number) {
    const decoder = concatenated(layers.map((layer) => layer.selfWeights[row]));
    const crossOf = ({ crossWeights }: LayerOutput) => this.#rowOfHeads(crossWeights!, row, nRows);
    return { decoder, cross: this.sources ? concatenated(layers.map(crossOf)) : null };
  }

  /** Of weights [head, text, source] those of one text, [head, source]. */
  #rowOfHeads(weights: Float32Array, row: number, nRows: number) {
    const nKeys = this.source!.length;
    const chosen = new Float32Array(weights.length / nRows);
    for (let head = 0; head * nKeys < chosen.length; head++) {
      const first = (head * nRows + row) * nKeys;
      chosen.set(weights.subarray(first, first + nKeys), head * nKeys);
    }
    return chosen;
  }

  /** The rows [layer, head, key] of a prompt's words as one array [layer, head, query, key]. */
  #promptWeights(rows: (Float32Array | undefined)[], nKeys: number) {
    const [nLayers, nHeads] = [this.model.decoder!.layers.length, this.model.config.n_heads];
    const shape = [nLayers, nHeads, rows.length, nKeys];
    const data = new Float32Array(nLayers * nHeads * rows.length * nKeys); // zeros at later words
    for (const [query, row] of rows.entries()) {
      const seen = query + 1; // words that this one could look at
      for (let head = 0; head < nLayers * nHeads; head++) {
        data.set(row!.subarray(head * seen, (head + 1) * seen), (head * rows.length + query) * nKeys);
      }
    }
    return { shape, data };
  }
}
