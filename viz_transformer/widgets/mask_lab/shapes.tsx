// A picture of broadcasting: each mask as a stack of sheets, stretched along its axes of length 1.

import type { ComposedMask } from "./composition.ts";

const [SHEETS, STEP] = [4, 9]; // at most so many sheets, so many pixels apart
const SIDE = 150; // pixels of a sheet, at most
const NAMES = { padding: "padding", causal: "look-ahead", causal_as_padding: "look-ahead, as padding" };

interface Box {
  name: string;
  shape: string;
  /** How it is stretched or made, in words. */
  note: string;
  /** What of it is not stretched. */
  own: { sheets: number; rows: number };
  at: (b: number, q: number, k: number) => boolean;
}

/** The boxes to draw: the parts and the mask that they make. */
export function shapeBoxes(composed: ComposedMask, polarity: string): Box[] {
  const { sentences: B, queries: Q, keys: K, parts, may, isInverted, painted } = composed;
  const boxes = parts.map(({ name, shape, at }): Box => {
    const [overBatch, overQuery] = [shape[0] === 1, shape[2] === 1];
    const axes = [overBatch && "sentences", overQuery && "queries"].filter(Boolean);
    const torchs = name === "causal" ? `attn_mask [${Q}, ${K}]` : `key_padding_mask [${shape[0]}, ${K}]`;
    return {
      name: NAMES[name],
      shape: polarity === "may_not" ? torchs : `[${shape.join(", ")}]`,
      note: axes.length ? `the same for all ${axes.join(" and ")}` : "",
      own: { sheets: overBatch ? 1 : B, rows: overQuery ? 1 : Q },
      at,
    };
  });
  const steps = [
    parts.length > 1 && "joined by &",
    isInverted && "inverted by ~",
    painted.length > 0 && "painted",
  ];
  return [
    ...boxes,
    {
      name: "mask",
      shape: `[${B}, 1, ${Q}, ${K}]`,
      note: steps.filter(Boolean).join(", "),
      own: { sheets: B, rows: Q },
      at: (b, q, k) => may[b]?.[q]?.[k] ?? false,
    },
  ];
}

export function Shapes(props: { composed: ComposedMask; sentence: number; polarity: string }) {
  const boxes = shapeBoxes(props.composed, props.polarity);
  return (
    <div class="vt-boxes">
      {boxes.map((box, at) => (
        <div class="vt-box" key={box.name}>
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
