// A trained model behind calls on plain text: a translator, a language model or a masked language model.

import { UserError } from "./errors.ts";
import { LanguageModel } from "./language_model.ts";
import { MaskedModel } from "./masked_model.ts";
import { makeModel } from "./model.ts";
import { Translator } from "./translator.ts";
import type { Config, Weights } from "./parameters.ts";
import { makeVocabulary, type VocabularyFile } from "./vocabulary.ts";

/** By family, as a checkpoint's config.json names it. */
const FAMILIES = { "encoder-decoder": Translator, decoder: LanguageModel, encoder: MaskedModel };

export type AnyTextModel = Translator | LanguageModel | MaskedModel;

/** What a view asks with: one model under the name "", or checkpoints by their names. */
export type Models = Record<string, AnyTextModel>;

interface Checkpoint {
  config: Config;
  vocabulary: VocabularyFile;
  weights: Weights;
}

/** Join a model and its vocabulary, the parts of a checkpoint. */
export function makeTextModel({ config, vocabulary, weights }: Checkpoint): AnyTextModel {
  const words = makeVocabulary(vocabulary);
  if (words.tokens.length !== config.vocab_size) {
    throw new UserError(
      `the vocabulary has ${words.tokens.length} tokens and the model ${config.vocab_size}; export the page ` +
        "again, with both from one training",
    );
  }
  return new FAMILIES[config.family](makeModel(config, weights), words);
}
