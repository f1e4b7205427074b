// The translation lab: an explorer whose sentence can be edited.
//
// A sentence that is typed is answered by the model, and the page hands its trace to the explorer, all in one
// frame. Python follows by the traits, and does not send the trace back.

import { addChildView, type Surroundings } from "../base/child_view.ts";
import { addChoices, watchChoices } from "../base/choices.ts";
import { element, setText, uniqueId } from "../base/elements.ts";
import { connectKernel, type Model } from "../base/kernel.ts";
import { type Problem, setEditor } from "../base/sentence.tsx";
import { createView } from "../base/view.ts";
import { TRAITS } from "./traits.ts";

/** To `{text}`. */
interface Reply {
  translation: { text: string };
  /** Null where Python sends it to the explorer itself. */
  trace: object | null;
  /** What the explorer says of the words. */
  written: { text: string };
  /** Instead of both, where the text cannot be translated. */
  problem?: string;
  suggestions?: Problem["suggestions"];
}

interface Rendered {
  model: Model;
  el: HTMLElement;
  host?: Surroundings["host"];
}

function render({ model, el, host }: Rendered): () => void {
  let inner: Model | null = null;
  let choices: ReturnType<typeof addChoices> | null = null;
  let own = false; // whether it is the lab that sets the sentence
  const view = createView({
    model,
    el,
    name: "translation-lab",
    label: "Translation lab",
    traits: [...TRAITS],
    draw,
  });
  const kernel = connectKernel(model);
  const page = watchChoices();
  model.on("change:sentence", onSentence);
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
        async ({ translation, trace, written, problem, suggestions = [] }: Reply) => {
          if (problem) return resolve({ text: problem, suggestions });
          await child.opened.catch(() => null); // a sentence may be set before the picture is there
          show(text, translation.text, trace, written);
          resolve(null);
        },
        (error: Error) => resolve({ text: error.message, suggestions: [] }),
      );
    });
  }

  function show(sentence: string, translated: string, trace: object | null, written: Reply["written"]): void {
    const isDrawn = trace !== null && inner !== null;
    const shown = inner?.get("written");
    const before = shown?.text === sentence ? inner?.get("before") : shown;
    own = true;
    view.set({ sentence, translated, ...(isDrawn ? { drawn: sentence } : {}) });
    own = false;
    if (isDrawn) choices?.set({ data: { version: uniqueId(), traces: [trace] }, written, before });
  }

  /** What else sets it in the page, such as a word in the prose, leaves the translation to the lab; Python has one. */
  function onSentence(): void {
    if (!own && (!model.send || page.here())) read(model.get("sentence"));
  }

  function draw(): void {
    const { tag } = model.get("languages");
    if (translation.lang !== tag) translation.lang = tag;
    setText(translation, model.get("translated"));
  }

  return () => {
    model.off("change:sentence", onSentence);
    page.close();
    choices?.close();
    child.close();
    kernel.close();
    view.close();
  };
}

export default { render };
