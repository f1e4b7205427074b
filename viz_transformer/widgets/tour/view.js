// The tour: a panel with a caption that steps through states of the view below it.
//
// The panel reads and sets the other view's traits through its model, which the notebook's widget
// manager finds, and in an exported page the page's own. So it steps without asking Python.

import { button, element, setText } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import {
  chosenState,
  differing,
  placeInTour,
  stepOnKey,
  withChange,
  withoutStep,
  withStep,
} from "./steps.js";

const EMPTY = "No step yet. Bring the view below into a state worth showing, and click Remember this state.";

function render({ model, el }) {
  const editable = Boolean(model.send); // a page has nobody to keep what is remembered
  const tour = createView({ model, el, name: "tour", label: "Guided tour", traits: ["steps", "step"], draw });
  const { root, listen } = tour;
  const steps = () => model.get("steps") ?? [];
  const here = () => Math.min(model.get("step") ?? 0, Math.max(0, steps().length - 1));
  let [inner, shown, closed, presenting] = [null, null, false, false];

  // --- the parts ------------------------------------------------------------------------------

  const panel = element(root, "div", "vt-tour-panel", {
    tabindex: "0",
    role: "group",
    "aria-label": "Tour: the arrow keys step through it",
    "data-lm-suppress-shortcuts": "true",
  });
  root.prepend(panel);
  const caption = element(panel, "p", "vt-tour-caption", { "aria-live": "polite" });
  const field = element(panel, "textarea", "vt-tour-caption", {
    rows: "1",
    placeholder: "Write a caption",
    "aria-label": "Caption of this step",
    "data-lm-suppress-shortcuts": "true",
  });
  const bar = element(panel, "div", "vt-controls");
  const back = button(bar, "◀ Back", () => goTo(here() - 1));
  const next = button(bar, "Next ▶", () => goTo(here() + 1));
  const place = element(bar, "output", "vt-tour-place");
  const present = button(bar, "Present", () => setPresenting(!presenting));
  const edits = element(bar, "span", "vt-controls vt-tour-edits");
  button(edits, "Remember this state", () => {
    tour.set(withStep(steps(), here(), { caption: "", state: stateNow() }));
    requestAnimationFrame(() => requestAnimationFrame(() => field.focus()));
  });
  const replace = button(edits, "Replace this step", () =>
    tour.set({ steps: withChange(steps(), here(), { state: stateNow() }) }),
  );
  const remove = button(edits, "Remove this step", () => tour.set(withoutStep(steps(), here())));
  const about = root.querySelector(".vt-about"); // the view below has one of its own
  setText(about.querySelector("button"), "About tours");
  bar.append(about);
  const problem = element(panel, "p", "vt-problem", { role: "alert" });
  problem.hidden = true;
  const stage = element(root, "div", "vt-tour-view");

  // --- the view below -------------------------------------------------------------------------

  async function openInner() {
    const manager = model.widget_manager;
    const found = await manager.get_model(String(model.get("view")).replace("IPY_MODEL_", ""));
    // In a page: what the steps ask for goes with what the view itself may ask for.
    const answers = model.get("answers");
    if (answers) found.set("answers", [...(found.get("answers") ?? []), ...answers]);
    const view = await manager.create_view(found);
    if (closed) return view.remove?.();
    [inner, shown] = [found, view];
    stage.append(view.el);
  }
  openInner().catch((error) => {
    problem.textContent = `The view of this tour cannot be shown (${error.message ?? error}); run its cell again.`;
    problem.hidden = false;
  });

  const stateNow = () => chosenState(model.get("names") ?? [], (name) => inner?.get(name));

  /** Bring the view into the state of the step on show. */
  function takeUp() {
    const step = steps()[here()];
    if (!step || !inner) return;
    const changes = differing(model.get("names") ?? [], step.state, (name) => inner.get(name));
    for (const [name, value] of changes) inner.set(name, value);
    if (changes.length) inner.save_changes();
  }
  model.on("change:step", takeUp);

  // --- what the viewer does -------------------------------------------------------------------

  function goTo(step) {
    const to = Math.min(Math.max(0, step), Math.max(0, steps().length - 1));
    if (to === here())
      takeUp(); // at the end, or to put the view back
    else tour.set({ step: to });
  }

  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target === field) return;
    if (event.key === "Escape") {
      if (presenting) setPresenting(false);
      else takeUp();
    } else {
      const to = stepOnKey(event.key, here(), steps().length);
      if (to === null) return;
      goTo(to);
    }
    event.preventDefault();
    event.stopPropagation();
  }
  listen(panel, "keydown", onKey);
  // While it is presented, keys that nothing on the screen has taken step too.
  listen(document, "keydown", (event) => {
    const idle = event.target === document.body || event.target === root;
    if (presenting && (idle || event.key === "Escape") && !event.defaultPrevented) onKey(event);
  });
  listen(field, "keydown", (event) => {
    if (event.key === "Escape") panel.focus();
    event.stopPropagation();
  });
  listen(field, "input", () => tour.set({ steps: withChange(steps(), here(), { caption: field.value }) }));

  function setPresenting(on) {
    if (presenting === on) return;
    presenting = on;
    root.classList.toggle("vt-presenting", on);
    if (on)
      root.requestFullscreen?.().catch(() => {}); // refused, it still fills the window
    else if (document.fullscreenElement === root) document.exitFullscreen();
    panel.focus();
    tour.redraw();
  }
  listen(document, "fullscreenchange", () => {
    if (!document.fullscreenElement && presenting) setPresenting(false); // left by the browser's own Escape
  });

  // --- what is shown --------------------------------------------------------------------------

  /** A button that is disabled would lose the focus to nobody, and the keys with it. */
  function disable(node, off) {
    if (off && document.activeElement === node) panel.focus();
    node.disabled = off;
  }

  function draw() {
    const [count, step] = [steps().length, here()];
    const text = steps()[step]?.caption ?? "";
    const writing = editable && !presenting && count > 0;
    field.hidden = !writing;
    caption.hidden = writing || (!text && count > 0);
    setText(caption, count ? text : EMPTY);
    if (field.value !== text) field.value = text;
    field.style.height = "auto";
    if (writing) field.style.height = `${field.scrollHeight + 2}px`;
    disable(back, step === 0);
    disable(next, step >= count - 1);
    setText(place, placeInTour(step, count));
    setText(present, presenting ? "Stop presenting" : "Present");
    edits.hidden = !editable || presenting;
    for (const node of [replace, remove]) disable(node, count === 0);
    root.dataset.step = String(step);
  }

  return () => {
    closed = true;
    setPresenting(false);
    model.off("change:step", takeUp);
    shown?.remove?.();
    tour.close();
  };
}

export default { render };
