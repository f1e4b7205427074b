// The tree of a search: a column for each step, with the beam at the top and what was dropped below.

import { element } from "../base/js/controls.js";
import { visible } from "../base/js/text.js";
import {
  candidateRows,
  describeCandidate,
  formatNats,
  keptIndices,
  moveInTree,
  STATUSES,
} from "./candidates.js";

/** @typedef {import("./candidates.js").Candidate} Candidate */
/** @typedef {import("./candidates.js").SearchResult} SearchResult */
/** @typedef {import("./candidates.js").Position} Position */

// In units of the text's size.
const [COLUMN, NODE, ROW, HEAD, FIRST] = [12.8, 10.4, 1.8, 1.9, 5.4];
const SVG = "http://www.w3.org/2000/svg";

/**
 * The number on a candidate's node: of a finished one its score, of any other its log-probability.
 *
 * @param {Pick<Candidate, "status" | "log_prob" | "score">} candidate
 * @returns {string}
 */
export function nodeNumber({ status, log_prob, score }) {
  return formatNats(status === "finished" ? score : log_prob, 2);
}

/**
 * For each step, which candidates are prefixes of a text.
 *
 * @param {string[][][]} texts the tokens of every candidate of every step
 * @param {string[]} tokens
 * @param {string} end
 * @returns {Set<number>[]}
 */
export function prefixesOf(texts, tokens, end) {
  const whole = [...tokens, end];
  return texts.map(
    (step, number) =>
      new Set(
        step.flatMap((text, index) =>
          text.length === number + 1 && text.every((token, i) => token === whole[i]) ? [index] : [],
        ),
      ),
  );
}

/**
 * The tree. Candidates are buttons, one of them in the Tab order, and arrow keys lead along the
 * branches. Where the `explained` candidate is pruned, the one that took its place is marked.
 *
 * @param {Element} parent
 * @param {{ onChoose: (position: Position) => void, onPoint: (position: Position | null) => void }} listeners
 * @returns {{ node: HTMLElement, draw: (state: { result: SearchResult, step: number, index: number,
 *   size: number, explained: Position }) => void }}
 */
export function beamTree(parent, { onChoose, onPoint }) {
  const node = element(parent, "div", "vt-tree", {
    role: "group",
    "aria-label": "Tree of the search; arrow keys move along its branches",
  });
  const plane = element(node, "div", "vt-tree-plane");
  let [drawn, drawnSize, parts] = [null, null, null];
  let [current, lastStep, wantsFocus] = [{ step: 0, index: 0 }, -1, false];

  node.addEventListener("pointerover", (event) => onPoint(positionOf(event)));
  node.addEventListener("pointerleave", () => onPoint(null));
  node.addEventListener("click", (event) => {
    const position = positionOf(event);
    if (position) onChoose(position);
  });
  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !positionOf(event)) return;
    const to = moveInTree(drawn.steps, current, event.key);
    if (!to) return;
    wantsFocus = true; // its node may not exist yet
    onChoose(to);
    event.preventDefault();
    event.stopPropagation();
  });

  function draw({ result, step, index, size, explained }) {
    const isNew = result !== drawn || size !== drawnSize;
    if (isNew) {
      [drawn, drawnSize] = [result, size];
      parts = buildTree(plane, result, 14 * size);
    }
    const winner = result.steps[explained.step][explained.index].beaten_by;
    markTree(parts, { step, index }, { step: explained.step, index: winner });
    current = { step, index };
    const leaf = parts.columns[step][index];
    if (isNew || step !== lastStep) scrollAcross(node, parts.heads[step]);
    scrollDown(node, leaf);
    if (wantsFocus) leaf.focus({ preventScroll: false });
    [lastStep, wantsFocus] = [step, false];
  }

  return { node, draw };
}

/** The candidate under a pointer event, or null. */
function positionOf(event) {
  const leaf = event.target.closest?.(".vt-leaf");
  return leaf ? { step: Number(leaf.dataset.step), index: Number(leaf.dataset.index) } : null;
}

/** Show the steps up to the current one, and mark the current candidate and the winner. */
function markTree({ columns, edges, heads }, current, winner) {
  for (const [step, column] of columns.entries()) {
    for (const [index, leaf] of column.entries()) {
      const isCurrent = step === current.step && index === current.index;
      leaf.hidden = step > current.step;
      leaf.tabIndex = isCurrent ? 0 : -1;
      leaf.setAttribute("aria-pressed", String(isCurrent));
      leaf.classList.toggle("vt-winner", step === winner.step && index === winner.index);
    }
  }
  for (const [step, edge] of edges) edge.toggleAttribute("hidden", step > current.step);
  for (const [step, head] of heads.entries()) {
    head.hidden = step > current.step;
    head.classList.toggle("vt-now", step === current.step);
  }
}

