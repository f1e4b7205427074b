// Fields for code: lines to put in order, by dragging, by keys or by buttons, gaps with choices, and lines to change.

import { useRef, useState } from "preact/hooks";

import { placed } from "./code.ts";
import type { FieldsProps } from "./fields.tsx";
import { Button } from "../base/controls.tsx";

const HOW =
  "Put the lines in order, and leave out those that do not belong there. Drag a line, or choose it and use the buttons; " +
  "with the keys, ↑ and ↓ choose, and Alt with them moves.";

/** The lines of a function, in the order of the answer; below them those that are left out. */
export function Lines({ asked, given, at, onInput, onCheck }: FieldsProps) {
  const { lines, head } = asked;
  const used = given as number[];
  const unused = lines.map((_, line) => line).filter((line) => !used.includes(line));
  const all = [...used, ...unused];
  const list = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState(all[0]!);
  const [dragged, setDragged] = useState<number | null>(null);
  const place = used.indexOf(chosen);
  const put = (line: number, to: number | null) => onInput((now) => placed(now as number[], line, to));
  const down = () => put(chosen, place < used.length - 1 ? place + 1 : null);
  const up = () => put(chosen, place < 0 ? used.length : place - 1);
  const isUsed = place >= 0;

  function onKeyDown(event: KeyboardEvent): void {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || event.shiftKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (event.altKey) {
      if (by < 0) up();
      else if (isUsed) down();
      return;
    }
    const next = all[all.indexOf(chosen) + by];
    if (next === undefined) return;
    setChosen(next);
    list.current!.querySelector<HTMLElement>(`[data-line="${next}"]`)!.focus();
  }
  function onPointerMove({ clientY, buttons }: PointerEvent): void {
    if (!buttons) setDragged(null);
    if (!buttons || dragged === null) return;
    const rows = [...list.current!.querySelectorAll<HTMLElement>("[data-line], .vt-left-out")];
    const above = rows.filter((row) => middle(row) < clientY && row.dataset.line !== String(dragged));
    const isOut = above.some((row) => row.className === "vt-left-out");
    put(dragged, isOut ? null : above.length);
  }
  const row = (line: number) => (
    <div
      key={line}
      role="option"
      data-line={line}
      class={line === dragged ? "vt-dragged" : ""}
      tabIndex={line === chosen ? 0 : -1}
      aria-selected={line === chosen}
      aria-invalid={line === at}
      onFocus={() => setChosen(line)}
      onPointerDown={(event) => {
        const isGrip = (event.target as Element).className === "vt-grip";
        if (event.button === 0 && (isGrip || event.pointerType === "mouse")) setDragged(line);
      }}
    >
      <span class="vt-grip" aria-hidden="true">
        ⠿
      </span>
      <code>{lines[line]![0]}</code>
    </div>
  );
  return (
    <>
      <p class="vt-how">{HOW}</p>
      <div
        class="vt-lines"
        role="listbox"
        aria-label="lines of code"
        data-lm-suppress-shortcuts="true"
        ref={list}
        {...{
          onKeyDown,
          onPointerMove,
          onPointerUp: () => setDragged(null),
          onPointerCancel: () => setDragged(null),
        }}
      >
        <div role="group" aria-label={`the answer, below ${head}`}>
          <code aria-hidden="true">{head}</code>
          {used.map(row)}
        </div>
        <div role="group" aria-label="left out">
          <p class="vt-left-out" aria-hidden="true">
            Left out
          </p>
          {unused.map(row)}
        </div>
      </div>
      <Button disabled={place === 0} onClick={up}>
        {isUsed ? "Up" : "Put back"}
      </Button>
      {isUsed && <Button onClick={down}>{place < used.length - 1 ? "Down" : "Leave out"}</Button>}
      <Button onClick={() => onCheck()}>Check</Button>
      <span aria-live="polite">{isUsed ? `Line ${place + 1} of ${used.length}` : "Left out"}</span>
    </>
  );
}

function middle(row: HTMLElement): number {
  const { top, height } = row.getBoundingClientRect();
  return top + height / 2;
}

