// The prediction: a question, controls to answer it, the verdict, and what is then revealed.

import { addChildView } from "../base/child_view.ts";
import { button, element, setText } from "../base/controls.ts";
import { pngAddress } from "../base/js/png.js";
import { addProse } from "../base/prose.ts";
import { createView } from "../base/view.ts";
import { addControls } from "./controls.js";
import { addCurtain, waitingText } from "./curtain.ts";
import { isGuess, readGuess, verdictOf } from "./verdict.js";

const TRAITS = ["guess", "truth", "revealed"];
const ASKED = ["kind", "options", "unit", "question", "afterwards"];
const RIGHT = 0.9;
const WRONG = 0.5; // what lies between is neither

/** Show what is said of the guess. */
function showVerdict(place, verdict) {
  const right = verdict.score >= RIGHT;
  const judged = right || verdict.score < WRONG;
  place.className = `vt-verdict ${judged ? (right ? "vt-right" : "vt-wrong") : ""}`;
  const line = element(place, "p");
  if (judged) element(line, "b", "vt-mark").textContent = right ? "✓ " : "✗ ";
  for (const piece of verdict.told) {
    if (typeof piece === "string") line.append(piece);
    else element(line, "b", piece.whose && `vt-${piece.whose}`).textContent = piece.strong;
  }
  if (verdict.table) showTable(element(place, "div", "vt-scrolled-table"), verdict.table);
}

function showTable(parent, { heads, rows }) {
  const table = element(parent, "table");
  const first = element(table, "tr");
  element(first, "td");
  for (const head of heads) element(first, "th", "", { scope: "col" }).textContent = head;
  for (const [name, values] of rows) {
    const row = element(table, "tr");
    element(row, "th", "", { scope: "row" }).textContent = name;
    for (const value of values) element(row, "td").textContent = value.toFixed(2);
  }
}

/** Show the picture that comes with the answer. */
function showPicture(place, { png, width, alt }) {
  element(place, "img", "", { alt, width }).src = pngAddress(png);
}

function render({ model, el, host }) {
  /** @type {any} */
  const asked = Object.fromEntries(ASKED.map((name) => [name, model.get(name)]));
  const view = createView({ model, el, name: "prediction", label: asked.question, traits: TRAITS, draw });
  const curtain = addCurtain(view.root);
  element(view.root, "p", "vt-question").textContent = asked.question;
  const waiting = element(view.root, "p", "vt-waiting");
  const controls = addControls(element(view.root, "div", "vt-answers"), asked, submit, () => say(""));
  const status = element(view.root, "div", "", { role: "status" });
  const place = element(view.root, "div", "vt-revealed");
  const skip = button(view.root, "Show it without predicting", showUnanswered);
  skip.classList.add("vt-skip");
  let [problem, locked, judged, skipped, child] = [null, false, false, false, null];

  function showUnanswered() {
    skipped = true;
    view.redraw();
  }

  /** Hide what follows while it waits for the answer. */
  function drawCurtain(awaiting, revealed) {
    view.root.classList.toggle("vt-awaiting", awaiting);
    if (!awaiting) curtain.open();
    const { cells, pictures } = awaiting ? curtain.close() : { cells: 0, pictures: 0 };
    const shown = Object.keys(revealed ?? {}).length;
    setText(waiting, awaiting ? waitingText(cells, pictures + Math.min(1, shown)) : "");
    skip.hidden = !cells;
  }

  function say(text) {
    problem?.remove();
    problem = text ? element(view.root, "p", "vt-problem", { role: "alert" }) : null;
    if (problem) setText(problem, text);
  }

  function submit(given) {
    if (model.get("guess") !== null) return; // a prediction is made once
    const { guess, problem: why } = readGuess(asked.kind, given);
    if (why) say(why);
    else view.set({ guess });
  }

  function draw() {
    const [guess, truth, revealed] = TRAITS.map((name) => model.get(name) ?? null);
    drawCurtain(guess === null && !skipped, revealed);
    if (guess === null || judged) return; // a view is drawn again whenever its width or its colours change
    if (!locked || truth !== null) controls.lock(guess, truth);
    if (!locked) say("");
    locked = true;
    if (truth === null) return;
    judged = true;
    showVerdict(status, verdictOf({ ...asked, guess, truth }));
    addProse(status, asked.afterwards, !model.send); // an exported page has nobody to send to
    if (revealed?.png) showPicture(place, revealed);
    if (revealed?.view) {
      child = addChildView({ model, host }, revealed.view, place);
      child.opened.catch((error) => say(`The picture cannot be shown (${error.message ?? error}).`));
    }
  }

  return () => {
    child?.close();
    curtain.remove();
    view.close();
  };
}

/** Whether a page may restore a guess. */
const fits = (model, guess) => isGuess({ kind: model.get("kind"), options: model.get("options") }, guess);

export default { render, fits };
