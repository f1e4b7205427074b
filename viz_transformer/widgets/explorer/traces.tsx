// The chips of a trace switch, one for each of several traces; the page shows the small ones without Python.

import { useEffect, useState } from "preact/hooks";
import { addChoices } from "../base/choices.ts";
import { Tabs } from "../base/controls.tsx";
import { uniqueId } from "../base/elements.ts";
import { type Model, NEEDS_KERNEL } from "../base/kernel.ts";
import { tokenOf } from "./displayed_head.ts";
import { restingQuery } from "./readout.ts";
import type { Room } from "./room.ts";
import { Problem } from "../base/card.tsx";

/** What the page reads of the trace of a label, or of the difference of two; null where that is not here. */
function dataOf(model: Model, label: string) {
  const traces = (model.get("differences")[label] ?? [label]).map(
    (each: string) => model.get("traces")[each],
  );
  return traces.every(Boolean) ? { version: uniqueId(), label, traces } : null;
}

/** The word that is shown, where none is pinned: the other trace is to show the same. */
function restingIn(room: Room) {
  const { chosen, shown } = room.snapshot();
  if (chosen.query !== null || chosen.key !== null || shown.limit !== null) return null;
  return tokenOf(shown.queryAxis, restingQuery(shown));
}

export function Traces({ room }: { room: Room }) {
  const { model } = room.frame;
  const [shown, setShown] = useState<string>(model.get("shown"));
  const [problem, setProblem] = useState("");
  const [choices] = useState(() => addChoices(model));
  useEffect(() => {
    const follow = () => {
      const label = model.get("shown");
      const data = model.get("data").label === label ? null : dataOf(model, label);
      const query = restingIn(room);
      setShown(label);
      choices.set({ ...(data && { data }), ...(query !== null && { query }) });
    };
    model.on("change:shown", follow);
    return () => {
      model.off("change:shown", follow);
      choices.close();
    };
  }, [room, model, choices]);
  const choose = (label: string) => {
    const isKnown = model.send || dataOf(model, label);
    setProblem(isKnown ? "" : NEEDS_KERNEL);
    if (isKnown) choices.set({ shown: label });
  };
  return (
    <>
      <Tabs
        label="Trace"
        options={(model.get("labels") as string[]).map((label) => [label, label] as const)}
        value={shown}
        onChoose={choose}
      />
      {problem && <Problem>{problem}</Problem>}
    </>
  );
}
