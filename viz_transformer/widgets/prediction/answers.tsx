// What a prediction is answered with: a number to type, answers or words to choose from, a row to draw.

import { useState } from "preact/hooks";
import { NumberField, Problem, Push } from "../base/card.tsx";
import { visible } from "../base/js/text.js";
import { percent } from "../base/percent.ts";
import { readGuess } from "./verdict.ts";
import type { Traits } from "./traits.ts";

interface Props {
  traits: Readonly<Traits>;
  onGuess: (guess: unknown) => void;
}

export function Answers({ traits, onGuess }: Props) {
  const [problem, setProblem] = useState("");
  const { kind, options } = traits;
  function submit(given: unknown): void {
    const { guess, problem: why = "" } = readGuess(kind, given);
    setProblem(why);
    if (!why) onGuess(guess);
  }
  const parts = { traits, submit, isWrong: problem !== "", onInput: () => setProblem("") };
  return (
    <div class="vt-answers">
      {kind === "number" && <NumberAnswer {...parts} />}
      {kind === "row" && <RowAnswer {...parts} />}
      {(kind === "choice" || kind === "key") &&
        options.map((option, place) => (
          <Push key={place} onClick={() => submit(kind === "key" ? place : option)}>
            <bdi>{kind === "key" ? visible(option) : option}</bdi>
          </Push>
        ))}
      {problem && <Problem>{problem}</Problem>}
    </div>
  );
}

interface Parts {
  traits: Readonly<Traits>;
  submit: (given: unknown) => void;
  isWrong: boolean;
  onInput: () => void;
}

function NumberAnswer({ traits, submit, isWrong, onInput }: Parts) {
  const [text, setText] = useState("");
  return (
    <>
      <NumberField
        label={traits.question}
        placeholder="a number"
        size={10}
        value={text}
        isWrong={isWrong}
        onInput={(typed) => {
          setText(typed);
          onInput();
        }}
        onEnter={() => submit(text)}
      />
      {traits.unit && <span>{traits.unit}</span>}
      <Push onClick={() => submit(text)}>Predict</Push>
    </>
  );
}

/** A bar for each key, drawn by dragging its end; beside it its share of all that is drawn. */
function RowAnswer({ traits, submit, onInput }: Parts) {
  const [drawn, setDrawn] = useState(() => traits.options.map(() => 0));
  const total = drawn.reduce((sum, each) => sum + each, 0) || 1;
  return (
    <>
      <p class="vt-note">Drag each bar. Only their proportions count: together they make 100%.</p>
      <div class="vt-lanes">
        {traits.options.map((key, place) => (
          <label class="vt-lane" key={place}>
            <bdi class="vt-lane-name">{visible(key)}</bdi>
            <input
              type="range"
              min={0}
              max={1}
              step={0.05}
              value={drawn[place]}
              style={{ "--drawn": String(drawn[place]) }}
              aria-label={visible(key)}
              aria-valuetext={percent(drawn[place]! / total)}
              data-lm-suppress-shortcuts="true"
              onInput={(event) => {
                const value = Number(event.currentTarget.value);
                setDrawn((now) => now.map((each, at) => (at === place ? value : each)));
                onInput();
              }}
            />
            <span class="vt-lane-number">{percent(drawn[place]! / total)}</span>
          </label>
        ))}
      </div>
      <Push onClick={() => submit(drawn)}>Predict</Push>
    </>
  );
}
