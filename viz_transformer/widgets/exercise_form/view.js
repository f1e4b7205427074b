// The exercise form: fields to answer with, feedback, and hints one at a time.

import { button, element, setText } from "../base/controls.ts";
import { createView } from "../base/view.ts";
import { check } from "./checking.js";
import { addFields } from "./fields.js";
import { isAnswer, readAnswer } from "./reading.js";

/** @import { Asked } from "./checking.js" */

const NEEDS_CODE =
  "A page can't check this answer. Answer it in Jupyter: install the project as its README says, then run ";

/** Hints, one more at each click. */
function addHints(root, hints) {
  if (!hints.length) return;
  const parent = element(root, "div", "vt-asking-hints");
  const list = element(parent, "div", "vt-hints", { role: "status" });
  const more = button(parent, "Hint", () => {
    const n_shown = list.children.length + 1;
    const newest = element(list, "p", "", { tabindex: "-1" });
    newest.textContent = `Hint ${n_shown} of ${hints.length}: ${hints[n_shown - 1]}`;
    setText(more, "Next hint");
    if (n_shown < hints.length) return;
    newest.focus(); // or the focus would be lost with the button
    more.hidden = true;
  });
}

/** Where the answer is code: where it can be written. */
function showNeedsCode(root) {
  const line = element(root, "p", "vt-needs-code");
  line.append(NEEDS_CODE);
  element(line, "code").textContent = "viz-transformer lab";
  line.append(".");
}

function render({ model, el }) {
  /** @type {Asked} */
  const asked = model.get("asked");
  let shown = null;
  const label = `Exercise ${asked.name}: ${asked.title}`;
  const view = createView({ model, el, name: "exercise-form", label, traits: ["answer"], draw });
  element(view.root, "p", "vt-asked").textContent = `${asked.name} · ${asked.title}`;
  if (asked.kind === "code") {
    showNeedsCode(view.root);
    return view.close;
  }
  const chosenIn = () => model.widget_manager.get_model(model.get("view").replace("IPY_MODEL_", ""));
  const place = element(view.root, "div", "vt-answers");
  const fields = addFields(place, { ...asked, chosenIn }, answerWith, () => say("", ""));
  const feedback = element(view.root, "div", "", { role: "status" });
  addHints(view.root, asked.hints);

  function say(verdict, message, kind = "") {
    feedback.className = message || verdict ? `vt-feedback ${kind}` : "";
    feedback.replaceChildren();
    if (verdict) element(feedback, "b").textContent = verdict;
    feedback.append(verdict && message ? ` ${message}` : message);
  }

  function answerWith(answer) {
    const { problem } = readAnswer(asked, answer);
    if (problem) {
      say("", problem);
      return;
    }
    view.set({ answer });
    show(answer);
  }

  function show(answer) {
    shown = answer;
    fields.show(answer);
    const { found, problem } = readAnswer(asked, answer);
    if (problem) return;
    const { passed, message } = check(asked, found);
    el.dispatchEvent(new CustomEvent("vt-exercise", { bubbles: true, detail: { name: asked.name, passed } }));
    say(passed ? "✓ Right." : "✗ Not yet.", message, passed ? "vt-right" : "vt-wrong");
  }

  function draw() {
    const answer = model.get("answer") ?? null;
    if (answer !== null && answer !== shown && isAnswer(asked, answer)) show(answer);
  }

  return view.close;
}

/** Whether a page may restore an answer. */
const fits = (model, answer) => isAnswer(model.get("asked"), answer);

export default { render, fits };
