// All heads as small pictures beside the stage, the chosen one outlined.

import { ARROWS } from "../base/keys.ts";
import {
  drawHeadGrid,
  headAt,
  type HeadGridLayout,
  headGridLayout,
  type KindHeads,
  moveHead,
  paintThumbnails,
} from "../base/head_grid.ts";
import { addCanvasListeners } from "../base/interactive_canvas.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import { chooseHead, onRoomKey } from "./choose.ts";
import { addRoomCanvas, type Mount } from "./room.ts";
import { withHead } from "./selection.ts";
import { headInWords } from "./sentences.ts";

const [NARROWEST, IN_A_STRIP] = [90, 68]; // a kind with its short title
const TITLE = 66; // that title, beside its heads in a strip
const LABEL =
  "All heads: the arrow keys choose layer and head, Space selects several, W shows all large, Enter opens one";

/** Labels stand on the wall and in the inspector: a small picture has no room for them, nor for a long title. */
const unlabelled = <Section extends KindHeads>(section: Section): Section => ({
  ...section,
  labels: undefined,
  title: ATTENTION_KINDS[section.kind].name,
});

/** The heads of all kinds, in the order of the paper. */
export const headsPicture: Mount = (room, node) => {
  const { canvas, announce, view, close } = addRoomCanvas(room, node, LABEL);
  let layout: HeadGridLayout | null = null;

  addCanvasListeners(view, canvas, {
    scale: () => room.theme.scale,
    hitTest: (x, y) => (layout ? headAt(layout, x, y) : null),
    onPoint: (hoveredHead) => room.setState({ hoveredHead }),
    onClick: (head, event) => chooseHead(room, head, event),
    onKey: (event) => {
      const { chosen, sections } = room.snapshot();
      if (ARROWS.includes(event.key)) chooseHead(room, moveHead(sections, chosen, event.key));
      else if (event.key === " ") room.set(withHead(chosen, [chosen.layer, chosen.head]));
      else return onRoomKey(room, event, false);
      return true;
    },
  });

  return {
    close,
    draw(snapshot, box) {
      const { chosen, shown, linked, sections, state, chosenOf, overviewOf } = snapshot;
      const { theme, memo } = room;
      const [width, height] = [box.width / theme.scale, box.height / theme.scale];
      const titles = width > height ? TITLE : 0;
      const heads = memo("heads", [sections, width, height], () =>
        headGridLayout(
          sections.map(unlabelled),
          width,
          height,
          width > height ? IN_A_STRIP : NARROWEST,
          titles,
        ),
      );
      layout = heads;
      const thumbnails = memo("thumbnails", [heads], () => paintThumbnails(overviewOf, heads, theme));
      const others = sections.filter(({ kind }) => linked && kind !== chosen.kind);
      const marks = {
        chosen: { kind: chosen.kind, layer: chosen.layer, head: chosen.head },
        shown: shown.heads,
        hovered: state.hoveredHead,
        others: others.map(({ kind }) => chosenOf(kind)),
      };
      // The pointer mostly moves over other parts: what it does not change is not drawn again.
      memo("overview", [canvas, thumbnails, JSON.stringify(marks)], () =>
        drawHeadGrid(canvas, heads, thumbnails, marks, theme),
      );
      const own = sections.findIndex(({ kind }) => kind === chosen.kind);
      const before = sections.slice(0, own).reduce((sum, { layers }) => sum + layers, 0);
      announce({
        rows: sections.reduce((sum, { layers }) => sum + layers, 0),
        cols: Math.max(...sections.map(({ heads: count }) => count)),
        row: before + chosen.layer,
        col: chosen.head,
        text: headInWords(sections[own], chosen),
      });
    },
  };
};
