// A view on the stage: its traits, its theme and its size as the properties of one component.
//
// It is drawn by preact in the frame that the view's frame loop asks for, so a change costs one frame.

import type { Surroundings } from "./child_view.ts";
import { type ComponentChild, render as renderTree } from "preact";
import type { Theme } from "./colour.ts";
import type { Model } from "./kernel.ts";
import { createView, heightInSight } from "./view.ts";
import { isPresented } from "./present.ts";
import type { Change } from "./prose_links.ts";

const MEASURED = 16; // pixels that texts are measured at
const LEAST_HEIGHT = 480; // pixels: less is scrolled
const MOST_HEIGHT = 1100; // on a screen held upright nobody looks at both ends at once

/** What a component is drawn from. */
export interface Frame<Traits> {
  traits: Readonly<Traits>;
  /**
   * Sets traits at once, and sends them to Python after the frame that shows them. A function is given the traits of
   * now: since this frame was drawn, others may have been set.
   */
  set: (change: Partial<Traits> | ((now: Readonly<Traits>) => Partial<Traits>)) => void;
  /** Asks for another frame, as a motion does. */
  redraw: () => void;
  theme: Theme;
  /** Pixels of the whole view. */
  width: number;
  height: number;
  /** Pixels of the unit that text and spaces are multiples of; stage.css has the same. */
  unit: number;
  /** How wide a text of the usual size is, in units. */
  measure: (text: string, isBold?: boolean) => number;
  about: string;
  /** For `useKernel`, and for what has a model of its own. */
  model: Model;
  /** What marimo draws a view inside this one by. */
  host?: Surroundings["host"];
}

interface Definition<Traits> {
  /** The class of its root is `vt-` and this. */
  name: string;
  label: string | ((traits: Readonly<Traits>) => string);
  traits: readonly (keyof Traits & string)[];
  /** What a change by a word in the prose means besides. */
  whole?: (change: Change) => Change;
  /** A component of the frame: it may use hooks. */
  draw: (frame: Frame<Traits>) => ComponentChild;
}

function Drawn<Traits>({ draw, frame }: Pick<Definition<Traits>, "draw"> & { frame: Frame<Traits> }) {
  return <>{draw(frame)}</>;
}

/** What every stage takes of the frame that it is drawn in. */
export const stageOf = <Traits extends { text_size: number }>(frame: Frame<Traits>) => ({
  about: frame.about,
  model: frame.model,
  width: frame.width,
  height: frame.height,
  textSize: frame.traits.text_size,
  setTextSize: (size: number) => frame.set({ text_size: size } as Partial<Traits>),
});

/** What anywidget and exported pages take as a view's module. */
export function stageView<Traits extends object>({ name, label, traits, whole, draw }: Definition<Traits>) {
  function render({
    model,
    el,
    host,
  }: {
    model: Model;
    el: HTMLElement;
    host?: Surroundings["host"];
  }): () => void {
    const now = () => Object.fromEntries(traits.map((trait) => [trait, model.get(trait)])) as Traits;
    const view = createView({
      model,
      el,
      name,
      label: typeof label === "function" ? label(now()) : label,
      traits: [...traits],
      whole,
      draw({ theme, width }) {
        const presented = isPresented(view.root);
        const most = presented ? Number.POSITIVE_INFINITY : MOST_HEIGHT;
        const height = Math.min(most, Math.max(LEAST_HEIGHT, heightInSight(view.root)));
        const larger = Number(getComputedStyle(view.root).getPropertyValue("--vt-larger")) || 1; // when presented
        const frame: Frame<Traits> = {
          traits: now(),
          set: (change) =>
            view.set((typeof change === "function" ? change(now()) : change) as Record<string, unknown>),
          redraw: view.redraw,
          theme,
          width,
          height,
          unit: Math.min(26, Math.max(16, width / 80)) * larger * (model.get("text_size") ?? 1),
          measure: (text, isBold = false) => theme.measure(text, MEASURED, isBold) / MEASURED,
          about: model.get("about") ?? "",
          model,
          host,
        };
        renderTree(<Drawn draw={draw} frame={frame} />, view.root);
      },
    });
    return () => {
      renderTree(null, view.root);
      view.close();
    };
  }
  return { render };
}
