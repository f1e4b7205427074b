// The translation lab: an explorer whose sentence can be edited.
//
// A sentence that is typed is answered by the model, and the page hands its trace to the explorer, all in one
// frame. Python follows by the traits, and does not send the trace back.

import { addChildView } from "../base/js/child_view.js";
import { addChoices } from "../base/js/choices.js";
import { element, setText, uniqueId } from "../base/js/controls.js";
import { connectKernel, type Model } from "../base/js/kernel.js";
import { createView } from "../base/js/view.js";
import { type Problem, setEditor } from "../base/sentence.tsx";
import { TRAITS } from "./traits.ts";

/** To `{text}`. */
interface Reply {
  translation: { text: string };
  /** Null where Python sends it to the explorer itself. */
  trace: object | null;
  /** Instead of both, where the text cannot be translated. */
  problem?: string;
  suggestions?: Problem["suggestions"];
}

interface Rendered {
  model: Model;
  el: HTMLElement;
  host?: unknown;
}

function render({ model, el, host }: Rendered): () => void {
  let inner: Model | null = null;
  let choices: ReturnType<typeof addChoices> | null = null;
  let asked = model.get("sentence");
  const view = createView({
    model,
    el,
    name: "translation-lab",
    label: "Translation lab",
    traits: [...TRAITS],
    staged: true,
    draw,
  });
  const kernel = connectKernel(model);
  const translation = element(view.root, "div", "vt-translated", { dir: "auto", "aria-live": "polite" });
  const place = element(view.root, "div");
  setEditor(view.root, {
    label: model.get("languages").source,
    about: model.get("about"),
    text: () => model.get("sentence"),
    read,
  });
  const child = addChildView({ model, host }, model.get("explorer"), place);
  child.opened.then(
    (opened) => {
      inner = opened;
      choices = addChoices(opened);
    },
    (error) => {
      const problem = element(place, "p", "vt-problem", { role: "alert" });
      problem.textContent = `The picture cannot be shown (${error.message ?? error}); run this cell again.`;
    },
  );

  /** Have a text translated and shown; what is wrong with it, or null. */
  function read(text: string): Promise<Problem | null> {
    return new Promise((resolve) => {
      kernel.latest(
        { text },
        ({ translation, trace, problem, suggestions = [] }: Reply) => {
          if (problem) return resolve({ text: problem, suggestions });
          show(text, translation.text, trace);
          resolve(null);
        },
        (error: Error) => resolve({ text: error.message, suggestions: [] }),
      );
    });
  }

  function show(sentence: string, translated: string, trace: object | null): void {
    asked = sentence;
    const isDrawn = trace !== null && inner !== null;
    view.set({ sentence, translated, ...(isDrawn ? { drawn: sentence } : {}) });
    if (isDrawn) choices?.set({ data: { version: uniqueId(), traces: [trace] } });
  }

  function draw(): void {
    const [sentence, { tag }] = [model.get("sentence"), model.get("languages")];
    // A word in the prose sets it too; in a notebook Python then translates.
    if (sentence !== asked && !model.send) read(sentence);
    asked = sentence;
    if (translation.lang !== tag) translation.lang = tag;
    setText(translation, model.get("translated"));
  }

  return () => {
    choices?.close();
    child.close();
    kernel.close();
    view.close();
  };
}

export default { render };
