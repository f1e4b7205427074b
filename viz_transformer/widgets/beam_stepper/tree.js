// The tree of a search: a column for each step, in it the places of the beam, and below what fell.

import { beamRows, beamTexts, FATES, fateInWords, keptIn, moveInTree, nats } from "./candidates.js";
import { element } from "../base/js/controls.js";
import { visible } from "../base/js/text.js";

// In units of the text's size.
const [COLUMN, NODE, ROW, HEAD, FIRST] = [12.8, 10.4, 1.8, 1.9, 5.4];
const SVG = "http://www.w3.org/2000/svg";

/** A candidate as its node names it: a finished one by its score, any other by log-probability. */
export function nodeNumber({ status, log_prob, score }) {
  return nats(status === "finished" ? score : log_prob, 2);
}

/** For each step, which candidates are the beginnings of a text, as a set. */
export function beginningsOf(texts, tokens, end) {
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
 * The tree: {node, set({ reply, step, at, size, told })}, `told` the candidate that is told of:
 * where it is pruned, the one that took its place is marked. Candidates are buttons, one of them in the Tab
 * order, and arrow keys lead along the branches. `onChoose({ step, index })` and
 * `onPoint({ step, index } or null)` hear the viewer.
 */
export function beamTree(parent, { onChoose, onPoint }) {
  const box = element(parent, "div", "vt-tree", {
    role: "group",
    "aria-label": "Tree of the search; arrow keys move along its branches",
  });
  const plane = element(box, "div", "vt-tree-plane");
  let [shown, shownSize, nodes, edges, heads] = [null, null, [], [], []];
  let [at, lastStep, wantsFocus] = [{ step: 0, index: 0 }, -1, false];

  const placeOf = (event) => {
    const node = event.target.closest?.(".vt-leaf");
    return node ? { step: Number(node.dataset.step), index: Number(node.dataset.index) } : null;
  };
  box.addEventListener("pointerover", (event) => onPoint(placeOf(event)));
  box.addEventListener("pointerleave", () => onPoint(null));
  box.addEventListener("click", (event) => {
    const place = placeOf(event);
    if (place) onChoose(place);
  });
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !placeOf(event)) return;
    const to = moveInTree(shown.steps, at, event.key);
    if (!to) return;
    wantsFocus = true; // its node may have to grow first
    onChoose(to);
    event.preventDefault();
    event.stopPropagation();
  });

  function build(reply, size) {
    plane.replaceChildren();
    const unit = 14 * size;
    const { steps } = reply;
    const texts = beamTexts(steps);
    const left = (column) => (FIRST + (column - 1) * COLUMN + (COLUMN - NODE)) * unit;
    const middle = (row) => (HEAD + (row + 0.5) * ROW) * unit;
    const most = Math.max(...steps.map((step) => step.length));
    plane.style.width = `${left(steps.length) + (NODE + 0.4) * unit}px`;
    plane.style.height = `${(HEAD + most * ROW + 0.3) * unit}px`;
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "vt-edges");
    svg.setAttribute("aria-hidden", "true");
    plane.append(svg);
    const root = element(plane, "span", "vt-root");
    place(root, 0, HEAD * unit, FIRST * unit, ROW * unit);
    element(root, "bdi").textContent = visible(reply.prompt.at(-1) ?? "");
    const best = reply.hypotheses[0]?.path ?? [];
    const greedy = reply.greedy ? beginningsOf(texts, reply.greedy.tokens, reply.end) : null;
    [nodes, edges, heads] = [[], [], []];
    let before = [middle(0)];
    steps.forEach((step, number) => {
      const x = left(number + 1);
      const head = element(plane, "span", "vt-column-head");
      head.textContent = `step ${number + 1}`;
      place(head, x, 0, NODE * unit, HEAD * unit);
      heads.push(head);
      const rows = beamRows(step);
      const fromX = number ? left(number) + NODE * unit : FIRST * unit;
      const made = step.map((candidate, index) => {
        const isBest = best[number] === index;
        const byGreedy = Boolean(greedy?.[number].has(index));
        const y = middle(rows[index]);
        const leaf = leafOf(candidate, texts[number][index], isBest, byGreedy);
        Object.assign(leaf.dataset, { step: number, index });
        place(leaf, x, y - (ROW / 2 - 0.12) * unit, NODE * unit, (ROW - 0.24) * unit);
        const edge = document.createElementNS(SVG, "path");
        const fromY = before[candidate.parent] ?? middle(0);
        const half = (fromX + x) / 2;
        edge.setAttribute("d", `M ${fromX} ${fromY} C ${half} ${fromY} ${half} ${y} ${x} ${y}`);
        edge.setAttribute("class", `vt-edge vt-${candidate.status}${isBest ? " vt-best" : ""}`);
        if (isBest)
          svg.append(edge); // over the others
        else svg.prepend(edge);
        edges.push([number, edge]);
        return leaf;
      });
      plane.append(...step.map((_, index) => made[rows.indexOf(index)])); // as they are read
      nodes.push(made);
      before = keptIn(step).map((index) => middle(rows[index]));
    });
  }

  function set({ reply, step, at: index, size, told }) {
    const fresh = reply !== shown || size !== shownSize;
    if (fresh) build(reply, size);
    [shown, shownSize] = [reply, size];
    nodes.forEach((column, number) =>
      column.forEach((leaf, i) => {
        leaf.hidden = number > step;
        const here = number === step && i === index;
        leaf.tabIndex = here ? 0 : -1;
        leaf.setAttribute("aria-pressed", String(here));
        leaf.classList.toggle(
          "vt-winner",
          number === told.step && i === reply.steps[told.step][told.index].beaten_by,
        );
      }),
    );
    edges.forEach(([number, edge]) => edge.toggleAttribute("hidden", number > step));
    heads.forEach((head, number) => {
      head.hidden = number > step;
      head.classList.toggle("vt-now", number === step);
    });
    at = { step, index };
    const leaf = nodes[step][index];
    if (fresh || step !== lastStep) reveal(heads[step]);
    lower(leaf);
    if (wantsFocus) leaf.focus({ preventScroll: false });
    [lastStep, wantsFocus] = [step, false];
  }

  /** Bring a column into sight, sideways only: the page stays where it is. */
  function reveal(head) {
    const [from, to] = [head.offsetLeft, head.offsetLeft + head.offsetWidth];
    if (to + 8 > box.scrollLeft + box.clientWidth) box.scrollLeft = to + 8 - box.clientWidth;
    if (from < box.scrollLeft) box.scrollLeft = Math.max(0, from - box.clientWidth / 3);
  }

  /** And a candidate of a wide beam, up or down. */
  function lower(leaf) {
    const [from, to] = [leaf.offsetTop, leaf.offsetTop + leaf.offsetHeight];
    if (to + 8 > box.scrollTop + box.clientHeight) box.scrollTop = to + 8 - box.clientHeight;
    if (from < box.scrollTop) box.scrollTop = Math.max(0, from - 40);
  }

  return { node: box, set };
}

function leafOf(candidate, text, isBest, byGreedy) {
  const classes = `vt-leaf vt-${candidate.status}${isBest ? " vt-best" : ""}${byGreedy ? " vt-greedy" : ""}`;
  const leaf = document.createElement("button");
  leaf.type = "button";
  leaf.className = classes;
  leaf.dataset.lmSuppressShortcuts = "true";
  const also = `${isBest ? " On the way to the best text." : ""}${byGreedy ? " Greedy search writes this too." : ""}`;
  leaf.title = fateInWords(candidate, text) + also; // its description: what it holds is its name
  if (candidate.status !== "kept") element(leaf, "span", "vt-mark").textContent = FATES[candidate.status][0];
  element(leaf, "bdi", "vt-leaf-token").textContent = visible(candidate.token);
  if (byGreedy) element(leaf, "span", "vt-greedy-mark").textContent = "g";
  element(leaf, "span", "vt-leaf-number").textContent = nodeNumber(candidate);
  return leaf;
}

function place(node, left, top, width, height) {
  Object.assign(node.style, {
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });
}
