// What a view waits for. After a second one line on the stage says so, with how far it is and what stops it.

import { button, element, setText } from "./elements.ts";
import type { Model } from "./kernel.ts";

const SLOW_MS = 1000;
const SILENT_MS = 5000; // without a word from the kernel
const BETWEEN_MS = 500; // two parts of one work, at most
const TICK_MS = 250;
const SHOWN = " The picture still shows the state before.";

/** Why there is no answer, where the viewer has stopped the work. */
export const STOPPED = "Stopped: the picture shows the state before.";
const SILENT =
  "The notebook's kernel does not answer yet: it is busy, or not running. If it is not, run this view's cell again.";

interface Work {
  /** When the first part of it began, and when this one did. */
  since: number;
  begun: number;
  words: string;
  isPart: boolean;
  isHeard: boolean;
  stop: () => void;
}

/** What is told of a work that takes long. */
interface Told {
  words: string;
  seconds: number;
  /** Whether the picture waits for it too. */
  isShown: boolean;
}

/** The questions of one view that are under way; times are those of `performance.now`. */
export class Waits {
  readonly #works = new Map<unknown, Work>();
  #last = { since: 0, begun: 0, ended: Number.NEGATIVE_INFINITY, words: "" }; // the newest part that has ended
  #stopsNext = false; // whether the viewer has stopped a work between two of its parts
  readonly listeners = new Set<() => void>();

  /** @param part what is said of a work in parts, of which this is one; its time counts from the first part's. */
  begin(id: unknown, stop: () => void, part = "", now = performance.now()): void {
    const goesOn = part !== "" && now - this.#last.ended < BETWEEN_MS;
    const since = goesOn ? this.#last.since : now;
    this.#works.set(id, { since, begun: now, words: part, isPart: part !== "", isHeard: false, stop });
    if (goesOn && this.#stopsNext) queueMicrotask(stop);
    this.#stopsNext = false;
    for (const listener of this.listeners) listener();
  }

  /** The kernel is at work on it, and may say how far it is. */
  hear(id: unknown, words: string): void {
    const work = this.#works.get(id);
    if (!work) return;
    work.isHeard = true;
    if (!work.isPart) work.words = words && `${words}.`;
  }

  end(id: unknown, now = performance.now()): void {
    const work = this.#works.get(id);
    if (work?.isPart) this.#last = { ...work, ended: now };
    this.#works.delete(id);
  }

  stop(): void {
    this.#stopsNext = !this.#works.size;
    for (const { stop } of Array.from(this.#works.values())) stop();
    if (!this.#stopsNext) this.#last.ended = Number.NEGATIVE_INFINITY; // nothing goes on
  }

  isOver = (now = performance.now()) => !this.#works.size && now - this.#last.ended >= BETWEEN_MS;

  /** What is to be said: of what has taken longest; null while nothing takes long. */
  told(now = performance.now()): Told | null {
    const between =
      now - this.#last.ended < BETWEEN_MS ? [{ ...this.#last, isPart: true, isHeard: true }] : [];
    const [oldest] = [...this.#works.values(), ...between].sort((a, b) => a.since - b.since);
    if (!oldest || now - oldest.since < SLOW_MS) return null;
    const { words, isPart, isHeard, since, begun } = oldest;
    const seconds = Math.floor((now - since) / 1000);
    if (!isHeard && now - begun >= SILENT_MS) return { words: SILENT, seconds, isShown: isPart };
    return { words: words || (isHeard ? "Computing." : "Waiting for the kernel."), seconds, isShown: isPart };
  }
}

const waits = new WeakMap<object, Waits>();

/** What all that is drawn of one model waits for. */
export function waitsOf(model: object): Waits {
  if (!waits.has(model)) waits.set(model, new Waits());
  return waits.get(model)!;
}

/** Show in a view what it waits for; returns what ends that. */
export function showWaits(root: HTMLElement, model: Model): () => void {
  const all = waitsOf(model);
  const line = element(new DocumentFragment(), "div", "vt-waits");
  const words = element(line, "span", "", { role: "status" });
  const seconds = element(line, "span", "", { "aria-hidden": "true" }); // not to be read out each second
  button(line, "Stop", () => {
    root.tabIndex = -1;
    root.focus({ preventScroll: true }); // the keys stay here when the button goes
    all.stop();
    tick();
  });
  let timer = 0;

  function tick(): void {
    const told = all.told();
    if (told) show(told);
    else line.remove();
    if (!all.isOver()) return;
    clearInterval(timer);
    timer = 0;
  }

  function show(told: Told): void {
    const stages = Array.from(root.querySelectorAll<HTMLElement>(".vt-stage"));
    const stage = stages.find((each) => each.offsetParent !== null);
    if (line.parentElement !== (stage ?? root)) (stage ?? root).append(line);
    setText(words, told.words + (stage && !told.isShown ? SHOWN : ""));
    setText(seconds, `${told.seconds} s`);
  }

  function onBegin(): void {
    timer ||= window.setInterval(tick, TICK_MS);
  }
  all.listeners.add(onBegin);
  onBegin(); // something may have begun before
  return () => {
    clearInterval(timer);
    all.listeners.delete(onBegin);
    line.remove();
  };
}
