// The trace switch: one explorer with a button for each of several traces. The page holds the small ones
// and shows them without Python, which follows by the trait.

import { addChildView } from "../base/child_view.ts";
import { addChoices } from "../base/choices.ts";
import { button, element, setText } from "../base/controls.ts";
import { NEEDS_KERNEL } from "../base/js/kernel.js";
import { createView } from "../base/view.ts";

function render({ model, el, host }) {
  const traits = ["shown", "labels"];
  const view = createView({ model, el, name: "trace-switch", label: "Trace switch", traits, draw });
  const bar = element(view.root, "div", "vt-controls", { role: "group", "aria-label": "Trace" });
  const about = view.root.querySelector(".vt-about"); // the explorer has one of its own
  setText(about.querySelector("button"), "About these buttons");
  const problem = element(view.root, "p", "vt-problem", { role: "alert" });
  const stage = element(view.root, "div", "vt-inside");
  const child = addChildView({ model, host }, model.get("explorer"), stage);
  let [choices, buttons] = [null, new Map()];
  child.opened.then(
    (explorer) => {
      choices = addChoices(explorer);
    },
    (error) => explain(`The picture cannot be shown (${error.message ?? error}); run this cell again.`),
  );
  explain("");

  function explain(text) {
    problem.hidden = !text;
    setText(problem, text);
  }

  function show(label) {
    const shown = (model.get("differences")[label] ?? [label]).map((each) => model.get("traces")[each]);
    const isHere = shown.every(Boolean);
    if (!isHere && !model.send) return explain(NEEDS_KERNEL); // in an exported page
    explain("");
    view.set({ shown: label });
    if (isHere) choices?.set({ data: { version: `trace ${label}`, traces: shown } });
  }

  function draw() {
    const labels = model.get("labels");
    if (labels.join("\n") !== Array.from(buttons.keys()).join("\n")) {
      buttons = new Map(labels.map((label) => [label, button(bar, label, () => show(label))]));
      bar.replaceChildren(...buttons.values(), about);
    }
    for (const [label, node] of buttons) {
      node.setAttribute("aria-pressed", String(label === model.get("shown")));
    }
  }

  return () => {
    choices?.close();
    child.close();
    view.close();
  };
}

export default { render };