/** Bring a column into sight, sideways only: the page stays where it is. */
function scrollAcross(box, head) {
  const [from, to] = [head.offsetLeft, head.offsetLeft + head.offsetWidth];
  if (to + 8 > box.scrollLeft + box.clientWidth) box.scrollLeft = to + 8 - box.clientWidth;
  if (from < box.scrollLeft) box.scrollLeft = Math.max(0, from - box.clientWidth / 3);
}

/** Bring a candidate of a wide beam into sight, up or down. */
function scrollDown(box, leaf) {
  const [from, to] = [leaf.offsetTop, leaf.offsetTop + leaf.offsetHeight];
  if (to + 8 > box.scrollTop + box.clientHeight) box.scrollTop = to + 8 - box.clientHeight;
  if (from < box.scrollTop) box.scrollTop = Math.max(0, from - 40);
}

/** Build the tree: the heads and the leaves of its columns, and its edges with their steps. */
function buildTree(plane, result, unit) {
  const { steps, texts } = result;
  const left = (column) => (FIRST + (column - 1) * COLUMN + (COLUMN - NODE)) * unit;
  const middle = (row) => (HEAD + (row + 0.5) * ROW) * unit;
  const most = Math.max(...steps.map((step) => step.length));
  plane.replaceChildren();
  plane.style.width = `${left(steps.length) + (NODE + 0.4) * unit}px`;
  plane.style.height = `${(HEAD + most * ROW + 0.3) * unit}px`;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "vt-edges");
  svg.setAttribute("aria-hidden", "true");
  plane.append(svg);
  const root = element(plane, "span", "vt-root");
  placeBox(root, 0, HEAD * unit, FIRST * unit, ROW * unit);
  element(root, "bdi").textContent = visible(result.prompt.at(-1) ?? "");
  const best = result.hypotheses[0]?.path ?? [];
  const greedy = result.greedy ? prefixesOf(texts, result.greedy.tokens, result.end) : null;
  const tree = { columns: [], edges: [], heads: [] };
  let parents = [middle(0)]; // the heights of the hypotheses that the step continues
  for (const [number, step] of steps.entries()) {
    const rows = candidateRows(step);
    const x = left(number + 1);
    tree.heads.push(addHead(plane, number, x, unit));
    const fromX = number ? left(number) + NODE * unit : FIRST * unit;
    const leaves = step.map((candidate, index) => {
      const y = middle(rows[index]);
      const isBest = best[number] === index;
      const leaf = createLeaf(candidate, texts[number][index], isBest, Boolean(greedy?.[number].has(index)));
      Object.assign(leaf.dataset, { step: number, index });
      placeBox(leaf, x, y - (ROW / 2 - 0.12) * unit, NODE * unit, (ROW - 0.24) * unit);
      const fromY = parents[candidate.parent] ?? middle(0);
      tree.edges.push([number, addEdge(svg, [fromX, fromY], [x, y], candidate, isBest)]);
      return leaf;
    });
    plane.append(...step.map((_, row) => leaves[rows.indexOf(row)])); // in reading order
    tree.columns.push(leaves);
    parents = keptIndices(step).map((index) => middle(rows[index]));
  }
  return tree;
}

function addHead(plane, number, x, unit) {
  const head = element(plane, "span", "vt-column-head");
  head.textContent = `step ${number + 1}`;
  placeBox(head, x, 0, NODE * unit, HEAD * unit);
  return head;
}

function addEdge(svg, [fromX, fromY], [x, y], { status }, isBest) {
  const edge = document.createElementNS(SVG, "path");
  const half = (fromX + x) / 2;
  edge.setAttribute("d", `M ${fromX} ${fromY} C ${half} ${fromY} ${half} ${y} ${x} ${y}`);
  edge.setAttribute("class", `vt-edge vt-${status}${isBest ? " vt-best" : ""}`);
  if (isBest)
    svg.append(edge); // over the others
  else svg.prepend(edge);
  return edge;
}

function createLeaf(candidate, text, isBest, isGreedy) {
  const leaf = document.createElement("button");
  leaf.type = "button";
  leaf.className = `vt-leaf vt-${candidate.status}${isBest ? " vt-best" : ""}${isGreedy ? " vt-greedy" : ""}`;
  leaf.dataset.lmSuppressShortcuts = "true";
  const also = `${isBest ? " On the way to the best text." : ""}${isGreedy ? " Greedy search writes this too." : ""}`;
  leaf.title = describeCandidate(candidate, text) + also; // its description: what it holds is its name
  if (candidate.status !== "kept")
    element(leaf, "span", "vt-mark").textContent = STATUSES[candidate.status].mark;
  element(leaf, "bdi", "vt-leaf-token").textContent = visible(candidate.token);
  if (isGreedy) element(leaf, "span", "vt-greedy-mark").textContent = "g";
  element(leaf, "span", "vt-leaf-number").textContent = nodeNumber(candidate);
  return leaf;
}

function placeBox(node, left, top, width, height) {
  Object.assign(node.style, {
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });
}
