// The figure lab: controls, and a figure that Python draws for their values, as large as the stage.

import { useMemo } from "preact/hooks";
import { pngAddress } from "../base/bytes.ts";
import { Choice, Range } from "../base/controls.tsx";
import { useKernel, useRoom } from "../base/hooks.ts";
import { NEEDS_KERNEL } from "../base/kernel.ts";
import { newestReply } from "../base/replies.ts";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { TRAITS, type Traits } from "./traits.ts";

const READABLE = 0.75; // of a figure's own size: in a smaller one letters of 10 points are too small

interface Picture {
  png: DataView;
  width: number;
  height: number;
  alt: string;
}

interface Control {
  label: string;
  kind: "choice" | "slider";
  texts: string[];
}

interface Asked {
  places: number[];
}

/** What a text says of a figure before the numbers: all up to the first colon or full stop. */
export const beginning = (alt: string): string => alt.split(/[:.](?:\s|$)/)[0]!;

function Lab(frame: Frame<Traits>) {
  const { places, first, controls } = frame.traits;
  const kernel = useKernel(frame.model);
  const made = useMemo(() => {
    const { places: at, ...reply } = first as unknown as Picture & Asked;
    return newestReply<Asked, Picture>(kernel, frame.redraw, { request: { places: at }, reply });
  }, [kernel, first]);
  const { now, latest, problem } = made.want({ places });
  const shown = now ?? latest;
  const alone = problem === NEEDS_KERNEL ? " This page knows each control moved alone." : "";
  return (
    <Stage
      header={(controls as unknown as Control[]).map((control, at) => (
        <Setter
          key={control.label}
          control={control}
          place={places[at]!}
          onChoose={(place) =>
            frame.set((was) => ({ places: was.places.map((each, index) => (index === at ? place : each)) }))
          }
        />
      ))}
      headline={shown ? beginning(shown.reply.alt) : "Drawing …"}
      line={problem && <span role="alert">{`✗ ${problem}${alone}`}</span>}
      {...stageOf(frame)}
    >
      {shown && <Figure picture={shown.reply} size={frame.traits.text_size} isStale={!now} />}
    </Stage>
  );
}

interface SetterProps {
  control: Control;
  place: number;
  onChoose: (place: number) => void;
}

/** A slider over the places of a list, or a menu where its values are words. */
function Setter({ control: { label, kind, texts }, place, onChoose }: SetterProps) {
  if (kind === "choice")
    return (
      <Choice
        label={label}
        options={texts.map((text, at) => [String(at), text])}
        value={String(place)}
        onChoose={(value) => onChoose(Number(value))}
      />
    );
  return (
    <Range
      label={label}
      min={0}
      max={texts.length - 1}
      value={place}
      told={texts[place]!}
      onInput={onChoose}
    />
  );
}

/** The figure, as large as it fits; with larger text it is larger too, and scrolled. */
function Figure({ picture, size, isStale }: { picture: Picture; size: number; isStale: boolean }) {
  const { box, room } = useRoom();
  const address = useMemo(() => pngAddress(picture.png), [picture]);
  const fit = room ? Math.min(room.width / picture.width, room.height / picture.height) : 0;
  const scale = size > 1 ? Math.max(fit, READABLE) * size : fit * size;
  return (
    <>
      <div class="vt-figure-box" ref={box} tabIndex={size > 1 ? 0 : -1} role="group" aria-label="Picture">
        {room && (
          <img
            class="vt-figure"
            src={address}
            alt={picture.alt}
            width={Math.floor(picture.width * scale)}
            height={Math.floor(picture.height * scale)}
            data-stale={isStale}
          />
        )}
      </div>
      {room && scale < READABLE && <p class="vt-hint">Press A above to enlarge the picture.</p>}
    </>
  );
}

export default stageView<Traits>({
  name: "figure-lab",
  label: "Picture with controls",
  traits: TRAITS,
  draw: Lab,
});
