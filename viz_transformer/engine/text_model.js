// A trained model behind calls on plain text: a translator, a language model or a masked-word model.

import { UserError } from "./errors.js";
import { LanguageModel } from "./language_model.js";
import { MaskedModel } from "./masked_model.js";
import { makeModel } from "./model.js";
import { Translator } from "./translator.js";
import { makeVocabulary } from "./vocabulary.js";

/** By family, as a checkpoint's config.json names it. */
const FAMILIES = { "encoder-decoder": Translator, decoder: LanguageModel, encoder: MaskedModel };

/**
 * Join a model and its vocabulary, the parts of a checkpoint.
 *
 * @param {{ config: any, vocabulary: any, weights: Map<string, any> }} checkpoint
 *     config.json and vocabulary.json, parsed, and the weights that readSafetensors returns
 * @returns {Translator | LanguageModel | MaskedModel}
 */
export function makeTextModel({ config, vocabulary, weights }) {
  const words = makeVocabulary(vocabulary);
  if (words.tokens.length !== config.vocab_size) {
    throw new UserError(
      `the vocabulary has ${words.tokens.length} tokens and the model ${config.vocab_size}; export the page ` +
        "again, with both from one training",
    );
  }
  return new FAMILIES[config.family](makeModel(config, weights), words);
}
