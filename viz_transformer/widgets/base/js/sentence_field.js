// The field for the sentence, which is shown once the model has read it.

import { button, element, setText } from "./controls.js";
import { newestOf } from "./kernel.js";
import { visible } from "./text.js";
import { addTextSizeButtons } from "./text_size.js";

/**
 * Add the field. `update(sentence, failure)` shows the sentence, and why it could not be read.
 *
 * @param {HTMLElement} root
 * @param {object} lab
 * @param {any} lab.model
 * @param {import("./view.js").View} lab.view
 * @param {(sentence: string, onSlow: () => void) => Promise<void>} lab.read reads a sentence and shows it
 */
export function addSentenceField(root, { model, view, read }) {
  const form = element(root, "div", "vt-controls");
  const field = element(element(form, "label", "vt-field"), "input", "", {
    type: "text",
    "aria-label": "sentence",
    spellcheck: "false",
    autocomplete: "off",
    "data-lm-suppress-shortcuts": "true",
  });
  button(form, "Read", submit);
  addTextSizeButtons(form, (trait) => model.get(trait), view.set);
  const message = element(root, "p", "vt-problem", { role: "alert" });
  const submitted = newestOf(read);
  let [problem, shown] = ["", null];

  function explain(text) {
    problem = text;
    view.redraw();
  }

  function submit() {
    explain("");
    submitted.latest(
      field.value,
      () => explain(""),
      (error) => explain(error.message),
    );
  }

  // No <form>: JupyterLab keeps the Enter key from submitting one.
  view.listen(field, "keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    submit();
  });

  return {
    /** @param {string} sentence @param {string} failure */
    update(sentence, failure) {
      if (shown !== sentence) {
        shown = sentence;
        field.value = sentence;
      }
      const text = problem ? `${problem} The picture still shows “${visible(sentence)}”.` : failure;
      message.hidden = !text;
      setText(message, text);
    },
  };
}
