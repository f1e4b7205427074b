// The script of a PageModel: it offers the model to the views of the page, and draws nothing.

import { answerArchitecture } from "./answers/architecture.js";
import { answerAttentionStepper } from "./answers/attention_stepper.js";
import { answerBeamStepper } from "./answers/beam_stepper.js";
import { answerBlockLab } from "./answers/block_lab.js";
import { answerHeadLab } from "./answers/head_lab.js";
import { answerMaskLab } from "./answers/mask_lab.js";
import { answerPositionLab } from "./answers/position_lab.js";
import { answerStudio } from "./answers/studio.js";
import { answerTranslationLab } from "./answers/translation_lab.js";
import { NotInPage } from "./errors.js";
import { makeTextModel } from "./text_model.js";
import { readSafetensors } from "./safetensors.js";

/**
 * What answers each lab's requests, by the lab's name. Each is given the models by name, the
 * request, and what the lab was made with; labs/*.py answer the same requests in the kernel.
 *
 * @type {Record<string, (models: Record<string, any>, request: any, context: any) => any>}
 */
const ANSWERS = {
  architecture: answerArchitecture,
  attention_stepper: answerAttentionStepper,
  beam_stepper: answerBeamStepper,
  block_lab: answerBlockLab,
  head_lab: answerHeadLab,
  mask_lab: answerMaskLab,
  position_lab: answerPositionLab,
  studio: answerStudio,
  translation_lab: answerTranslationLab,
};

/**
 * A model's engine. The weights are read at the first question, so that a page opens at once.
 *
 * @param {{ get: (trait: string) => any }} model the widget that carries the three files
 */
function makeEngine(model) {
  let textModel = null;
  return {
    textModel() {
      textModel ??= makeTextModel({
        config: JSON.parse(model.get("config")),
        vocabulary: JSON.parse(model.get("vocabulary")),
        weights: readSafetensors(model.get("weights")),
      });
      return textModel;
    },
    answer(lab, models, request, context) {
      if (!ANSWERS[lab]) throw new NotInPage(`the page has no answers for ${lab}`);
      return ANSWERS[lab](models, request, context);
    },
  };
}

/** Leave the engine where widgets/base/js/page_engine.js looks for it, whichever came first. */
function initialize({ model }) {
  globalThis.vtEngines ??= new Map();
  const digest = model.get("digest");
  const engine = makeEngine(model);
  const awaited = globalThis.vtEngines.get(digest);
  if (awaited?.resolve) awaited.resolve(engine);
  else globalThis.vtEngines.set(digest, { promise: Promise.resolve(engine) });
}

export default { initialize };
