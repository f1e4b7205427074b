// The card: what the chosen box does, and its numbers for the chosen word.

import { colourOf, textColourOn, weightColour } from "../base/js/colour.js";
import { button, element, setText } from "../base/js/controls.js";
import { safeHref } from "../base/js/prose.js";
import { formatNumber, marksExplained, visible } from "../base/js/text.js";
import { colourLimit, percentText, tokensOf, vectorOf, weightsOf } from "./values.js";

const MOST = 128; // numbers of a vector that the card shows

/**
 * Add the card. `update(scene, { opened, inPage })` shows a box.
 *
 * @param {HTMLElement} parent
 * @param {{onOpen: () => void, onHead: (head: number | null) => void}} handlers
 */
export function addCard(parent, { onOpen, onHead }) {
  const card = element(parent, "section", "vt-card", { "aria-label": "The chosen box" });
  const about = element(card, "div", "vt-card-about");
  const title = element(about, "strong", "vt-card-title");
  const text = element(about, "p");
  const formula = element(about, "p", "vt-formula");
  const links = element(about, "div", "vt-card-links");
  const lesson = element(links, "a", "", { target: "_blank", rel: "noopener" });
  const open = button(links, "Code", onOpen);
  const numbers = element(card, "div", "vt-card-numbers");
  const source = element(card, "div", "vt-source");
  const file = element(source, "p");
  const code = element(source, "pre", "", { tabindex: "0", "aria-label": "source code" });

  function update(scene, { opened, inPage }) {
    const box = scene.boxes.find(({ key }) => key === scene.box);
    const part = scene.parts[box.part];
    const where = box.layer === null ? box.stack : `${box.stack} layer ${box.layer}`;
    setText(title, `${capital(part.name)}, ${where}`);
    setText(text, part.text);
    const learned = box.parameters
      ? `${box.parameters.toLocaleString("en")} parameters`
      : "no parameters of its own";
    setFormula(formula, part.formula);
    formula.dataset.learned = learned;
    setText(lesson, part.lesson.title);
    lesson.setAttribute("href", safeHref(part.lesson.link, inPage));
    setText(open, opened ? "Hide the code" : "Code");
    open.setAttribute("aria-expanded", String(opened));
    source.hidden = !opened;
    setText(file, `${part.source.name}, in ${part.source.file}, line ${part.source.line}`);
    setText(code, part.source.text);
    numbers.replaceChildren();
    showNumbers(numbers, scene, box, onHead);
  }
  return { node: card, open, update };
}

function capital(name) {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** A formula in which `_k` is written below the line, and `^Q` above it. */
function setFormula(parent, formula) {
  if (parent.dataset.formula === formula) return;
  parent.dataset.formula = formula;
  parent.replaceChildren();
  for (const [, mark, text] of formula.matchAll(/([_^]?)([^\s_^),]+|[\s),]+)/g)) {
    if (mark) element(parent, mark === "_" ? "sub" : "sup").textContent = text;
    else parent.append(text);
  }
}

function showNumbers(parent, scene, box, onHead) {
  const { reply, rows, word } = scene;
  const n = rows.get(box.key) ?? 0;
  const row = Math.min(word[box.stack], n - 1);
  const caption = element(parent, "p", "vt-card-caption");
  if (n === 0) return setText(caption, "No word has come here yet.");
  const token = visible(tokensOf(reply, box.stack)[row]);
  if (box.part === "tokens") showTokens(parent, caption, scene, box, n);
  else if (box.part === "output")
    showLikeliest(
      parent,
      caption,
      reply.likeliest[row],
      box.stack === "encoder" ? `in place of “${token}”` : `after “${token}”`,
    );
  else if (reply.weights[box.key]) showHeads(parent, caption, { ...scene, row, token }, box, onHead);
  else showVector(parent, caption, { ...scene, row, token }, box);
}

function showTokens(parent, caption, { reply }, { stack }, n) {
  const read = tokensOf(reply, stack).slice(0, n);
  setText(caption, stack === "encoder" ? "What the encoder reads" : "What the decoder has read so far");
  element(parent, "p", "vt-tokens").textContent = read.map(visible).join("  ");
  element(parent, "p", "vt-card-caption").textContent = marksExplained(read);
}

function showLikeliest(parent, caption, likeliest, where) {
  setText(caption, `The likeliest words ${where}`);
  const list = element(parent, "ol", "vt-likeliest");
  for (const [word, share] of likeliest) {
    const line = element(list, "li");
    element(line, "span", "vt-likely-word").textContent = visible(word);
    const bar = element(line, "span", "vt-likely-bar", { "aria-hidden": "true" });
    element(bar, "span").style.width = `${100 * share}%`;
    element(line, "span", "vt-likely-share").textContent = percentText(share);
  }
}

/** One line for each head: how much the word attends to each word. */
function showHeads(parent, caption, { reply, sizes, theme, row, token, head }, box, onHead) {
  setText(caption, `How much “${token}” attends to each word, head by head`);
  const keys = tokensOf(reply, box.part === "cross_attention" ? "encoder" : box.stack);
  const table = element(element(parent, "div", "vt-heads"), "table");
  const top = element(element(table, "thead"), "tr");
  element(top, "th", "", { scope: "col" }).textContent = "head";
  for (const key of keys) element(top, "th", "", { scope: "col" }).textContent = visible(key);
  const body = element(table, "tbody");
  for (const [index, weights] of weightsOf(reply, box, row, sizes.n_heads).entries()) {
    const line = element(body, "tr");
    const name = button(element(line, "th", "", { scope: "row" }), String(index), () =>
      onHead(index === head ? null : index),
    );
    name.setAttribute("aria-pressed", String(index === head));
    name.setAttribute("aria-label", `head ${index}`);
    for (const weight of weights) {
      const cell = element(line, "td");
      const colour = colourOf(weight, theme.stops);
      cell.style.background = `rgb(${colour.join(",")})`;
      cell.style.color = textColourOn(colour);
      cell.textContent = formatNumber(weight, 2);
    }
  }
}

/** The word's whole vector, and its first numbers. */
function showVector(parent, caption, { reply, sizes, theme, row, token }, box) {
  const values = vectorOf(reply, box.key, row, sizes.d_model);
  const limit = colourLimit(reply, box.key);
  setText(caption, `The vector of “${token}” after this box: ${sizes.d_model} numbers`);
  const strip = element(parent, "div", "vt-vector", { "aria-hidden": "true" });
  for (const value of values.slice(0, MOST))
    element(strip, "span").style.background = `rgb(${weightColour(value, limit, theme).join(",")})`;
  const first = values.slice(0, 6).map((value) => formatNumber(value, 2));
  element(parent, "p", "vt-tokens").textContent = `${first.join("  ")}  …`;
}
