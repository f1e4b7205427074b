// The translation lab: a sentence to type, its translation, and the explorer of its attention beneath.
//
// A typed sentence is answered by the model, and the page then shows the translation and hands the trace
// to the explorer, all in one frame. Python follows by the traits, and does not send the trace back.

import { addChildView } from "../base/js/child_view.js";
import { addChoices, watchChoices } from "../base/js/choices.js";
import { button, element, setText, uniqueId } from "../base/js/controls.js";
import { connectKernel } from "../base/js/kernel.js";
import { createView } from "../base/js/view.js";

const TRAITS = ["sentence", "translated", "languages"];

/**
 * @typedef {object} Reply to {text}
 * @property {{text: string}} translation
 * @property {object | null} trace null where Python sends it to the explorer itself
 * @property {string} [problem] instead of both, where the text cannot be translated
 * @property {[string, string][]} [suggestions] what a button says, and the text that it types
 */

class TranslationLab {
  /** @type {import("../base/js/kernel.js").Model | null} the explorer's, once it is found */
  #inner = null;
  #choices = null;
  /** @type {{text: string, suggestions: [string, string][]} | null} */
  #problem = null;
  #own = false; // whether it is the lab that sets the sentence

  constructor({ model, el, host }) {
    this.model = model;
    this.view = createView({
      model,
      el,
      name: "translation-lab",
      label: "Translation lab",
      traits: TRAITS,
      draw: () => this.#draw(),
    });
    this.kernel = connectKernel(model);
    this.choices = watchChoices();
    model.on("change:sentence", this.#onSentence);
    this.root = this.view.root;
    this.#addField();
    this.#addTranslation();
    this.hint = element(this.root, "div", "vt-hint");
    this.message = element(this.hint, "p", "vt-problem", { role: "alert" });
    this.offers = element(this.hint, "div", "vt-controls");
    const stage = element(this.root, "div", "vt-inside");
    this.child = addChildView({ model, host }, model.get("explorer"), stage);
    this.child.opened.then(
      (inner) => {
        this.#inner = inner;
        this.#choices = addChoices(inner);
        inner.on("change:text_size", this.view.redraw);
        this.view.redraw();
      },
      (error) => {
        element(stage, "p", "vt-problem", {
          role: "alert",
        }).textContent = `The picture cannot be shown (${error.message ?? error}); run this cell again.`;
      },
    );
  }

  #addField() {
    const form = element(this.root, "div", "vt-controls vt-form");
    const id = uniqueId();
    this.source = element(form, "label", "vt-line-name", { for: id });
    const place = element(form, "div", "vt-field");
    this.field = element(place, "input", "", {
      id,
      type: "text",
      placeholder: "type a sentence and press Enter",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      enterkeyhint: "go",
      "data-lm-suppress-shortcuts": "true",
    });
    button(form, "Translate", () => this.#submit(this.field.value));
    const about = this.root.querySelector(".vt-about"); // the explorer has one of its own
    setText(about.querySelector("button"), "About this lab");
    form.append(about);
    // No <form>: JupyterLab keeps the Enter key from submitting one.
    this.view.listen(this.field, "keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      event.stopPropagation();
      this.#submit(this.field.value);
    });
  }

  #addTranslation() {
    const line = element(this.root, "div", "vt-translation-line");
    this.target = element(line, "span", "vt-line-name");
    this.translation = element(line, "div", "vt-translated", { dir: "auto", "aria-live": "polite" });
  }

  // --- asking ---------------------------------------------------------------------------------

  #submit(text) {
    this.kernel.latest(
      { text },
      (/** @type {Reply} */ reply) => {
        if (reply.problem) this.#explain(reply.problem, reply.suggestions);
        else this.#show(text, reply);
      },
      (error) => this.#explain(error.message),
    );
  }

  /** @param {string} text @param {Reply} reply */
  #show(text, { translation, trace }) {
    this.#problem = null;
    this.field.dataset.of = text; // what the viewer may have typed since stays
    const shown = { sentence: text, translated: translation.text };
    if (!trace || !this.#inner) return this.#set(shown);
    this.#set({ ...shown, drawn: text });
    this.#choices.set({ data: { version: uniqueId(), traces: [trace] } });
  }

  #set(change) {
    this.#own = true;
    this.view.set(change);
    this.#own = false;
  }

  /** What else sets it in the page, such as a word in the prose, leaves the translation to the lab; Python has one. */
  #onSentence = () => {
    if (!this.#own && (!this.model.send || this.choices.here())) this.#submit(this.model.get("sentence"));
  };

  #explain(text, suggestions = []) {
    this.#problem = { text, suggestions };
    this.view.redraw();
  }

  // --- what is shown --------------------------------------------------------------------------

  #draw() {
    const [sentence, languages] = [this.model.get("sentence"), this.model.get("languages")];
    this.root.style.fontSize = `${14 * (this.#inner?.get("text_size") ?? 1)}px`;
    if (this.field.dataset.of !== sentence) {
      this.field.dataset.of = sentence;
      this.field.value = sentence;
      this.#problem = null;
    }
    setText(this.source, languages.source);
    setText(this.target, languages.target);
    if (this.translation.lang !== languages.tag) this.translation.lang = languages.tag;
    setText(this.translation, this.model.get("translated"));
    this.#drawProblem(sentence);
  }

  #drawProblem(sentence) {
    const shown = JSON.stringify([this.#problem, sentence]);
    if (this.hint.dataset.shown === shown) return; // spoken once
    this.hint.dataset.shown = shown;
    this.message.hidden = !this.#problem;
    this.message.replaceChildren();
    this.offers.replaceChildren();
    if (!this.#problem) return;
    const { text, suggestions } = this.#problem;
    this.message.append(/[.!?]$/.test(text) ? text : `${text}.`, " The picture still shows ");
    element(this.message, "i").textContent = sentence;
    this.message.append(".");
    for (const [label, typed] of suggestions) {
      button(this.offers, label, () => {
        this.field.value = typed;
        this.field.focus();
        this.#submit(typed);
      });
    }
  }

  close() {
    this.#inner?.off("change:text_size", this.view.redraw);
    this.model.off("change:sentence", this.#onSentence);
    this.choices.close();
    this.#choices?.close();
    this.child.close();
    this.kernel.close();
    this.view.close();
  }
}

function render({ model, el, host }) {
  const lab = new TranslationLab({ model, el, host });
  return () => lab.close();
}

export default { render };
