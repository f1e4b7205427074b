// The whole model on a phone: blocks from bottom to top, the encoder beside the decoder. A tap chooses a block, and
// one more on an attention goes into its layer.

import { useLayoutEffect, useRef } from "preact/hooks";
import { paintWeights } from "../base/heads.tsx";
import type { Theme } from "../base/colour.ts";
import { type Box, isAttention, type Stack } from "./steps.ts";
import { drawnWeights, type Reply, tokensOf, weightsOf } from "./values.ts";

const MAIN = ["embedding", "feed_forward", "output"]; // besides attentions

/** A block, and the boxes that it stands for: sums and norms belong to what is before them. */
interface Block {
  box: Box;
  keys: string[];
}

export function blocksOf(boxes: readonly Box[]): Block[] {
  const blocks: Block[] = [];
  let ahead: string[] = []; // of the next block
  for (const box of boxes) {
    const last = blocks.at(-1);
    const isSame = last?.box.stack === box.stack && last.box.layer === box.layer;
    if (isAttention(box) || MAIN.includes(box.part)) {
      blocks.push({ box, keys: [...ahead, box.key] });
      ahead = [];
    } else if (isSame) last.keys.push(box.key);
    else ahead.push(box.key);
  }
  blocks.at(-1)?.keys.push(...ahead);
  return blocks;
}

interface TowerProps {
  reply: Reply;
  boxes: readonly Box[];
  box: Box;
  rows: ReadonlyMap<string, number>;
  head: number | null;
  nHeads: number;
  theme: Theme;
  partName: (box: Box) => string;
}

export function Tower(props: TowerProps) {
  const blocks = blocksOf(props.boxes);
  const stacks = [...new Set(blocks.map(({ box }) => box.stack))];
  return (
    <div class="vt-tower">
      {stacks.map((stack) => {
        const own = blocks.filter(({ box }) => box.stack === stack);
        const layers = [...new Set(own.map(({ box }) => box.layer))];
        const parts = (layer: number | null, isEnd: boolean) =>
          own
            .filter(({ box }) => box.layer === layer && (box.part === "output") === isEnd)
            .map((block) => <Part key={block.box.key} {...props} block={block} />);
        return (
          <div class="vt-stack" key={stack}>
            {parts(null, false)}
            {layers.map(
              (layer) =>
                layer !== null && (
                  <div class="vt-layer" key={layer}>
                    <span class="vt-caption">
                      {stack} layer {layer}
                    </span>
                    {parts(layer, false)}
                  </div>
                ),
            )}
            {parts(null, true)}
          </div>
        );
      })}
    </div>
  );
}

function Part(props: TowerProps & { block: Block }) {
  const { block, box: chosen, rows, partName } = props;
  const { box, keys } = block;
  const isChosen = keys.includes(chosen.key);
  return (
    <button
      type="button"
      class="vt-block"
      tabIndex={-1}
      data-key={box.key}
      data-depth={isChosen && isAttention(box) ? "layer" : "model"}
      data-part={box.part}
      data-chosen={isChosen}
      data-there={(rows.get(box.key) ?? 0) > 0}
    >
      {partName(box)}
      {isAttention(box) && <Weights {...props} />}
    </button>
  );
}

/** What each word that has come attends to, a pixel for each weight. */
function Weights({ block: { box }, reply, rows, head, nHeads, theme }: TowerProps & { block: Block }) {
  const node = useRef<HTMLCanvasElement>(null);
  const n = rows.get(box.key) ?? 0;
  const wordsOf = (stack: Stack) => tokensOf(reply, stack).length;
  useLayoutEffect(() => {
    const [height, width] = [
      wordsOf(box.stack),
      wordsOf(box.part === "cross_attention" ? "encoder" : box.stack),
    ];
    const weights = Array.from({ length: height }, (_, row) =>
      row < n ? drawnWeights(weightsOf(reply, box, row, nHeads), head) : Array<number>(width).fill(0),
    );
    paintWeights(node.current!, weights.flat(), [height, width], theme);
  }, [reply, n, head, theme]);
  return <canvas ref={node} />;
}
