// The predictions of a class: how many gave each answer, before and after a discussion.

import { Button, Choice } from "../base/controls.tsx";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { counted, percent } from "../base/text.ts";
import { TRAITS, type Traits } from "./traits.ts";

function ClassPredictions(frame: Frame<Traits>) {
  const { counts, shown, n_learners, n_left_out, n_unreadable } = frame.traits;
  const all = counts as unknown as Counted[];
  const one = all.find(({ name }) => name === shown) ?? all[0]!;
  const step = (by: number) =>
    frame.set((now) => {
      const at = all.findIndex(({ name }) => name === now.shown);
      return { shown: all[Math.max(0, Math.min(all.length - 1, at + by))]!.name };
    });
  return (
    <Stage
      header={
        <>
          <Choice
            label="prediction"
            options={all.map(({ name }) => [name, name] as const)}
            value={one.name}
            onChoose={(name) => frame.set({ shown: name })}
          />
          <Button disabled={one === all[0]} onClick={() => step(-1)}>
            ‹ Before
          </Button>
          <Button disabled={one === all.at(-1)} onClick={() => step(1)}>
            Next ›
          </Button>
        </>
      }
      headline={headlineOf(one)}
      line={one.question}
      inspector={<Inspector one={one} />}
      {...stageOf(frame)}
    >
      <div class="vt-class">
        <Bars one={one} />
        <p class="vt-files">
          <span>
            <i /> first
          </span>
          {sumOf(one.after) > 0 && (
            <span class="vt-after">
              <i /> after the discussion
            </span>
          )}
          <span>
            {countText(n_learners)} · {leftOutText(n_left_out, n_unreadable)}
          </span>
        </p>
      </div>
    </Stage>
  );
}

const sumOf = (counts: readonly number[]) => counts.reduce((sum, each) => sum + each, 0);

/** A lane for each answer, with a bar for each time. */
function Bars({ one }: { one: Counted }) {
  const most = Math.max(...one.first, ...one.after, 1);
  const isDiscussed = sumOf(one.after) > 0;
  const bar = (count: number, kind: string) => (
    <span class={`vt-bar-of ${kind}`}>
      <span style={{ width: `${(100 * count) / most}%` }} hidden={!count} />
      <b>{count}</b>
    </span>
  );
  return (
    <ul class="vt-counted" aria-label="How many gave each answer">
      {one.options.map((answer, at) => (
        <li key={`${at} ${answer}`}>
          <bdi class={at === one.right ? "vt-right" : ""}>
            {at === one.right ? "✓ " : ""}
            {answer}
          </bdi>
          <span class="vt-pair">
            {bar(one.first[at]!, "")}
            {isDiscussed && bar(one.after[at]!, "vt-after")}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Inspector({ one: { options, first, after } }: { one: Counted }) {
  const share = (counts: readonly number[], at: number) =>
    sumOf(counts) ? percent(counts[at]! / sumOf(counts)) : "–";
  return (
    <table class="vt-shares">
      <thead>
        <tr>
          <th scope="col">answer</th>
          <th scope="col">first</th>
          <th scope="col">after</th>
        </tr>
      </thead>
      <tbody>
        {options.map((answer, at) => (
          <tr key={`${at} ${answer}`}>
            <th scope="row">
              <bdi>{answer}</bdi>
            </th>
            <td>{share(first, at)}</td>
            <td>{share(after, at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A prediction, and how many gave each answer; see live.py. */
export interface Counted {
  name: string;
  question: string;
  options: string[];
  first: number[];
  after: number[];
  right: number | null;
}

/** How many were right, at first and after the discussion; where none is marked as right, what most answered. */
export function headlineOf({ options, first, after, right }: Counted): string {
  const at = right ?? first.indexOf(Math.max(...first));
  const told = (counts: readonly number[]) => `${counts[at]} of ${sumOf(counts)}`;
  const what = right === null ? `answered “${options[at]}”` : "were right";
  return `${told(first)} ${what}${sumOf(after) ? `, then ${told(after)}` : ""}`;
}

export const countText = (n: number): string => `${counted(n, "learner")} ${n === 1 ? "is" : "are"} counted`;

/** How many files are not counted, and why. */
export function leftOutText(nLeftOut: number, nUnreadable: number): string {
  const left = nLeftOut ? `${nLeftOut} left out, who did not agree` : "none left out";
  return nUnreadable ? `${left} · ${counted(nUnreadable, "file")} cannot be read` : left;
}

export default stageView<Traits>({
  name: "class-predictions",
  label: ({ shown }) => `Predictions of a class, ${shown}`,
  traits: TRAITS,
  draw: ClassPredictions,
});
