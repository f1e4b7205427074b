// The examples of a head card: a row for each tenth of the weight, with the words that the head looks at.

import { css, weightRgb } from "../base/colour.ts";
import { useRoom } from "../base/hooks.ts";
import type { Frame } from "../base/stage_view.tsx";
import { joinPieces, visible } from "../base/text.ts";
import { type Card, type Example, keysWithin, tenthText } from "./card.ts";
import { Button } from "../base/controls.tsx";

const FAINT = 0.02; // weight of a key that is not underlined
const GAP = 0.4; // units between keys
const BESIDE = 10.6; // units beside an example's words

/** A token as people write it. */
export const written = (token: string) => visible(joinPieces([token], true));

type Drawn = Pick<Frame<object>, "measure" | "theme" | "unit">;

interface ExamplesProps {
  frame: Drawn;
  card: Card;
  chosen: number;
  onChoose: (tenth: number) => void;
}

/** A row for each tenth: how many places there are, and the example with the most weight. */
export function Examples({ frame, card, chosen, onChoose }: ExamplesProps) {
  const { box, room } = useRoom();
  const most = Math.max(1, ...card.tenths);
  const rows = card.examples.map((example, tenth) => ({ example, tenth })).reverse();
  const width = (room?.width ?? 0) - BESIDE * frame.unit;
  return (
    <div class="vt-examples" role="group" aria-label={`Examples by weight ${card.where}`} ref={box}>
      <div class="vt-example vt-chart-title" aria-hidden="true">
        <span>weight</span>
        <span>places</span>
        <span>example</span>
      </div>
      {rows.map(({ example, tenth }) => (
        <Button
          class="vt-example"
          key={tenth}
          disabled={!example}
          aria-pressed={tenth === chosen}
          onClick={() => onChoose(tenth)}
        >
          <span class="vt-tenth">{tenthText(tenth)}</span>
          <span class="vt-tenth-count" title={`${card.tenths[tenth]} places`}>
            <span style={{ width: `${(100 * (card.tenths[tenth] ?? 0)) / most}%` }} />
          </span>
          {example ? (
            <Words frame={frame} example={example} width={width} />
          ) : (
            <span class="vt-tenth">none</span>
          )}
        </Button>
      ))}
    </div>
  );
}

/** An example's keys, each underlined as dark as its weight, and the query. */
function Words({ frame, example, width }: { frame: Drawn; example: Example; width: number }) {
  const { keys, own, query, is_cut } = example;
  const wide = (text: string) => (frame.measure(written(text), true) + GAP) * frame.unit;
  const isWritten = own === null || keys[own] !== query;
  const room = width - (isWritten ? wide(`→ ${query}`) : 0) - 2 * frame.unit;
  const kept = keysWithin(example, keys.map(wide), room);
  const last = is_cut[1] || (kept.at(-1) ?? 0) < keys.length - 1;
  return (
    <span class="vt-example-words">
      {is_cut[0] && kept[0] === 0 && "… "}
      {kept.map((at, rank) => (
        <KeyWord
          key={at}
          word={keys[at] ?? ""}
          isAfterGap={at !== (kept[rank - 1] ?? -1) + 1}
          isOwn={at === own}
          colour={colourOf(example.weights[at] ?? 0, frame)}
        />
      ))}
      {last && "… "}
      {isWritten && (
        <>
          {"→ "}
          <bdi class="vt-of-query">{written(query)}</bdi>
        </>
      )}
    </span>
  );
}

const colourOf = (weight: number, { theme }: Drawn) =>
  weight < FAINT ? "transparent" : css(weightRgb(weight, theme));

interface KeyWordProps {
  word: string;
  isAfterGap: boolean;
  isOwn: boolean;
  colour: string;
}

function KeyWord({ word, isAfterGap, isOwn, colour }: KeyWordProps) {
  return (
    <>
      {isAfterGap && "… "}
      <bdi class={`vt-example-key ${isOwn ? "vt-of-query" : ""}`} style={{ borderBottomColor: colour }}>
        {written(word)}
      </bdi>
    </>
  );
}
