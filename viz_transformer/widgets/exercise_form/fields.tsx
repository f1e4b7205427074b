// What an exercise is answered with: a field, a row or a table of them, cells to switch, options, or code.

import { hasModifier } from "../base/keys.ts";
import { NumberField } from "../base/card.tsx";
import type { Frame } from "../base/stage_view.tsx";
import { MOST_LETTERS } from "./arithmetic.ts";
import { type Answer, type Asked, isSwitched, placeOf, type Table } from "./checking.ts";
import { Gaps, Lines, Repair } from "./code.tsx";
import type { Traits } from "./traits.ts";
import { Button } from "../base/controls.tsx";

const NUMBERS_NOTE = "One number in each field, such as 12, 0.25 or 1/4.";
const ROW_NOTE = `${NUMBERS_NOTE} If you have fewer, leave the last fields empty.`;

export interface FieldsProps {
  asked: Asked;
  frame: Frame<Traits>;
  /** What stands in the fields. */
  given: Answer;
  /** Which of them is the matter. */
  at?: number;
  onInput: (change: (now: Answer) => Answer) => void;
  /** The answer is to be checked: what stands in the fields, or this one. */
  onCheck: (answer?: Answer) => void;
}

export function Fields(props: FieldsProps) {
  const { asked, frame, given, at, onInput, onCheck } = props;
  const { kind, unit, options, traits } = asked;
  if (kind === "choice")
    return options.map((option) => (
      <Button key={option} aria-pressed={option === given} onClick={() => onCheck(option)}>
        {option}
      </Button>
    ));
  if (kind === "view") {
    const checkChosen = async () => {
      const reference = String(frame.model.get("view")).replace("IPY_MODEL_", "");
      const other = await frame.model.widget_manager.get_model(reference);
      onCheck(traits.map((name) => other.get(name)));
    };
    return (
      <>
        <p class="vt-how">Choose it in the view above.</p>
        <Button onClick={checkChosen}>Check what is chosen</Button>
      </>
    );
  }
  if (kind === "lines") return <Lines {...props} />;
  if (kind === "gaps") return <Gaps {...props} />;
  if (kind === "repair") return <Repair {...props} />;
  return (
    <>
      {kind === "number" ? (
        <NumberField
          label="your number"
          placeholder="such as 12, 0.25 or 1/4"
          size={18}
          maxlength={MOST_LETTERS}
          value={given as string}
          isWrong={at !== undefined}
          onInput={(text) => onInput(() => text)}
          onEnter={onCheck}
        />
      ) : (
        <Cells {...props} />
      )}
      {unit && <span>{unit}</span>}
      <Button onClick={() => onCheck()}>Check</Button>
    </>
  );
}

/** A field or a cell to switch for each value of an array, in rows of its last axis. */
function Cells({ asked, given, at, onInput, onCheck }: FieldsProps) {
  const { kind, value, n_fields } = asked;
  const switched = isSwitched(asked);
  const shape = kind === "row" ? [n_fields] : (value as Table).shape;
  const perRow = shape.at(-1)!;
  const cells = given as (string | boolean)[];
  const put = (place: number, change: (was: string | boolean) => string | boolean) =>
    onInput((now) => (now as typeof cells).map((was, each) => (each === place ? change(was) : was)));
  return (
    <>
      {!switched && <p class="vt-how">{kind === "row" ? ROW_NOTE : NUMBERS_NOTE}</p>}
      <div
        class="vt-cells"
        role="group"
        aria-label={switched ? "cells to switch between True and False" : "your numbers"}
        style={{ "--columns": String(perRow) }}
        onKeyDown={(event) => moveFocus(event, perRow)}
      >
        {cells.map((each, place) => {
          const index = placeOf(place, shape);
          const label = `[${index.join(", ")}]`;
          // A table of more axes falls into blocks.
          const startsBlock = place >= 2 * perRow && index.at(-2) === 0;
          return (
            <div key={label} class={startsBlock ? "vt-block" : ""}>
              {typeof each === "string" ? (
                <NumberField
                  label={label}
                  size={7}
                  maxlength={MOST_LETTERS}
                  value={each}
                  isWrong={place === at}
                  onInput={(text) => put(place, () => text)}
                  onEnter={onCheck}
                />
              ) : (
                <Button
                  class={each ? "" : "vt-off"}
                  aria-pressed={each}
                  aria-label={`${label} ${each ? "True" : "False"}`}
                  onClick={() => put(place, (was) => !was)}
                >
                  {each ? "True" : "False"}
                </Button>
              )}
            </div>
          );
        })}
      </div>
    </>
  );
}

/** Arrow keys lead from cell to cell; in a text to its end first. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }, perRow: number): void {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow }[event.key];
  const cells = [...event.currentTarget.querySelectorAll<HTMLInputElement>("input, button")];
  const at = cells.indexOf(event.target as HTMLInputElement);
  const next = by && at >= 0 && cells[at + by];
  if (!next || event.shiftKey || hasModifier(event)) return;
  const isAcross = /Left|Right/.test(event.key);
  const end = by > 0 ? cells[at]!.value.length : 0; // a button has no text, and no caret
  if (isAcross && (cells[at]!.selectionStart ?? end) !== end) return;
  if (isAcross && Math.floor((at + by) / perRow) !== Math.floor(at / perRow)) return;
  event.preventDefault();
  next.focus();
}
