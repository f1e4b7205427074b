// The block lab: the vector of one word is reversed, and each part of a block shows who moves.

import { choice, element, setText } from "../base/js/controls.js";
import { connectKernel } from "../base/js/kernel.js";
import { NewestMap } from "../base/js/newest_map.js";
import { numberTable } from "../base/js/number_table.js";
import { tokenStrip } from "../base/js/token_strip.js";
import { createView } from "../base/js/view.js";
import { addSentenceField } from "../base/js/sentence_field.js";
import { MOST, moveText, movesOf, spreadInWords } from "./spread.js";
import { addSpreadLines } from "./spread_lines.js";

const TRAITS = ["sentence", "changed", "layer", "text_size"];
/** Widths at a text size of 1: of the table without its gaps, and of each of the five gaps, for the lines. */
const [TABLE, LINES] = [600, { least: 15, most: 64 }];

function render({ model, el }) {
  const view = createView({ model, el, name: "block-lab", label: "Block lab", traits: TRAITS, draw });
  const { root } = view;
  const replies = rememberReplies(connectKernel(model), view);
  const sentence = addSentenceField(root, {
    model,
    view,
    read: (text, onSlow) =>
      replies.ask({ sentence: text, layer: model.get("layer") }, onSlow).then(({ tokens }) => {
        view.set({ sentence: text, changed: Math.min(model.get("changed"), tokens.length - 1) });
      }),
  });
  const controls = addControls(root, model, view);
  const says = element(root, "p", "vt-says", { role: "status", "aria-live": "polite" });
  const table = addTable(root, (changed) => view.set({ changed }));

  function draw({ theme, width, size }) {
    const room = (width / size - TABLE) / 5; // for each gap
    const wide = room >= LINES.least;
    root.dataset.layout = wide ? "wide" : "narrow";
    const request = { sentence: model.get("sentence"), layer: model.get("layer") };
    const { reply, failure } = replies.newest(request);
    sentence.update(request.sentence, failure);
    root.dataset.stale = String(!replies.known(request));
    if (!reply) return;
    const changed = Math.min(model.get("changed"), reply.tokens.length - 1);
    controls.update(reply.tokens, changed, request.layer);
    setText(says, spreadInWords(reply, changed));
    table.update(reply, changed, { theme, gap: size * (wide ? Math.min(room, LINES.most) : LINES.least) });
  }

  return () => {
    replies.close();
    view.close();
  };
}

/** The replies by their requests: what was once asked is shown within a frame. */
function rememberReplies(kernel, view) {
  const known = new NewestMap();
  let [shown, asked, failure] = [null, "", ""];
  const keyOf = ({ sentence, layer }) => JSON.stringify([sentence, layer]);
  const ask = (request, onSlow) =>
    kernel.ask(request, onSlow).then((reply) => {
      known.set(keyOf(request), reply);
      return reply;
    });

  /** The reply to a request, or until it is here the one before it. */
  function newest(request) {
    const key = keyOf(request);
    if (known.has(key)) {
      [shown, asked, failure] = [known.get(key), key, ""];
    } else if (asked !== key) {
      asked = key;
      const settle = (told) => {
        if (asked === key) failure = told;
        view.redraw();
      };
      kernel.latest(
        request,
        (reply) => {
          known.set(key, reply);
          settle("");
        },
        (error) => settle(error.message),
      );
    }
    return { reply: shown, failure };
  }

  return { ask, newest, known: (request) => known.has(keyOf(request)), close: kernel.close };
}

/** The words, one of which is changed, and the block. */
function addControls(root, model, view) {
  const box = element(root, "div", "vt-controls");
  const row = element(box, "div", "vt-changing");
  element(row, "span").textContent = "change the word";
  const strip = tokenStrip(row, {
    label: "change the word",
    onChoose: (changed) => view.set({ changed }),
  });
  const blocks = Array.from({ length: model.get("n_layers") }, (_, layer) => [layer, `block ${layer}`]);
  const block = choice(box, "in", blocks, (layer) => view.set({ layer: Number(layer) }));
  return {
    update(tokens, changed, layer) {
      strip.set(tokens, { chosen: changed });
      block.set(String(layer));
    },
  };
}

/** The table of moves, with the lines over it. */
function addTable(root, onChange) {
  const box = element(root, "div", "vt-spread");
  const table = numberTable(box, {
    label: "How far each word's output moves, a column for each part",
    onChoose: ({ row }) => onChange(row),
  });
  const drawLines = addSpreadLines(table.node);
  const caption =
    "How far each word's output moved, as a share of its length. The dots before a part are the vectors that it is given.";
  element(root, "p", "vt-caption").textContent = caption;

  return {
    update(reply, changed, { theme, gap }) {
      root.style.setProperty("--vt-gap", `${gap}px`);
      const values = movesOf(reply, changed);
      const marked = (row) => (row === changed ? "vt-changed" : "");
      table.set(
        {
          values,
          rowNames: reply.tokens,
          colNames: reply.parts,
          scale: "change",
          limit: MOST,
          text: moveText,
          marked,
        },
        theme,
      );
      drawLines(values, changed, gap);
    },
  };
}

export default { render };
