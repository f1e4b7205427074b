// The exercise form: fields to answer with, feedback, and hints one at a time.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Problem, Verdict } from "../base/card.tsx";
import type { Model } from "../base/kernel.ts";
import { type Frame, stageView } from "../base/stage_view.tsx";
import { type Answer, type Asked, blank, check, isAnswer } from "./checking.ts";
import { Fields } from "./fields.tsx";
import { TRAITS, type Traits } from "./traits.ts";
import { Button } from "../base/controls.tsx";

/** "3.1 · Title", or of a notebook without a lesson's number "1 · Title". */
const titleOf = ({ name, title }: Asked) => `${name.replace(/^\D.*\./, "")} · ${title}`;

function ExerciseForm({ frame }: { frame: Frame<Traits> }) {
  const asked = frame.traits.asked as unknown as Asked;
  return (
    <div class="vt-card">
      <p class="vt-question">{titleOf(asked)}</p>
      <Answered asked={asked} frame={frame} />
      <Hints hints={asked.hints} />
    </div>
  );
}

/** The fields, and what is said of what was checked last, until something else stands in them. */
function Answered({ asked, frame }: { asked: Asked; frame: Frame<Traits> }) {
  const place = useRef<HTMLDivElement>(null);
  const kept = isAnswer(asked, frame.traits.answer) ? frame.traits.answer : null;
  const [given, setGiven] = useState<Answer>(kept ?? blank(asked));
  const [checked, setChecked] = useState<Answer | null>(null);
  const sent = useRef<Answer | null>(null); // an answer of this form comes back when another may be typed already
  const said = checked === null ? null : check(asked, checked);
  useLayoutEffect(() => {
    if (kept === null) return;
    const { passed } = check(asked, kept);
    if (passed === undefined) return;
    if (JSON.stringify(kept) !== JSON.stringify(sent.current)) {
      setGiven(kept);
      setChecked(kept);
    }
    const detail = { name: asked.name, passed };
    place.current?.dispatchEvent(new CustomEvent("vt-exercise", { bubbles: true, detail }));
  }, [kept]);

  function onCheck(answer: Answer = given): void {
    setChecked(answer);
    if (check(asked, answer).passed === undefined) return;
    sent.current = answer;
    frame.set({ answer });
  }

  return (
    <>
      <div class="vt-answers" ref={place}>
        <Fields
          {...{ asked, frame, given, onCheck }}
          at={said?.at}
          onInput={(change) => {
            setGiven(change);
            setChecked(null);
          }}
        />
        {said && said.passed === undefined && <Problem>{said.message}</Problem>}
      </div>
      <div role="status">
        {said?.passed !== undefined && (
          <Verdict verdict={said.passed ? "✓ Right." : "✗ Not yet."} message={said.message} />
        )}
      </div>
    </>
  );
}

function Hints({ hints }: { hints: string[] }) {
  const newest = useRef<HTMLParagraphElement>(null);
  const [nShown, setShown] = useState(0);
  const isLast = nShown === hints.length;
  useLayoutEffect(() => {
    if (isLast) newest.current?.focus(); // or the focus would be lost with the button
  }, [isLast]);
  return (
    <div class="vt-hints">
      <div role="status">
        {hints.slice(0, nShown).map((hint, at) => (
          <p key={hint} tabindex={-1} ref={at === nShown - 1 ? newest : undefined}>
            Hint {at + 1} of {hints.length}: {hint}
          </p>
        ))}
      </div>
      {!isLast && (
        <Button onClick={() => setShown((now) => Math.min(now + 1, hints.length))}>
          {nShown ? "Next hint" : "Hint"}
        </Button>
      )}
    </div>
  );
}

/** Whether a page may restore an answer. */
const fits = (model: Model, answer: unknown) => isAnswer(model.get("asked"), answer);

export default {
  ...stageView<Traits>({
    name: "exercise-form",
    label: ({ asked }) => `Exercise ${titleOf(asked as unknown as Asked)}`,
    traits: TRAITS,
    draw: (frame) => <ExerciseForm frame={frame} />,
  }),
  fits,
};
