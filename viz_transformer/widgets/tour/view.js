// The tour: a panel with a caption that steps through states of the view below it.
//
// The panel reads and sets the other view's traits through its model, which the widget manager of
// the notebook, or of an exported page, finds. So it steps without asking Python.

import { addChildView } from "../base/child_view.ts";
import { addChoices } from "../base/choices.ts";
import { button, element, setText } from "../base/controls.ts";
import { createView } from "../base/view.ts";
import { addFit } from "./fit.js";
import {
  chosenState,
  differing,
  placeInTour,
  stepOnKey,
  withChange,
  withoutStep,
  withStep,
} from "./steps.js";

/** @import { Step } from "./steps.js" */

const EMPTY = "No steps yet. Set the view below as you want to show it, then click Remember this state.";

class TourView {
  /** The model of the view below, once it is found. */
  #inner = null;
  #choices = null;
  #presenting = false;

  constructor({ model, el, host }) {
    this.model = model;
    this.editable = Boolean(model.send); // in an exported page nothing could be saved
    this.view = createView({
      model,
      el,
      name: "tour",
      label: "Guided tour",
      traits: ["steps", "step"],
      draw: () => this.#draw(),
    });
    this.root = this.view.root;
    this.#addPanel();
    this.#addBar();
    this.problem = element(this.panel, "p", "vt-problem", { role: "alert" });
    this.problem.hidden = true;
    this.stage = element(this.root, "div", "vt-tour-view");
    this.fit = addFit(this.stage, this.panel);
    this.child = addChildView({ model, host }, model.get("view"), this.stage, (inner) =>
      this.#addAnswers(inner),
    );
    this.child.opened.then(
      (inner) => {
        this.#inner = inner;
        this.#choices = addChoices(inner);
      },
      (error) => {
        this.problem.textContent = `This tour’s view cannot be shown (${error.message ?? error}). Run its cell again.`;
        this.problem.hidden = false;
      },
    );
    model.on("change:step", this.#applyStep);
    this.#listen();
  }

  /** @returns {Step[]} */
  get steps() {
    return this.model.get("steps") ?? [];
  }

  /** The step shown. */
  get step() {
    return Math.min(this.model.get("step") ?? 0, Math.max(0, this.steps.length - 1));
  }

  get #traits() {
    return this.model.get("names") ?? [];
  }

  // --- the parts ------------------------------------------------------------------------------

