// The attention explorer: every head at a glance, one large, and who looks at whom in words.
//
// One way for the data: the model's traits and the view's own state → a snapshot → its layout → the
// drawing. Interaction reads a snapshot and the last layout, and changes traits or state alone.

import { zoomOf } from "../base/js/canvas.js";
import { createView, heightInSight } from "../base/js/view.js";
import { createMemo } from "./caches.js";
import { createHeadPictures } from "./displayed_head.js";
import { drawFrame, drawWallFrame, followFocus, placeWall } from "./drawing.js";
import { addInteraction } from "./interaction.js";
import { headsOnWall, layOut, layOutWall } from "./layout.js";
import { narrate, narrateWall } from "./narration.js";
import { addOptionsPanel } from "./options_panel.js";
import { addParts } from "./parts.js";
import { INITIAL_STATE, takeSnapshot } from "./snapshot.js";
import { addWallControls } from "./wall_controls.js";
import { WeightStore } from "./weight_store.js";

const TRAITS = [
  "data",
  "kind",
  "layer",
  "head",
  "query",
  "key",
  "selected",
  "aggregate",
  "threshold",
  "hide_special",
  "merge_words",
  "order",
  "search",
  "linked",
  "linked_heads",
  "wall",
  "scores",
  "pair",
  "segments",
  "seconds_per_frame",
  "attends_by",
  "biased",
  "grid",
  "image",
  "label_filter",
  "layer_filter",
  "least_score",
  "text_size",
];

function render({ model, el }) {
  const view = createView({ model, el, name: "explorer", label: "Attention explorer", draw, traits: TRAITS });
  const parts = addParts(view.root);
  const store = new WeightStore(model, view.redraw);
  const memo = createMemo();
  const sources = { model, store, memo, pictures: createHeadPictures(store) };
  let state = INITIAL_STATE;
  let [theme, lastHeads, layout, wall] = [null, new Map(), null, null];

  const setState = (change) => {
    state = { ...state, ...change };
    view.redraw();
  };
  const interaction = addInteraction(view, parts, {
    snapshot: () => takeSnapshot(sources, state, lastHeads), // of this moment: two keys may come in one frame
    layout: () => layout,
    wall: () => wall,
    scale: () => theme?.scale ?? 1,
    setState,
  });
  const panel = addOptionsPanel(parts.bar, parts.panel, {
    get: (trait) => model.get(trait),
    set: view.set,
    onSeveral: (selectsSeveral) => setState({ selectsSeveral }),
    onTable: (isOpen) => {
      parts.table.node.hidden = !isOpen;
      view.redraw();
    },
    onFindNext: interaction.findNext,
    onWall: interaction.showWall,
  });
  const wallControls = addWallControls(parts.wall, view.set);

  function draw({ theme: page, width, size: scale }) {
    if (store.load()) {
      sources.pictures.clear();
      memo.clear();
      state = { ...INITIAL_STATE, selectsSeveral: state.selectsSeveral };
    }
    const zoom = zoomOf(view.root);
    if (theme?.page !== page || theme.scale !== scale || theme.zoom !== zoom) {
      memo.clear();
      theme = { ...page, page, scale, zoom };
    }
    const snapshot = takeSnapshot(sources, state, lastHeads);
    lastHeads = snapshot.lastHeads;
    panel.update(snapshot);
    followFocus(parts, snapshot.options.wall);
    if (snapshot.options.wall) return drawAllHeads(snapshot, width / scale);
    wall = null;
    const scrollTop = parts.tokens.scroller.scrollTop / scale;
    // A viewer who enlarges the text enlarges the picture with it, whatever the window's height.
    const hasTable = !parts.table.node.hidden;
    const above = hasTable && snapshot.linked ? parts.table.node.offsetHeight / theme.zoom : 0;
    const height = heightInSight(view.root) - above;
    layout = layOut(snapshot, { width: width / scale, height, scrollTop, hasTable, theme, memo });
    drawFrame(parts, snapshot, layout, { theme, memo });
    narrate(parts, snapshot, layout, memo);
  }

  function drawAllHeads(snapshot, width) {
    const heads = headsOnWall(snapshot, memo);
    placeWall(parts);
    wallControls.update(snapshot, heads, theme);
    const above = parts.overview.canvas.getBoundingClientRect().top - view.root.getBoundingClientRect().top;
    const height = heightInSight(view.root) - above / theme.zoom;
    wall = layOutWall(heads, { width, height: height / theme.scale, memo });
    drawWallFrame(parts, snapshot, wall, { theme, memo });
    narrateWall(parts, snapshot);
  }

  return () => {
    store.close();
    view.close();
  };
}

export default { render };
