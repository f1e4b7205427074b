// What the live model makes of an order of its words, and the controls that choose one.

import { useEffect, useState } from "preact/hooks";
import { Choice, Switch } from "../base/controls.tsx";
import { useKernel } from "../base/hooks.ts";
import type { Model } from "../base/kernel.ts";
import type { Frame } from "../base/stage_view.tsx";
import { runningText } from "../base/text.ts";
import type { Traits } from "./encodings.ts";
import type { Reply } from "./sentences.ts";
import { shuffled } from "./shift.ts";

const OWN = "own"; // the menu's value for an order that is not among those offered

/** The newest reply, or why there is none, and whether it is that to what is asked now. */
export interface Answered {
  reply?: Reply;
  problem?: string;
  isNew: boolean;
}

/** Has the words read as the traits say; null asks nothing. */
export function useReading(model: Model, traits: Traits | null): Answered {
  const kernel = useKernel(model);
  const request = traits && { words: traits.words, order: traits.order, positions_on: traits.positions_on };
  const asked = JSON.stringify(request);
  const [{ to, ...newest }, setNewest] = useState<Omit<Answered, "isNew"> & { to: string }>({ to: "" });
  useEffect(() => {
    if (!request) return;
    kernel.latest(
      request,
      (reply: Reply) => setNewest({ to: asked, reply }),
      ({ message }: Error) => setNewest({ to: asked, problem: message }),
    );
  }, [kernel, asked]);
  return { ...newest, isNew: to === asked };
}

interface OrderControlsProps {
  traits: Traits;
  set: Frame<Traits>["set"];
  /** Whether any order can be read, and not only those offered. */
  canShuffle: boolean;
}

export function OrderControls({ traits, set, canShuffle }: OrderControlsProps) {
  const { order, positions_on: isOn } = traits;
  const known = traits.orders.findIndex((each) => each.join() === order.join());
  return (
    <>
      <Choice
        isBare
        label="read as"
        options={[
          ...traits.orders.map(
            (each, at) => [String(at), runningText(each.map((word) => traits.words[word]))] as const,
          ),
          [OWN, "an order of your own"],
        ]}
        value={known < 0 ? OWN : String(known)}
        disabled={known < 0 ? [] : [OWN]}
        onChoose={(to) => {
          const chosen = traits.orders[Number(to)];
          if (chosen) set({ order: [...chosen] });
        }}
      />
      {canShuffle && (
        <button type="button" onClick={() => set((now) => ({ order: shuffled(now.order) }))}>
          shuffle
        </button>
      )}
      <Switch label="positions" on={isOn} onChange={(positions_on) => set({ positions_on })} />
    </>
  );
}
