// What a prediction is answered with: a number to type, answers or words to choose from, a row to draw.

import { useState } from "preact/hooks";
import { NumberField, Problem } from "../base/card.tsx";
import { percent, visible } from "../base/text.ts";
import type { Traits } from "./traits.ts";
import { readGuess } from "./verdict.ts";
import { Button } from "../base/controls.tsx";

interface AnswersProps {
  traits: Readonly<Traits>;
  onGuess: (guess: unknown) => void;
}

export function Answers({ traits: { kind, options, question, unit }, onGuess }: AnswersProps) {
  const [text, setText] = useState("");
  const [drawn, setDrawn] = useState(() => options.map(() => 0));
  const [problem, setProblem] = useState("");
  function submit(given: unknown): void {
    const { guess, problem: why = "" } = readGuess(kind, given);
    setProblem(why);
    if (!why) onGuess(guess);
  }
  function put(key: number, value: number): void {
    setDrawn((now) => now.map((each, at) => (at === key ? value : each)));
    setProblem("");
  }
  const typed = {
    label: question,
    value: text,
    isWrong: problem !== "",
    onInput: (input: string) => {
      setText(input);
      setProblem("");
    },
    onEnter: () => submit(text),
  };
  return (
    <div class="vt-answers">
      {kind === "number" && <NumberField {...typed} placeholder="a number" size={10} />}
      {kind === "number" && unit && <span>{unit}</span>}
      {kind === "row" && <Row keys={options} drawn={drawn} put={put} />}
      {kind === "number" || kind === "row" ? (
        <Button onClick={() => submit(kind === "row" ? drawn : text)}>Predict</Button>
      ) : (
        options.map((option, place) => (
          <Button key={place} onClick={() => submit(kind === "key" ? place : option)}>
            <bdi>{kind === "key" ? visible(option) : option}</bdi>
          </Button>
        ))
      )}
      {problem && <Problem>{problem}</Problem>}
    </div>
  );
}

interface RowProps {
  keys: string[];
  drawn: number[];
  put: (key: number, value: number) => void;
}

/** A bar for each key, drawn by dragging its end; beside it its share of all that is drawn. */
function Row({ keys, drawn, put }: RowProps) {
  const total = drawn.reduce((sum, each) => sum + each, 0) || 1;
  return (
    <>
      <p class="vt-how">Drag each bar. Only their proportions count: together they make 100%.</p>
      <div class="vt-lanes">
        {keys.map((key, at) => (
          <label class="vt-lane" key={at}>
            <bdi class="vt-lane-name">{visible(key)}</bdi>
            <input
              type="range"
              {...{ min: 0, max: 1, step: 0.05, value: drawn[at] }}
              style={{ "--drawn": String(drawn[at]) }}
              aria-label={visible(key)}
              aria-valuetext={percent(drawn[at]! / total)}
              data-lm-suppress-shortcuts="true"
              onInput={(event) => put(at, Number(event.currentTarget.value))}
            />
            <span class="vt-lane-number">{percent(drawn[at]! / total)}</span>
          </label>
        ))}
      </div>
    </>
  );
}
