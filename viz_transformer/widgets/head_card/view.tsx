// The head card: where a head looks, examples from those that follow its pattern to those that do not, all heads.

import { ARROWS, consume, hasModifier } from "../base/keys.ts";
import { useMemo } from "preact/hooks";
import { linePath } from "../base/axes.ts";
import { Bars } from "../base/bars.tsx";
import { Chart, Key } from "../base/chart.tsx";
import { useKernel } from "../base/hooks.ts";
import { Code } from "../base/python_code.tsx";
import { newestReply } from "../base/replies.ts";
import { roundTicks } from "../base/scales.ts";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { percent } from "../base/text.ts";
import { type Card, headline, headsOf, lossInWords, offsetText, type Place, sharesByOffset } from "./card.ts";
import { Examples, written } from "./examples.tsx";
import { TRAITS, type Traits } from "./traits.ts";

const MOST_BARS = 8;

interface Data {
  kind: string;
  first: Card;
}

function HeadCard(frame: Frame<Traits>) {
  const { layer, head, data } = frame.traits;
  const { kind, first } = data as unknown as Data;
  const kernel = useKernel(frame.model);
  const cards = useMemo(() => {
    const request = { layer: first.layer, head: first.head };
    return newestReply<Place, Card>(kernel, frame.redraw, { request, reply: first });
  }, [kernel, first]);
  const { now, latest, problem } = cards.want({ layer, head });
  const card = (now ?? latest)?.reply ?? first;
  const missing = now ? "" : problem ? `✗ ${problem}` : `Reading the texts for head ${layer}·${head} …`;
  return (
    <Stage
      header={[`head ${card.layer}·${card.head}`, kind, `${card.n_texts} texts`].map((told) => (
        <span class="vt-chip" key={told}>
          {told}
        </span>
      ))}
      headline={headline(card)}
      line={missing ? <span role={problem ? "alert" : "status"}>{missing}</span> : lossInWords(card)}
      inspector={<Inspector frame={frame} card={card} />}
      {...stageOf(frame)}
    >
      <div class="vt-card-parts">
        <Offsets frame={frame} card={card} />
        <AllHeads frame={frame} card={card} />
        <Examples
          {...{ frame, card, chosen: frame.traits.example }}
          onChoose={(example) => frame.set({ example })}
        />
      </div>
    </Stage>
  );
}

interface PartProps {
  frame: Frame<Traits>;
  card: Card;
}

/** How much of its weight a head puts how far before or after the query. */
function Offsets({ frame, card }: PartProps) {
  const bars = sharesByOffset(card);
  const [least, most] = [bars[0]?.offset ?? 0, bars.at(-1)?.offset ?? 0];
  const highest = Math.max(0.1, ...bars.map(({ share, even }) => Math.max(share, even)));
  const offsets = bars.map(({ offset }) => offset);
  return (
    <Chart
      title="where it looks"
      label="Share of the weight by distance"
      frame={frame}
      x={{ domain: [least - 0.6, most + 0.6], text: offsetText, label: "positions from the query" }}
      y={{ domain: [0, highest], text: percent }}
      legend={
        <>
          <Key kind="vt-card-bar">this head</Key>
          <Key kind="vt-level">even</Key>
        </>
      }
    >
      {(plot) => {
        const width = Math.max(1, 0.8 * (plot.x.pixel(1) - plot.x.pixel(0)));
        return (
          <>
            {bars.map(({ offset, share }) => (
              <rect
                key={offset}
                class="vt-card-bar"
                x={plot.x.pixel(offset) - width / 2}
                y={plot.y.pixel(share)}
                width={width}
                height={Math.max(0, plot.bottom - plot.y.pixel(share))}
              >
                <title>{`${offsetText(offset)}: ${percent(share)}`}</title>
              </rect>
            ))}
            <path
              class="vt-level"
              d={linePath(
                plot,
                offsets,
                bars.map(({ even }) => even),
              )}
            />
          </>
        );
      }}
    </Chart>
  );
}

/** All heads: how much of their weight follows the pattern, and how broadly they look. One is in the Tab order. */
function AllHeads({ frame, card }: PartProps) {
  const heads = headsOf(card);
  const highest = Math.max(0.1, ...heads.map(({ entropy }) => entropy));
  const isChosen = ({ layer, head }: Place) => layer === frame.traits.layer && head === frame.traits.head;
  const choose = ({ layer, head }: Place) => frame.set({ layer, head });
  const onKeyDown = (event: KeyboardEvent) => {
    if (!ARROWS.includes(event.key) || hasModifier(event)) return;
    const at = Number((event.target as SVGElement).dataset.at);
    const step = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : -1;
    const next = (at + step + heads.length) % heads.length;
    choose(heads[next]!);
    (event.currentTarget as SVGElement).querySelector<SVGElement>(`[data-at="${next}"]`)?.focus();
    consume(event);
  };
  return (
    <Chart
      title="all heads: breadth"
      label="All heads by weight and by breadth, as a share of the greatest entropy"
      frame={frame}
      x={{ domain: [-0.04, 1.04], ticks: [0, 0.5, 1], text: percent, label: `weight, ${card.pattern}` }}
      y={{ domain: [-0.04 * highest, 1.1 * highest], ticks: roundTicks([0, highest], 2), text: percent }}
    >
      {({ x, y }) => (
        <g role="group" aria-label="Heads" onKeyDown={onKeyDown}>
          {heads.map((place) => (
            <circle
              key={place.at}
              class="vt-head-point"
              role="button"
              tabindex={isChosen(place) ? 0 : -1}
              aria-pressed={isChosen(place)}
              aria-label={`head ${place.layer}·${place.head}, ${percent(place.score)}`}
              data-at={place.at}
              cx={x.pixel(place.score)}
              cy={y.pixel(place.entropy)}
              r={isChosen(place) ? 9 : 6}
              data-lm-suppress-shortcuts="true"
              onClick={() => choose(place)}
            >
              <title>{`head ${place.layer}·${place.head}: ${percent(place.score)}`}</title>
            </circle>
          ))}
        </g>
      )}
    </Chart>
  );
}

/** The chosen example's weights, what the label rests on, and the line of Python that gives all numbers. */
function Inspector({ frame, card }: PartProps) {
  const example = card.examples[frame.traits.example];
  const bars = (example?.keys ?? [])
    .map((key, at) => [written(key), example?.weights[at] ?? 0] as const)
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_BARS);
  return (
    <>
      {example && (
        <section aria-label="Weights of the example">
          <b class="vt-of-query">
            <bdi>{written((example.own !== null && example.keys[example.own]) || example.query)}</bdi>
          </b>{" "}
          looks at
          <Bars theme={frame.theme} label="weights" kind="weight" bars={bars} />
        </section>
      )}
      <p>
        {card.label ? (
          <>
            <b>{card.label.name}</b>: {card.label.sentence}.
          </>
        ) : (
          "No label holds for this head over these texts."
        )}
      </p>
      <p class="vt-equation">
        held: {Math.round(card.held * card.n_told)} / {card.n_told} = {percent(card.held)}
      </p>
      <Code lines={["view.card.held", "view.card.weight_by_offset"]} />
    </>
  );
}

export default stageView<Traits>({
  name: "head-card",
  label: "Head card",
  traits: TRAITS,
  draw: HeadCard,
});
