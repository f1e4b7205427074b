// An explanation: a sentence to write, then a model answer beside it, and the learner's own judgement of it.

import { useState } from "preact/hooks";
import { Problem } from "../base/card.tsx";
import type { Traits } from "./traits.ts";
import { type Explained, HOLDS, LONGEST_SENTENCE, readGuess } from "./verdict.ts";
import { Button } from "../base/controls.tsx";

interface ExplanationProps {
  traits: Readonly<Traits>;
  onGuess: (guess: Explained) => void;
}

/** The field for the sentence, until it is to be compared. */
export function Writing({ traits: { kind, question }, onGuess }: ExplanationProps) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  function submit(): void {
    const { guess, problem: why = "" } = readGuess(kind, text);
    setProblem(why);
    if (!why) onGuess(guess as Explained);
  }
  return (
    <div class="vt-answers">
      <textarea
        rows={3}
        value={text}
        aria-label={question}
        aria-invalid={problem !== ""}
        placeholder="Answer in a sentence or two."
        maxlength={LONGEST_SENTENCE}
        data-lm-suppress-shortcuts="true"
        onInput={(event) => {
          setText(event.currentTarget.value);
          setProblem("");
        }}
      />
      <Button onClick={submit}>Compare with a model answer</Button>
      {problem && <Problem>{problem}</Problem>}
    </div>
  );
}

/** Both answers side by side, and how the learner's compares. */
export function BothAnswers({ traits, onGuess }: ExplanationProps) {
  const { sentence, holds } = traits.guess as Explained;
  return (
    <>
      <dl class="vt-both">
        <div>
          <dt>Your answer</dt>
          <dd dir="auto">{sentence}</dd>
        </div>
        <div>
          <dt>A model answer</dt>
          <dd dir="auto">{String(traits.truth ?? "")}</dd>
        </div>
      </dl>
      {holds === null && (
        <div class="vt-answers" role="group" aria-label="Compare the two answers">
          <span>Compare the two. Yours</span>
          {Object.entries(HOLDS).map(([value, { told }]) => (
            <Button key={value} onClick={() => onGuess({ sentence, holds: value })}>
              {told}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}
