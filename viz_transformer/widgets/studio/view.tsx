// The studio: one row of doors, and below it the room that is open.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Frame, stageView } from "../base/stage_view.tsx";
import { Studio } from "./studio.ts";
import { TRAITS, type Traits as Declared } from "./traits.ts";

const AROUND = 28; // pixels around a door's name, at the usual text size
const BESIDE = 205; // pixels that the rest of the row takes, at the usual text size

interface Traits extends Declared {
  signs: Record<string, Sign>;
}

/** What stands on a door: its name, and what the room shares with the others. */
interface Sign {
  name: string;
  shares: string[];
}

function StudioView({ frame }: { frame: Frame<Traits> }) {
  const { model, host, redraw } = frame;
  const row = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [studio, setStudio] = useState<Studio | null>(null);
  useLayoutEffect(() => {
    const onEntered = () => focusDoor(row.current!);
    const made = new Studio({ model, host, redraw, set: frame.set, onEntered }, place.current!);
    setStudio(made);
    return () => made.close();
  }, [model]);
  useLayoutEffect(() => {
    const rooms = place.current!;
    const onDoors = (event: Event) => {
      event.stopPropagation();
      (event as CustomEvent).detail.push(...doorsFrom(model.get("room"), model.get("signs")));
    };
    const onDoor = (event: Event) => {
      event.stopPropagation();
      studio?.go((event as CustomEvent).detail);
    };
    rooms.addEventListener("vt-doors", onDoors);
    rooms.addEventListener("vt-door", onDoor);
    return () => {
      rooms.removeEventListener("vt-doors", onDoors);
      rooms.removeEventListener("vt-door", onDoor);
    };
  }, [studio]);
  return (
    <>
      <div class="vt-studio-row" role="group" aria-label="Rooms" ref={row}>
        <Row frame={frame} studio={studio} />
      </div>
      <p class="vt-problem" role="alert" hidden={!studio?.problem}>
        {studio?.problem}
      </p>
      <div ref={place} />
    </>
  );
}

function focusDoor(row: Element): void {
  row.querySelector<HTMLElement>("[aria-current], select")?.focus({ preventScroll: true });
}

/** Back, a door for each room, or where they have no room a list of them, and Reset. */
function Row({ frame, studio }: { frame: Frame<Traits>; studio: Studio | null }) {
  const { traits, theme, width } = frame;
  const doors = Object.entries(traits.signs);
  const size = traits.text_size;
  const widths = doors.map(([_, { name }]) => theme.measure(name, 14 * size, false) + AROUND * size);
  const isRow = widths.reduce((sum, each) => sum + each, BESIDE * size) <= width;
  const hasPast = Boolean(studio?.hasPast);
  const back = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    // A focused button that is disabled would lose the focus, and with it the keys.
    if (!hasPast && document.activeElement === back.current) focusDoor(back.current!.parentElement!);
  });
  return (
    <>
      <button
        type="button"
        class="vt-studio-button"
        aria-label="Back"
        disabled={!hasPast}
        ref={back}
        onClick={() => studio?.back()}
      >
        ◀<span class="vt-studio-word"> Back</span>
      </button>
      {isRow ? (
        <span class="vt-studio-doors">
          {doors.map(([key, { name }]) => (
            <button
              type="button"
              class="vt-studio-button"
              key={key}
              data-room={key}
              aria-current={key === traits.room ? "true" : undefined}
              onClick={() => studio?.go(key)}
            >
              {name}
            </button>
          ))}
        </span>
      ) : (
        <select
          class="vt-studio-list"
          aria-label="Room"
          data-lm-suppress-shortcuts="true"
          value={traits.room}
          onChange={(event) => studio?.go(event.currentTarget.value)}
        >
          {doors.map(([key, { name }]) => (
            <option value={key} key={key}>
              {name}
            </option>
          ))}
        </select>
      )}
      <button type="button" class="vt-studio-button" onClick={() => studio?.reset()}>
        Reset
      </button>
    </>
  );
}

/** The rooms that take over what is chosen in a room; of one that has only the sentence, those that have it too. */
function doorsFrom(room: string, signs: Record<string, Sign>): [key: string, name: string][] {
  const shared = signs[room]!.shares;
  const others = Object.entries(signs).filter(([key]) => key !== room);
  const joined = others.filter(([_, { shares }]) => shares.some((name) => shared.includes(name)));
  const listed = joined.length ? joined : others.filter(([_, { shares }]) => shares.length);
  return listed.map(([key, { name }]) => [key, name]);
}

export default stageView<Traits>({
  name: "studio",
  label: "Studio",
  traits: TRAITS,
  draw: (frame) => <StudioView frame={frame} />,
});
