// A picture of broadcasting: each mask as a stack of sheets, stretched along its axes of length 1.

import { type Box, type ComposedMask, shapeBoxes } from "./composition.ts";

const [SHEETS, STEP] = [4, 9]; // at most so many sheets, so many pixels apart
const SIDE = 150; // pixels of a sheet, at most
export function Shapes(props: { composed: ComposedMask; sentence: number; polarity: string }) {
  const boxes = shapeBoxes(props.composed, props.polarity);
  return (
    <div class="vt-beside">
      {boxes.map((box, at) => (
        <div class="vt-beside" key={box.name}>
          {at > 0 && <span class="vt-joins">{at < boxes.length - 1 ? "&" : "="}</span>}
          <figure>
            <Stack {...props} box={box} />
            <figcaption>
              <b>{box.name}</b> <code>{box.shape}</code> {box.note}
            </figcaption>
          </figure>
        </div>
      ))}
    </div>
  );
}

/** A mask as sheets, one for each sentence, that on screen in front; what is stretched is faint. */
function Stack({ composed, sentence, box }: { composed: ComposedMask; sentence: number; box: Box }) {
  const { sentences, queries, keys } = composed;
  const sheets = Math.min(sentences, SHEETS);
  const cell = Math.max(4, Math.min(15, SIDE / Math.max(queries, keys)));
  const [width, height, depth] = [cell * keys, cell * queries, STEP * (sheets - 1)];
  return (
    <svg width={width + depth + 2} height={height + depth + 2} aria-hidden="true">
      {Array.from({ length: sheets }, (_, at) => sheets - 1 - at).map((sheet) => {
        const b = (sentence + sheet) % sentences;
        let [open, stretched, closed] = ["", "", ""];
        for (let q = 0; q < queries; q++)
          for (let k = 0; k < keys; k++) {
            const [x, y] = [k * cell + 1, q * cell + 1];
            if (!box.at(b, q, k)) closed += `M${x} ${y + cell - 2}l${cell - 2} ${2 - cell}`;
            else if (q < box.own.rows && sheet < box.own.sheets) open += square(x, y, cell - 2);
            else stretched += square(x, y, cell - 2);
          }
        return (
          <g key={sheet} transform={`translate(${sheet * STEP + 1} ${(sheets - 1 - sheet) * STEP + 1})`}>
            <rect class="vt-sheet-edge" width={width} height={height} />
            <path class="vt-sheet-open" d={open} />
            <path class="vt-sheet-stretched" d={stretched} />
            <path class="vt-sheet-closed" d={closed} />
          </g>
        );
      })}
    </svg>
  );
}

const square = (x: number, y: number, side: number) => `M${x} ${y}h${side}v${side}h${-side}z`;