/** Code with a field to choose in for each gap. */
export function Gaps({ asked: { code, gaps }, given, at, onInput, onCheck }: FieldsProps) {
  const chosen = given as string[];
  const pieces = code.split("___");
  return (
    <>
      <pre class="vt-gaps">
        {pieces.map((piece, gap) => (
          <>
            {piece}
            {gap < gaps.length && (
              <select
                aria-label={`gap ${gap + 1}`}
                aria-invalid={gap === at}
                data-lm-suppress-shortcuts="true"
                value={chosen[gap]}
                onChange={({ currentTarget: { value } }) =>
                  onInput((now) => (now as string[]).with(gap, value))
                }
              >
                <option value="">…</option>
                {gaps[gap]!.options.map((option) => (
                  <option key={option}>{option}</option>
                ))}
              </select>
            )}
          </>
        ))}
      </pre>
      <Button onClick={() => onCheck()}>Check</Button>
    </>
  );
}

const HOW_TO_REPAIR = "Choose the line that is wrong, and then what should be in its place.";
const WITHOUT = "(without this line)";

/** Code with faults: a line is chosen, and then what is in its place. */
export function Repair({ asked: { code, changes }, given, onInput, onCheck }: FieldsProps) {
  const numbers = given as number[];
  const lines = code.split("\n");
  const list = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<number | null>(null);

  function onKeyDown(event: KeyboardEvent): void {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || event.altKey || event.shiftKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const rows = [...list.current!.querySelectorAll<HTMLElement>("[role=option]")];
    rows[rows.indexOf(event.target as HTMLElement) + by]?.focus();
  }
  return (
    <>
      <p class="vt-how">{HOW_TO_REPAIR}</p>
      <div
        class="vt-lines vt-repair"
        role="listbox"
        aria-label="lines of code"
        data-lm-suppress-shortcuts="true"
        {...{ ref: list, onKeyDown }}
      >
        {lines.map((text, line) => {
          const change = changes.findIndex(([each]) => each === line);
          const number = numbers[change] ?? 0;
          return text ? (
            <div
              key={line}
              role="option"
              tabIndex={line === (chosen ?? 0) ? 0 : -1}
              aria-selected={line === chosen}
              onFocus={() => setChosen(line)}
            >
              <code>
                {number ? [/^ */.exec(text), <del key="before">{text.trim()}</del>] : text}
                {number > 0 && <ins>{changes[change]![1][number - 1]}</ins>}
              </code>
            </div>
          ) : (
            <br key={line} />
          );
        })}
      </div>
      {chosen !== null && <Replacements {...{ lines, chosen, changes, numbers, onInput }} />}
      <Button onClick={() => onCheck()}>Check</Button>
    </>
  );
}

interface ReplacementsProps extends Pick<FieldsProps, "onInput"> {
  lines: string[];
  chosen: number;
  changes: [line: number, replacements: string[]][];
  numbers: number[];
}

/** Lines without the indentation that all of them have. */
function dedented(text: string): string {
  const lines = text.split("\n");
  const common = Math.min(...lines.map((line) => line.search(/\S|$/)));
  return lines.map((line) => line.slice(common)).join("\n");
}

/** What may be in the place of the chosen line. */
function Replacements({ lines, chosen, changes, numbers, onInput }: ReplacementsProps) {
  const change = changes.findIndex(([line]) => line === chosen);
  if (change < 0)
    return (
      <p class="vt-how" role="status">
        This line is right: leave it as it is.
      </p>
    );
  const options = [lines[chosen]!, ...changes[change]![1]];
  return (
    <div class="vt-replacements" role="group" aria-label="in place of the chosen line">
      {options.map((text, number) => (
        <Button
          key={text}
          aria-pressed={numbers[change] === number}
          onClick={() => onInput((now) => (now as number[]).with(change, number))}
        >
          {number === 0 && "As it is: "}
          <code>{dedented(text) || WITHOUT}</code>
        </Button>
      ))}
    </div>
  );
}
