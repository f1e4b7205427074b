// The studio's answers: the trace of a text, for a room that has no sentence of its own. labs/studio.py
// answers the same requests in the kernel.

import type { Models } from "../text_model.ts";
import { rawTrace } from "./raw_trace.ts";

export function answerStudio({ "": model }: Models, { text }: { text: string }) {
  return { trace: rawTrace(model.trace(text)) };
}
