// The field for the sentence, and the line that explains why a reply is missing.

import { button, element, setText } from "../base/js/controls.js";
import { NEEDS_KERNEL, newestOf } from "../base/js/kernel.js";
import { TASKS } from "../base/js/tasks.js";
import { visible } from "../base/js/text.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { changesInWords } from "./head_changes.js";

/**
 * @import { View } from "../base/js/view.js"
 * @import { Replies } from "./replies.js"
 */

/** The form: a typed sentence is shown once the model has read it. */
export class SentenceForm {
  /** @type {string | null} why the sentence was not read */
  #problem = null;

  /**
   * @param {HTMLElement} root
   * @param {{model: any, view: View, kernel: any, replies: Replies}} lab
   */
  constructor(root, { model, view, kernel, replies }) {
    this.view = view;
    this.submitted = newestOf(kernel.ask); // however often Enter is pressed while the kernel is busy
    this.replies = replies;
    const words = TASKS[model.get("task")];
    const form = element(root, "div", "vt-controls");
    this.field = element(element(form, "label", "vt-field"), "input", "", {
      type: "text",
      "aria-label": words.field,
      spellcheck: "false",
      autocomplete: "off",
      "data-lm-suppress-shortcuts": "true",
    });
    button(form, words.button, () => this.#submit());
    addTextSizeButtons(form, (trait) => model.get(trait), view.set);
    this.message = element(root, "p", "vt-problem", { role: "alert" });
    // No <form>: JupyterLab keeps the Enter key from submitting one.
    view.listen(this.field, "keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      event.stopPropagation();
      this.#submit();
    });
    view.listen(this.field, "input", () => {
      if (this.#problem) this.#explain(null);
    });
  }

  #submit() {
    const sentence = this.field.value;
    this.#problem = null;
    const request = { sentence, changes: [] };
    this.submitted.latest(
      request,
      (reply) => {
        this.#problem = null;
        this.replies.setBase(request, reply);
        this.view.set({ sentence, query: null });
      },
      (error) => this.#explain(error.message),
    );
  }

  /** @param {string | null} problem */
  #explain(problem) {
    this.#problem = problem;
    this.view.redraw();
  }

  /** Show the state's sentence, and what is wrong; `after` is the reply shown, or null. */
  update({ sentence }, after) {
    if (this.field.dataset.of !== sentence) {
      this.field.dataset.of = sentence;
      this.field.value = sentence;
    }
    const text = this.#problem
      ? `${sentenceEnd(this.#problem)} The picture still shows “${visible(sentence)}”.`
      : missingInWords(this.replies.failure, after);
    this.message.hidden = !text;
    setText(this.message, text);
  }
}

function missingInWords(failure, after) {
  if (!failure) return "";
  const why =
    failure === NEEDS_KERNEL
      ? `${failure} Without it, this page knows each head alone switched off.`
      : failure;
  if (!after) return sentenceEnd(why);
  const { sentence, changes } = after.request;
  return `${sentenceEnd(why)} Still shown: ${visible(sentence)}. ${changesInWords(changes)}`;
}

function sentenceEnd(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