  #addPanel() {
    this.panel = element(this.root, "div", "vt-tour-panel", {
      tabindex: "0",
      role: "group",
      "aria-label": "Tour: the arrow keys move from step to step",
      "data-lm-suppress-shortcuts": "true",
    });
    this.root.prepend(this.panel);
    this.caption = element(this.panel, "p", "vt-tour-caption", { "aria-live": "polite" });
    this.field = element(this.panel, "textarea", "vt-tour-caption", {
      rows: "1",
      placeholder: "Write a caption",
      "aria-label": "Caption of this step",
      "data-lm-suppress-shortcuts": "true",
    });
  }

  #addBar() {
    const bar = element(this.panel, "div", "vt-controls");
    this.back = button(bar, "◀ Back", () => this.#goTo(this.step - 1));
    this.next = button(bar, "Next ▶", () => this.#goTo(this.step + 1));
    this.place = element(bar, "output", "vt-tour-place");
    this.present = button(bar, "Present", () => this.#setPresenting(!this.#presenting));
    this.edits = element(bar, "span", "vt-controls vt-tour-edits");
    button(this.edits, "Remember this state", () => {
      this.view.set(withStep(this.steps, this.step, { caption: "", state: this.#innerState() }));
      requestAnimationFrame(() => requestAnimationFrame(() => this.field.focus()));
    });
    this.replace = button(this.edits, "Replace this step", () =>
      this.#changeStep({ state: this.#innerState() }),
    );
    this.remove = button(this.edits, "Remove this step", () =>
      this.view.set(withoutStep(this.steps, this.step)),
    );
    const about = this.root.querySelector(".vt-about"); // the view below has one of its own
    setText(about.querySelector("button"), "About tours");
    bar.append(about);
  }

  // --- the view below -------------------------------------------------------------------------

  /** In a page: add the replies for the steps to those of the view itself. */
  #addAnswers(inner) {
    const answers = this.model.get("answers");
    if (answers) inner.set("answers", [...(inner.get("answers") ?? []), ...answers]);
  }

  #innerState() {
    return chosenState(this.#traits, (name) => this.#inner?.get(name));
  }

  /** Set the view below to the state of the step shown. */
  #applyStep = () => {
    const step = this.steps[this.step];
    if (!step || !this.#inner) return;
    const changes = differing(this.#traits, step.state, (name) => this.#inner.get(name));
    if (changes.length) this.#choices.set(Object.fromEntries(changes));
  };

  // --- what the viewer does -------------------------------------------------------------------

  #listen() {
    const { listen } = this.view;
    const onKey = (event) => this.#onKey(event);
    listen(this.panel, "keydown", onKey);
    // While it is presented, keys that nothing else on the screen handles step too.
    listen(document, "keydown", (event) => {
      const idle = event.target === document.body || event.target === this.root;
      if (this.#presenting && (idle || event.key === "Escape") && !event.defaultPrevented) onKey(event);
    });
    listen(this.field, "keydown", (event) => {
      if (event.key === "Escape") this.panel.focus();
      event.stopPropagation();
    });
    listen(this.field, "input", () => this.#changeStep({ caption: this.field.value }));
    listen(document, "fullscreenchange", () => {
      // Left by the browser's own Escape.
      if (!document.fullscreenElement && this.#presenting) this.#setPresenting(false);
    });
  }

  #onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target === this.field)
      return;
    if (event.key === "Escape") {
      if (this.#presenting) this.#setPresenting(false);
      else this.#applyStep();
    } else {
      const to = stepOnKey(event.key, this.step, this.steps.length);
      if (to === null) return;
      this.#goTo(to);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {Partial<Step>} change */
  #changeStep(change) {
    this.view.set({ steps: withChange(this.steps, this.step, change) });
  }

  #goTo(step) {
    const to = Math.min(Math.max(0, step), Math.max(0, this.steps.length - 1));
    if (to === this.step)
      this.#applyStep(); // at the end, or to put the view back
    else this.view.set({ step: to });
  }

  #setPresenting(on) {
    if (this.#presenting === on) return;
    this.#presenting = on;
    this.root.classList.toggle("vt-presenting", on);
    if (on) this.fit.start();
    else this.fit.stop();
    if (on)
      this.root.requestFullscreen?.().catch(() => {}); // refused, it still fills the window
    else if (document.fullscreenElement === this.root) document.exitFullscreen();
    this.panel.focus();
    this.view.redraw();
  }

  // --- what is shown --------------------------------------------------------------------------

  /** Disabling a focused button would drop the focus, and with it the keys. */
  #disable(node, off) {
    if (off && document.activeElement === node) this.panel.focus();
    node.disabled = off;
  }

  #draw() {
    const [count, step] = [this.steps.length, this.step];
    this.#drawCaption(this.steps[step]?.caption ?? "", count);
    this.#disable(this.back, step === 0);
    this.#disable(this.next, step >= count - 1);
    setText(this.place, placeInTour(step, count));
    setText(this.present, this.#presenting ? "Stop presenting" : "Present");
    this.edits.hidden = !this.editable || this.#presenting;
    for (const node of [this.replace, this.remove]) this.#disable(node, count === 0);
    this.root.dataset.step = String(step);
  }

  /** The caption as text, or in a field where it can be edited. */
  #drawCaption(text, count) {
    const { field, caption } = this;
    const writing = this.editable && !this.#presenting && count > 0;
    field.hidden = !writing;
    caption.hidden = writing || (!text && count > 0);
    setText(caption, count ? text : EMPTY);
    if (field.value !== text) field.value = text;
    field.style.height = "auto";
    if (writing) field.style.height = `${field.scrollHeight + 2}px`;
  }

  close() {
    this.#setPresenting(false);
    this.model.off("change:step", this.#applyStep);
    this.#choices?.close();
    this.child.close();
    this.view.close();
  }
}

function render({ model, el, host }) {
  const tour = new TourView({ model, el, host });
  return () => tour.close();
}

export default { render };
