// The header: the sentences as chips, each a word that can be chosen; of a long text a field to find one.

import type { VNode } from "preact";
import type { Editor } from "../base/sentence.tsx";
import { markMeaning, shortened, visible } from "../base/text.ts";
import { findNext, pin, pinOfKind, togglePlace } from "./choose.ts";
import { foundInWords } from "./selection.ts";
import type { Room } from "./room.ts";
import type { Snapshot } from "./snapshot.ts";
import { Button } from "../base/controls.tsx";

const LETTERS = 16; // of a word
const MOST = 18; // words of a sentence

/** The words that are read, and those that are written. */
export function Chips({ room, snapshot, editor }: { room: Room; snapshot: Snapshot; editor: Editor | null }) {
  const { entries, pictureOf, linked, lit, placesFor, change } = snapshot;
  const hasSource = entries.has("encoder") || entries.has("cross");
  const hasTarget = entries.has("decoder") || entries.has("cross");
  const source = !hasSource
    ? []
    : entries.has("cross")
      ? pictureOf("cross").keys
      : pictureOf("encoder").queries;
  const target = !hasTarget ? [] : pictureOf(entries.has("cross") ? "cross" : "decoder").queries;
  const sourceAxis = lit.kind === "encoder" ? "query" : "key";
  const chosen = {
    source: lit.kind === "decoder" ? null : lit[sourceAxis],
    target: lit.kind === "encoder" ? null : lit.query,
  };
  const choose = (side: "source" | "target", index: number) => {
    const isEncoder = lit.kind === "encoder" || !entries.has("cross");
    if (linked) {
      const axis = side === "source" ? "key" : "query";
      const column = linked.columns.findIndex((one) => one.kind === "cross" && one.axis === axis);
      if (!placesFor(snapshot.pinned).some((one) => one.column === column && one.index === index))
        togglePlace(room, { column, index });
    } else if (side === "source") {
      if (isEncoder) pinOfKind(room, { kind: "encoder", query: index, key: null });
      else pinOfKind(room, { kind: "cross", query: null, key: index });
    } else if (lit.kind === "encoder") pinOfKind(room, { kind: "cross", query: index, key: null });
    else pin(room, { query: index, key: null });
  };
  const isLong = source.length > MOST || target.length > MOST;
  return (
    <>
      {source.length > 0 && (
        <Words
          names={source}
          side="key"
          at={chosen.source}
          isQuery={lit.kind === "encoder"}
          choose={(index) => choose("source", index)}
          other={change && editor && { ...change, choose: () => editor.read(change.before.text) }}
        />
      )}
      {source.length > 0 && target.length > 0 && <span aria-hidden="true">→</span>}
      {target.length > 0 && (
        <Words names={target} side="query" at={chosen.target} choose={(index) => choose("target", index)} />
      )}
      {isLong && <Finder room={room} snapshot={snapshot} />}
    </>
  );
}

interface WordsProps {
  names: string[];
  side: "key" | "query";
  at: number | null;
  /** Whether the chosen one is the query, also where all are read. */
  isQuery?: boolean;
  choose: (index: number) => void;
  /** The word of the sentence before at the one position where it differs; a click brings it back. */
  other?: { at: number; word: string; choose: () => void } | null;
}

function Words({ names, side, at, isQuery = false, choose, other }: WordsProps) {
  if (names.length > MOST) {
    const which = at === null ? "" : `${visible(names[at])}, ${(at + 1).toLocaleString("en")} of `;
    return (
      <span class={`vt-chip vt-of-${side}`}>{`${which}${names.length.toLocaleString("en")} tokens`}</span>
    );
  }
  return (
    <>
      {names.map((name, index) => {
        const chip = (
          <Button
            class={`vt-chip vt-of-${isQuery && index === at ? "query" : side}`}
            key={`${index} ${name}`}
            aria-pressed={index === at}
            title={markMeaning(name) ?? visible(name)}
            onClick={() => choose(index)}
          >
            <bdi>{shortened(name, LETTERS)}</bdi>
          </Button>
        );
        return other?.at === index ? <Either key={index} chip={chip} name={name} other={other} /> : chip;
      })}
    </>
  );
}

interface EitherProps {
  chip: VNode;
  name: string;
  other: { word: string; choose: () => void };
}

/** Two words of which one is in the sentence, always in the same order; a click on the other puts it there. */
function Either({ chip, name, other: { word, choose } }: EitherProps) {
  const both = word > name ? [word, name] : [name, word];
  const title = `Put “${visible(word)}” in place of “${visible(name)}”`;
  const other = (
    <button type="button" class="vt-chip vt-other" key="other" title={title} onClick={choose}>
      <bdi>{shortened(word, LETTERS)}</bdi>
    </button>
  );
  return (
    <span class="vt-either" role="group" aria-label={both.map(visible).join(" or ")}>
      {word > name ? [other, chip] : [chip, other]}
    </span>
  );
}

/** A field for a part of a word: words that hold it are marked, and Enter goes from one to the next. */
export function Finder({ room, snapshot }: { room: Room; snapshot: Snapshot }) {
  const { search } = snapshot.options;
  return (
    <label class="vt-finder vt-beside">
      Find a word
      <input
        type="search"
        size={12}
        value={search}
        data-lm-suppress-shortcuts="true"
        onInput={(event) => room.set({ search: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Enter") findNext(room);
          if (event.key === "Escape" && event.currentTarget.closest<HTMLElement>("[popover]")) {
            event.preventDefault(); // else it would also empty the field
            event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
          }
          event.stopPropagation();
        }}
      />
      <output class="vt-small">{search ? foundInWords(snapshot.found, snapshot.names) : ""}</output>
    </label>
  );
}
