// All heads on the stage, as large as they fit, with the labels that they have earned.

import { ARROWS } from "../base/keys.ts";
import { addCanvasListeners } from "../base/interactive_canvas.ts";
import { chooseHead, onRoomKey, showWall } from "./choose.ts";
import type { DisplayedHead } from "./displayed_head.ts";
import { boxMark, shadeOf } from "./passage.ts";
import { addRoomCanvas, type Mount, type Room } from "./room.ts";
import { withHead } from "./selection.ts";
import { headInWords } from "./sentences.ts";
import type { Snapshot } from "./snapshot.ts";
import { drawWall, paintWall, pictureBox } from "./wall_drawing.ts";
import { wallHeads } from "./wall_heads.ts";
import { moveOnWall, wallHeadAt, type WallLayout, wallLayout } from "./wall_layout.ts";

const LABEL =
  "All heads: the arrow keys choose layer and head, Space selects several, Enter opens one, W goes back";

/** The heads of each kind on the wall, as they are sorted and filtered. */
export function headsOnWall({ sections, options }: Snapshot, { memo }: Room) {
  const { order, filter } = options;
  return memo("wallHeads", [sections, JSON.stringify([order, filter])], () =>
    sections.map((section) => ({ ...section, ...wallHeads(section, { order, ...filter }) })),
  );
}

export const wallPicture: Mount = (room, node) => {
  const { canvas, announce, view, close } = addRoomCanvas(room, node, LABEL);
  let layout: WallLayout | null = null;
  let drawn: { order: string; entries: Map<string, Snapshot["sections"][number]> } | null = null;

  /** The cell of a weight in a small picture, which has all tokens. */
  function markOf(shown: DisplayedHead, query: number, key: number) {
    const { entry, heads, plain, weights, limit, rows, cols } = shown;
    const section = layout?.sections.find(({ kind }) => kind === entry.kind);
    const slot = section?.slots[heads[0][0] * section.heads + heads[0][1]] ?? -1;
    if (!section || !drawn || !plain || slot < 0) return null;
    const { x, y, width, height } = pictureBox(section, slot, drawn.entries.get(entry.kind)!, drawn.order);
    const [across, down] = [width / cols, height / rows];
    const shade = shadeOf(weights![query * cols + key], limit);
    return boxMark([x + key * across, y + query * down, across, down], shade);
  }

  addCanvasListeners(view, canvas, {
    scale: () => room.theme.scale,
    hitTest: (x, y) => layout && wallHeadAt(layout, x, y),
    onPoint: (hoveredHead) => room.setState({ hoveredHead }),
    onClick: (head, event) => chooseHead(room, head, event),
    onKey: (event) => {
      const { chosen } = room.snapshot();
      const to = layout && ARROWS.includes(event.key) ? moveOnWall(layout, chosen, event.key) : null;
      if (to) chooseHead(room, to);
      else if (event.key === " ") room.set(withHead(chosen, [chosen.layer, chosen.head]));
      else if (event.key === "Enter") showWall(room, false);
      else return onRoomKey(room, event, false);
      return true;
    },
  });

  return {
    close,
    marks: { on: canvas, of: markOf },
    draw(snapshot, box) {
      const { chosen, sections, options, state, overviewOf } = snapshot;
      const { theme, memo } = room;
      const heads = headsOnWall(snapshot, room);
      const [width, height] = [box.width / theme.scale, Math.floor(box.height / theme.scale)];
      const wall = memo("wall", [heads, width, height], () => wallLayout(heads, width, height));
      layout = wall;
      const entries = new Map(sections.map((section) => [section.kind, section]));
      drawn = { order: options.order, entries };
      const sheet = memo("wallSheet", [wall, sections], () =>
        paintWall(wall, overviewOf, entries, options.order, theme),
      );
      const marks = { chosen, selected: chosen.selected, hovered: state.hoveredHead };
      memo("wallMarks", [canvas, sheet, JSON.stringify(marks)], () =>
        drawWall(canvas, wall, sheet, marks, overviewOf, entries, theme),
      );
      announce({
        rows: sections.reduce((sum, { layers }) => sum + layers, 0),
        cols: Math.max(...sections.map(({ heads: count }) => count)),
        row: chosen.layer,
        col: chosen.head,
        text: headInWords(entries.get(chosen.kind)!, chosen),
      });
    },
  };
};
