// The words of a live model in another order: each as a lane from where it was written to where it is read, and
// how far its vector moves.

import type { Theme } from "../base/colour.ts";
import { useRoom, useTween } from "../base/hooks.ts";
import { Knob } from "../base/knob.tsx";
import { elide, formatWeight, visible } from "../base/text.ts";
import type { Reply } from "./sentences.ts";
import { placed } from "./shift.ts";

interface LanesProps {
  sentence: readonly string[];
  order: readonly number[];
  /** The newest reply, and whether it is that to this order. */
  reply?: Reply;
  isNew: boolean;
  theme: Theme;
  /** Pixels of text. */
  unit: number;
  /** The place whose word is chosen. */
  chosen: number;
  /** Absent where no other order can be read. */
  onOrder?: (order: number[]) => void;
  redraw: () => void;
}

/** The picture: words as written at the left, as read in the middle, and bars. */
export function Lanes(props: LanesProps) {
  const { sentence, order, reply, isNew, theme, unit, chosen, onOrder, redraw } = props;
  const { box, room } = useRoom();
  const { move } = useTween(redraw);
  const [least, head] = [(2.4 * order.length + 2) * unit, 1.8 * unit];
  const height = Math.max(room?.height ?? 0, least);
  const width = room?.width ?? 0;
  const lane = (height - head) / order.length;
  const measure = (text: string) => theme.measure(text, unit, true);
  const widest = Math.max(...sentence.map((word) => measure(visible(word))));
  const column = Math.min(0.26 * width, widest + 2.4 * unit);
  const knob = Math.max(0.36 * width, column + 2 * unit);
  const bars = knob + 1.6 * unit + column;
  const places = sentence.map((_, word) => order.indexOf(word));
  const shown = move([...places, ...sentence.map((_, word) => reply?.moved[word] ?? 0)]);
  const perLength = Math.max(0, width - bars - 3.4 * unit) / Math.max(1, ...(reply?.moved ?? [])); // of a vector
  const y = (place: number) => head + lane * (place + 0.5);
  const change = ["its vector changes by", "change"].find((title) => measure(title) < width - bars) ?? "";
  const titles = { "as written": 0, "as read": knob, [change]: bars };
  return (
    <div class="vt-positions" ref={box} style={{ "min-height": `${least}px` }}>
      {room && (
        <svg
          class="vt-over vt-lanes"
          {...{ width, height }}
          role="group"
          aria-label="Words and their vectors"
        >
          {Object.entries(titles).map(([title, x]) => (
            <text key={title} x={x} y={0.7 * unit}>
              {title}
            </text>
          ))}
          {sentence.map((token, word) => {
            const [at, to, middle] = [y(word), y(shown[word]), (column + knob) / 2];
            const length = shown[sentence.length + word] * perLength;
            const bar = `${0.44 * lane}px`;
            const name = elide(visible(token), column - 2.2 * unit, measure);
            return (
              <g key={`${word}`} data-elsewhere={places[word] !== word}>
                {[
                  [word, 0, at],
                  [places[word], knob + 1.4 * unit, to],
                ].map(([place, x, y], which) => (
                  <text key={`${which}`} {...{ x, y }}>
                    {place}
                    <tspan class="vt-lane-name" x={x + 1.6 * unit} data-chosen={which && place === chosen}>
                      {name}
                    </tspan>
                  </text>
                ))}
                <path class="vt-lane" d={`M${column} ${at}C${middle} ${at} ${middle} ${to} ${knob} ${to}`} />
                <path class="vt-whole" d={`M${bars} ${to}h${perLength}`} style={{ "stroke-width": bar }} />
                <path class="vt-moved" d={`M${bars} ${to}h${length + 1}`} style={{ "stroke-width": bar }} />
                <text class="vt-amount" x={Math.max(bars + length, bars + perLength) + 8} y={to}>
                  {reply && isNew && formatWeight(reply.moved[word])}
                </text>
                {onOrder && (
                  <Knob
                    label={`place of ${visible(token)}`}
                    value={places[word]}
                    text={`read at place ${places[word]}, written at ${word}`}
                    values={order.map((_, place) => place)}
                    axis="y"
                    isDown
                    x={knob}
                    y={to}
                    valueAt={(_, toY) => (toY - head) / lane - 0.5}
                    onMove={(next) => onOrder(placed(order, places[word], next))}
                  />
                )}
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
