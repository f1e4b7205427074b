// The picture that a vision model was given, as the chosen query attends to its patches.

import { ARROWS } from "../base/keys.ts";
import { element, setText } from "../base/elements.ts";
import { addCanvasListeners } from "../base/interactive_canvas.ts";
import { onRoomKey, pin, togglePin } from "./choose.ts";
import { type Axis, tokenOf } from "./displayed_head.ts";
import {
  countApart,
  drawPicture,
  imageCanvas,
  movePatch,
  patchAt,
  pictureCaption,
  type PictureLayout,
  pictureLayout,
  tokenApart,
} from "./patch_picture.ts";
import { addRoomCanvas, type Mount } from "./room.ts";
import type { Picked } from "./selection.ts";

const LABEL = "The picture: the arrow keys choose the patch that attends";

export const patchesPicture: Mount = (room, node) => {
  const { canvas, announce, view, close } = addRoomCanvas(room, node, LABEL);
  const caption = element(node, "div", "vt-caption");
  let layout: PictureLayout | null = null;

  /** A token of the picture is a query; where queries are words, it is a key. */
  function cellAtToken(token: number): Picked | null {
    const { shown, pinned } = room.snapshot();
    const isQuery = layout!.patches.ofQueries;
    const index = (isQuery ? shown.queryAxis : shown.keyAxis).at[token];
    if (isQuery) return { query: index < 0 ? null : index, key: null, token }; // also of a hidden token
    return index < 0 ? null : { query: pinned.query, key: index };
  }

  addCanvasListeners(view, canvas, {
    scale: () => room.theme.scale,
    hitTest: (x, y) => {
      const token = layout ? patchAt(layout, x, y) : null;
      return token === null ? null : cellAtToken(token);
    },
    onPoint: (hover) => room.setState({ hover }),
    onClick: (cell) => togglePin(room, cell),
    onKey: (event) => {
      if (onRoomKey(room, event, true)) return true;
      if (!ARROWS.includes(event.key) || !layout) return false;
      const { chosen } = room.snapshot();
      const { patches } = layout;
      const cell = cellAtToken(movePatch(patches, patches.ofQueries ? chosen.query : chosen.key, event.key));
      if (cell) pin(room, cell);
      return true;
    },
  });

  return {
    close,
    /** As the active query attends to it; without one, as the first token does. */
    draw(snapshot, box) {
      const { shown, pictured, active, pinned, chosen, options, patches } = snapshot;
      if (!patches || !pictured) return;
      const { theme, memo } = room;
      const size = { width: box.width / theme.scale, height: box.height / theme.scale };
      const drawn = pictureLayout(patches, size, options.image);
      layout = drawn;
      const { limit, cols } = pictured;
      const row = active.token ?? activeToken(shown.queryAxis, active.query, pinned.query, chosen.query) ?? 0;
      const key = activeToken(shown.keyAxis, active.key, pinned.key, chosen.key);
      const query = patches.ofQueries ? row : null;
      const ofRow = <Values extends Float32Array | Uint8Array>(values: Values | null | undefined) =>
        values?.subarray(row * cols, (row + 1) * cols) as Values | undefined;
      const weights = ofRow(pictured.weights) ?? new Float32Array(cols);
      const apart = countApart(patches) === 1 ? shown.entry.keys[tokenApart(patches, 0)] : undefined;
      const image = memo("image", [options.image, limit], () =>
        options.image.width ? imageCanvas(options.image, limit !== null) : null,
      );
      const least = options.threshold * (limit ?? 1);
      const marks = { weights, masked: ofRow(pictured.masked), least, query, key, limit };
      memo("patches", [canvas, pictured.name, row, key, least, drawn.width, drawn.height, image], () => {
        drawPicture(canvas, drawn, marks, image, theme);
        const text = pictureCaption(patches, weights, query, pictured.queries[row], apart);
        setText(caption, text);
        announce({ rows: patches.rows, cols: patches.cols, row: 0, col: 0, text: text.replace("\n", ". ") });
      });
    },
  };
};

/** The token at a place of an axis; of the pinned place the pinned token, which may be hidden there. */
function activeToken(
  axis: Axis,
  place: number | null,
  pinnedPlace: number | null,
  pinnedToken: number | null,
) {
  return place === pinnedPlace ? pinnedToken : tokenOf(axis, place);
}
