// The prediction: a question, controls to answer it once, the guess beside the truth, and what is then revealed.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { pngAddress } from "../base/bytes.ts";
import { Problem, Verdict } from "../base/card.tsx";
import { addChildView } from "../base/child_view.ts";
import type { Model } from "../base/kernel.ts";
import { paragraphsOf } from "../base/prose.ts";
import { type Frame, stageView } from "../base/stage_view.tsx";
import { Answers } from "./answers.tsx";
import { Compared } from "./compared.tsx";
import { useCurtain, waitingText } from "./curtain.ts";
import { BothAnswers, Writing } from "./explanation.tsx";
import { TRAITS, type Traits } from "./traits.ts";
import { type Explained, isGuess, verdictOf, wordOf } from "./verdict.ts";
import { Button } from "../base/controls.tsx";

/** A question about an earlier lesson: what follows does not answer it. */
const SPACED = /\.s\d+$/;

function Prediction({ frame }: { frame: Frame<Traits> }) {
  const { traits, set } = frame;
  const card = useRef<HTMLDivElement>(null);
  const [isSkipped, setSkipped] = useState(false);
  const isGuessed = traits.guess !== null;
  const isAwaiting = !isGuessed && !isSkipped;
  const isSpaced = SPACED.test(String(traits.keeps?.name ?? ""));
  const { cells, pictures } = useCurtain(card, isAwaiting && !isSpaced, () => setSkipped(true));
  const nShown = Math.min(1, Object.keys(traits.revealed).length);
  const isJudged = isGuessed && traits.truth !== null;
  return (
    <>
      <div class={`vt-card ${isAwaiting ? "vt-awaiting" : ""}`} tabindex={-1} ref={card}>
        <p class="vt-question">{traits.question}</p>
        {isAwaiting && cells + nShown > 0 && <p class="vt-how">{waitingText(cells, pictures + nShown)}</p>}
        {isGuessed ? (
          <Compared asked={traits} />
        ) : (
          <Answers
            traits={traits}
            onGuess={(guess) => {
              card.current?.focus({ preventScroll: true }); // what has the keys now goes
              set((now) => (now.guess === null ? { guess } : {})); // a prediction is made once
            }}
          />
        )}
        <div role="status">{isJudged && <Judged frame={frame} />}</div>
        {isJudged && traits.is_discussed && frame.model.send && <Discussed frame={frame} />}
        {isAwaiting && cells > 0 && (
          <Button class="vt-skip" onClick={() => setSkipped(true)}>
            Show it without predicting
          </Button>
        )}
      </div>
      {isJudged && <Revealed frame={frame} />}
    </>
  );
}

/** One more answer, after a discussion in class. */
function Discussed({ frame: { traits, set } }: { frame: Frame<Traits> }) {
  const [isOpen, setOpen] = useState(false);
  if (traits.discussed !== null) return <p class="vt-how">Your answer after the discussion is kept.</p>;
  if (!isOpen) return <Button onClick={() => setOpen(true)}>Answer again after the discussion</Button>;
  return <Answers traits={traits} onGuess={(discussed) => set({ discussed })} />;
}

/** The same card for an explanation, which hides nothing: its model answer is in no picture below. */
function Explanation({ frame }: { frame: Frame<Traits> }) {
  const { traits, set } = frame;
  const card = useRef<HTMLDivElement>(null);
  const onGuess = (guess: Explained) => {
    card.current?.focus({ preventScroll: true }); // what has the keys now goes
    set((now) => ((now.guess as Explained | null)?.holds ? {} : { guess }));
  };
  const isJudged = traits.truth !== null && (traits.guess as Explained | null)?.holds;
  return (
    <div class="vt-card" tabindex={-1} ref={card}>
      <p class="vt-question">{traits.question}</p>
      {traits.guess === null ? (
        <Writing traits={traits} onGuess={onGuess} />
      ) : (
        <BothAnswers traits={traits} onGuess={onGuess} />
      )}
      <div role="status">{isJudged && <Judged frame={frame} />}</div>
    </div>
  );
}

function Judged({ frame }: { frame: Frame<Traits> }) {
  const { score, told } = verdictOf(frame.traits);
  const inPage = !frame.model.send; // an exported page has nobody to send to
  return (
    <Verdict verdict={frame.traits.kind === "sentence" ? "" : wordOf(score)} message={told}>
      {paragraphsOf(frame.traits.afterwards, inPage).map((pieces, at) => (
        <p key={at}>
          {pieces.map(({ kind, text, href }) => {
            if (kind === "code") return <code>{text}</code>;
            if (kind === "em") return <em>{text}</em>;
            if (kind === "strong") return <strong>{text}</strong>;
            if (!href) return text;
            return (
              <a href={href} target="_blank" rel="noopener noreferrer">
                {text}
              </a>
            );
          })}
        </p>
      ))}
    </Verdict>
  );
}

function Revealed({ frame }: { frame: Frame<Traits> }) {
  const { view, png, width, alt } = frame.traits.revealed as {
    view?: string;
    png?: DataView;
    width?: number;
    alt?: string;
  };
  const place = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState("");
  useLayoutEffect(() => {
    if (!view) return;
    const child = addChildView(frame, view, place.current!);
    child.opened.catch((error) => setProblem(`The picture cannot be shown (${error.message ?? error}).`));
    return child.close;
  }, []);
  return (
    <div class="vt-revealed">
      {png && <img class="vt-figure" src={pngAddress(png)} width={width} alt={alt} />}
      <div ref={place} />
      {problem && <Problem>{problem}</Problem>}
    </div>
  );
}

/** Whether a page may restore a guess. */
const fits = (model: Model, guess: unknown) =>
  isGuess({ kind: model.get("kind"), options: model.get("options") }, guess);

export default {
  ...stageView<Traits>({
    name: "prediction",
    label: (traits) => traits.question,
    traits: TRAITS,
    draw: (frame) =>
      frame.traits.kind === "sentence" ? <Explanation frame={frame} /> : <Prediction frame={frame} />,
  }),
  fits,
};
