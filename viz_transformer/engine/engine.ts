// The script of a PageModel: it offers the model to the views of the page, and draws nothing.

import { answerArchitecture } from "./answers/architecture.ts";
import { answerAttentionStepper } from "./answers/attention_stepper.ts";
import { answerBeamStepper } from "./answers/beam_stepper.ts";
import { answerBlockLab } from "./answers/block_lab.ts";
import { answerHeadLab } from "./answers/head_lab.ts";
import { answerMaskLab } from "./answers/mask_lab.ts";
import { answerPositionLab } from "./answers/position_lab.ts";
import { answerStudio } from "./answers/studio.ts";
import { answerTranslationLab } from "./answers/translation_lab.ts";
import { NotInPage } from "./errors.ts";
import { type AnyTextModel, makeTextModel, type Models } from "./text_model.ts";
import { readSafetensors } from "./safetensors.ts";

/**
 * What answers each lab's requests, by the lab's name. Each is given the models by name, the
 * request, and what the lab was made with; their live.py answer the same requests in the kernel.
 */
const ANSWERS: Record<string, (models: never, request: never, context: never) => unknown> = {
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

/** A widget's traits: those of a PageModel are the three files, and a digest of them. */
interface Widget {
  get(trait: string): string & DataView;
}

/** A model's engine. The weights are read at the first question, so that a page opens at once. */
function makeEngine(widget: Widget) {
  let textModel: AnyTextModel | null = null;
  return {
    textModel() {
      textModel ??= makeTextModel({
        config: JSON.parse(widget.get("config")),
        vocabulary: JSON.parse(widget.get("vocabulary")),
        weights: readSafetensors(widget.get("weights")),
      });
      return textModel;
    },
    answer(lab: string, models: Models, request: unknown, context: unknown) {
      if (!ANSWERS[lab]) throw new NotInPage(`the page has no answers for ${lab}`);
      return (ANSWERS[lab] as Answer)(models, request, context);
    },
  };
}

type PageEngine = Awaited<
  NonNullable<ReturnType<NonNullable<typeof globalThis.vtEngines>["get"]>>["promise"]
>;
type Answer = (models: Models, request: unknown, context: unknown) => unknown;

/** Leave the engine where widgets/base/page_engine.ts looks for it, whichever came first. */
function initialize({ model }: { model: Widget }) {
  globalThis.vtEngines ??= new Map();
  const digest = model.get("digest");
  const engine = makeEngine(model) as PageEngine;
  const awaited = globalThis.vtEngines.get(digest);
  if (awaited?.resolve) awaited.resolve(engine);
  else globalThis.vtEngines.set(digest, { promise: Promise.resolve(engine) });
}

export default { initialize };
