// What a run writes at its moment, beside the right text, word by word.

import { Key } from "../base/chart.tsx";
import { TASKS } from "../base/kinds.ts";
import { shortened, visible } from "../base/text.ts";
import { LINES } from "./curve.tsx";
import { compareWords } from "./runs.ts";
import type { Side } from "./view.tsx";

const LETTERS = 24; // of a run's name

interface Word {
  text: string;
  differs: boolean;
}

interface WordsProps {
  words: Word[];
  task: string;
  longest: string;
  whole: string;
}

export function Written({ side, isNamed }: { side: Side; isNamed: boolean }) {
  const { run, moment, sentence } = side;
  const [text, reference] = [run.translations[moment]![sentence]!, run.references[sentence]!];
  const { now, reference: beside } = TASKS[run.task]!;
  const { task } = run; // of a text to continue another one is not wrong
  const compared = compareWords(text, reference, task);
  const ofAll = run.translations.map((texts) => texts[sentence]!);
  const longest = ofAll.reduce((most, each) => (each.length > most.length ? each : most), "");
  const verdict = (
    <b class={compared.right ? "vt-right" : `vt-other-${task}`}>
      {isNamed ? compared.short : compared.verdict}
    </b>
  );
  const written = <Words words={compared.written} {...{ task, longest }} whole={text} />;
  if (isNamed)
    return (
      <>
        <h3>
          <Key kind={LINES[side.index]!}>
            <span>
              <bdi>{shortened(run.name, LETTERS)}</bdi> · {side.chosen.layer}·{side.chosen.head}
            </span>
          </Key>
          {verdict}
        </h3>
        {written}
      </>
    );
  return (
    <div class="vt-written">
      <span>{now}</span>
      {written}
      {verdict}
      <span>{beside}</span>
      <Words words={compared.reference} {...{ task }} longest={reference} whole={reference} />
    </div>
  );
}

/** Words, each marked that has no partner in the other text; as high as the longest text that will stand there. */
function Words({ words, task, longest, whole }: WordsProps) {
  return (
    <div class={`vt-words vt-in-${task}`} data-longest={visible(longest)} title={visible(whole)}>
      <p>
        {words.map(({ text, differs }, at) => (
          <>
            {at > 0 && " "}
            {differs ? (
              <mark>
                <bdi>{visible(text)}</bdi>
              </mark>
            ) : (
              <bdi>{visible(text)}</bdi>
            )}
          </>
        ))}
        {words.length === 0 && <i>no word</i>}
      </p>
    </div>
  );
}
