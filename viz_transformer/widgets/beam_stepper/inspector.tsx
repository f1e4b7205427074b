// The inspector: a candidate against its rivals, its probability as a product, what it looked at, and the others.

import type { ComponentChildren } from "preact";
import { Bars } from "../base/bars.tsx";
import { Button, Choice } from "../base/controls.tsx";
import { Doors } from "../base/doors.tsx";
import { Code } from "../base/python_code.tsx";
import type { Frame } from "../base/stage_view.tsx";
import { runningText, shortened, shortNumber, visible } from "../base/text.ts";
import {
  attentionKeys,
  attentionOf,
  chanceOf,
  parentOf,
  type Position,
  type SearchResult,
  tokenChance,
  type Traits,
} from "./candidates.ts";
import { codeOf, describeFilters, fateOf, formatNats, markOf } from "./sentences.ts";

const LETTERS = 18; // of a word in a sentence

const short = (value: number): string => shortNumber(value, 3);

interface InspectorProps {
  frame: Frame<Traits>;
  result: SearchResult;
  step: number;
  /** The candidate that is explained. */
  explained: Position;
  live: boolean;
  /** The layer and the head whose attention is shown. */
  place: { layer: number; head: number | null };
  onChoose: (position: Position) => void;
}

export function Inspector(props: InspectorProps) {
  const { frame, result, explained, live } = props;
  const { step, index } = explained;
  const candidate = result.steps[step][index];
  return (
    <>
      <Rivals {...props} />
      <p class="vt-says">
        {markOf(candidate)} {fateOf(candidate)}
      </p>
      <Equation {...props} />
      {result.attention && <Looks {...props} attention={result.attention} />}
      <Code lines={[codeOf(result.request, explained, live && frame.traits.decodes)]} />
      <Candidates {...props} />
      <Doors />
    </>
  );
}

/** The words that could follow the same text, with the model's probability of each. */
function Rivals({ frame, result, explained, onChoose }: InspectorProps) {
  const { step, index } = explained;
  const { parent } = result.steps[step][index];
  const rivals = result.steps[step].flatMap((each, at) => (each.parent === parent ? [at] : []));
  const before = result.texts[step][index].at(-2) ?? (result.prompt.length > 1 && result.prompt.at(-1));
  return (
    <>
      <p>
        {before ? (
          <>
            The model's next word after <bdi class="vt-of-query">{shortened(before, LETTERS)}</bdi>
          </>
        ) : (
          "The model's first word"
        )}
      </p>
      <Bars
        theme={frame.theme}
        label="probability of the next word"
        kind="probability"
        bars={rivals.map(
          (at) => [result.steps[step][at].token, tokenChance(result.steps[step][at])] as const,
        )}
        chosen={rivals.indexOf(index)}
        onChoose={(at) => onChoose({ step, index: rivals[at] })}
      />
    </>
  );
}

/** The probability of the text so far as a product, its logarithm, and its score. */
function Equation({ result, explained }: InspectorProps) {
  const { steps, texts, sampled } = result;
  const { step, index } = explained;
  const candidate = steps[step][index];
  const { log_prob: logProb, score } = candidate;
  const before = parentOf(steps, step, index);
  const factors =
    before === null
      ? ""
      : `${short(chanceOf(steps[step - 1][before]))} × ${short(tokenChance(candidate))} = `;
  const isScored = logProb && score && logProb !== score && Math.abs(score) >= 0.0005;
  return (
    <p class="vt-equation">
      P(<bdi class="vt-of-query">{shortened(runningText(texts[step][index]), 3 * LETTERS)}</bdi>) = {factors}
      <b>{short(chanceOf(candidate))}</b>
      <br />
      log P = <b>{formatNats(logProb)}</b>
      {!sampled && (
        <>
          <br />
          score = {isScored && `${formatNats(logProb)} / ${formatNats(logProb / score)} = `}
          <b>{formatNats(score)}</b>
        </>
      )}
    </p>
  );
}

/** A part that opens in its place; the trait `unfolded` has the names of those that are open. */
function Fold(props: {
  frame: Frame<Traits>;
  name: string;
  title: ComponentChildren;
  children: ComponentChildren;
}) {
  const { frame, name, title, children } = props;
  const isOpen = frame.traits.unfolded.includes(name);
  return (
    <section class={`vt-fold vt-${name}`}>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() =>
          frame.set(({ unfolded }) => ({
            unfolded: isOpen ? unfolded.filter((each) => each !== name) : [...unfolded, name],
          }))
        }
      >
        <span>{title}</span> {isOpen ? "▾" : "▸"}
      </button>
      {isOpen && children}
    </section>
  );
}

function Looks(props: InspectorProps & { attention: NonNullable<SearchResult["attention"]> }) {
  const { frame, result, explained, place, attention } = props;
  const { step, index } = explained;
  const weights = attentionOf(result, explained, place.layer, place.head) ?? [];
  const keys = attentionKeys(result, result.texts[step][index]);
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, at) => [String(at), String(at)] as const);
  const word = shortened(result.steps[step][index].token, LETTERS);
  return (
    <Fold
      frame={frame}
      name="looks"
      title={
        <>
          What <bdi class="vt-of-query">{word}</bdi> looked at
        </>
      }
    >
      <p class="vt-place vt-beside">
        <Choice
          label="layer"
          value={String(place.layer)}
          options={numbered(attention.layers)}
          onChoose={(layer) => frame.set({ layer: Number(layer) })}
        />
        <Choice
          label="head"
          value={String(place.head ?? "")}
          options={[["", "mean of heads"], ...numbered(attention.heads)]}
          onChoose={(head) => frame.set({ head: head === "" ? null : Number(head) })}
        />
      </p>
      <Bars
        theme={frame.theme}
        label="weights"
        kind="weight"
        bars={keys.map((key, at) => [key, weights[at] ?? 0] as const)}
      />
    </Fold>
  );
}

function Candidates({ frame, result, step, explained, onChoose }: InspectorProps) {
  const all = result.steps[step];
  const kept = all.filter(({ status }) => status === "kept").length;
  return (
    <Fold frame={frame} name="candidates" title={`All ${all.length} candidates, ${kept} kept`}>
      {result.sampled && <p class="vt-line">Drawn with {describeFilters(result.request)}</p>}
      <ol>
        {all.map((each, index) => (
          <li key={`${index}`}>
            <Button
              aria-pressed={step === explained.step && index === explained.index}
              onClick={() => onChoose({ step, index })}
            >
              <bdi class="vt-of-query">{visible(runningText(result.texts[step][index]))}</bdi>
            </Button>
            <span>
              {result.sampled
                ? `probability ${tokenChance(each).toFixed(3)}, drawn with ${(each.share ?? 0).toFixed(3)}`
                : `log P ${formatNats(each.log_prob)}, score ${formatNats(each.score)}`}
            </span>
            <span class="vt-fate">
              {markOf(each)} {fateOf(each)}
            </span>
          </li>
        ))}
      </ol>
    </Fold>
  );
}
