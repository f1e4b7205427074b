// The browser's Back and Forward in a page: they return to what its views showed before, and after.
//
// The entries of the history hold places in one list of snapshots. The list keeps the newest ones, so
// that Back leaves the page after `MOST` steps, however much was clicked. The history holds the list for when the
// page is loaded again, without what is too large, such as the numbers of another sentence: then the sentence is set
// once more, and the views have it answered.

import { isFramed } from "./frame.ts";

const MOST = 10;
const BURST_MS = 500; // changes with less between them are one step: a drag, a key that is held
const KEY = "viz-transformer";
/** What a reader does; only then is a change theirs. */
const ACTS = ["pointerdown", "keydown", "drop"] as const;

export type Traits = Record<string, unknown>;
/** Traits that were changed, by the number of their view; the others are as the page opened. */
export type Snapshot = Record<string, Traits>;

/** What the page's model of a view gives to be read and set. */
export interface Visited {
  get: (name: string) => unknown;
  /** Sets traits, all before anything learns of one. */
  setAll: (traits: Traits) => () => void;
  on: (event: string, listener: () => void) => void;
  off: (event: string, listener: () => void) => void;
}

/** In the history, what stands for a value that it does not hold. */
const TOO_LARGE = { "too large": true };
const isHeld = (value: unknown): boolean => JSON.stringify(value) !== JSON.stringify(TOO_LARGE);

interface Entry {
  stamp: string;
  at: number;
  snapshots: Snapshot[];
}

const isPlain = (value: unknown): boolean => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isPlain);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value as object).every(isPlain);
};

/** Whether two values are the same to a reader. */
export const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (isPlain(one) && isPlain(other) && JSON.stringify(one) === JSON.stringify(other));

/** A short text that another content of the page would not have. */
export function stampOf(text: string): string {
  let sum = text.length;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) | 0;
  return String(sum);
}

/** What an entry of the history says, if this page wrote it. */
function readEntry(state: unknown, stamp: string): Entry | null {
  const entry = (state as Record<string, Entry> | null)?.[KEY];
  return entry?.stamp === stamp && Array.isArray(entry.snapshots) ? entry : null;
}

/** The page's address, which says what is chosen. */
export interface Address {
  /** What it is now, "" for nothing. */
  now: () => string;
  /** Choose what it says. */
  follow: () => void;
}

export class Visits {
  /** Null while there is none to be kept. */
  address: Address | null = null;
  #models = new Map<string, Visited>();
  #first: Snapshot = {}; // of each trait that was changed, what it was at first
  #snapshots: Snapshot[] = [];
  #at = 0;
  #stamp: string;
  #hasActed = false;
  #isRestoring = false;
  #isPressed = false;
  /** Whether what was shown is to be answered again, as its views are drawn. */
  #isLate = false;
  #drawn = new Set<string>();
  #stopWaiting = () => {};
  #burst: ReturnType<typeof setTimeout> | undefined;

  /** @param content what the page says of its views; what was kept of another content is not taken */
  constructor(content: string) {
    this.#stamp = isFramed() ? "" : stampOf(content);
    if (isFramed()) return; // the Back button is the outer page's
    const entry = readEntry(history.state, this.#stamp);
    if (entry) [this.#at, this.#snapshots] = [entry.at, entry.snapshots];
    this.#isLate = Object.values(this.#snapshots[this.#at] ?? {}).some((traits) =>
      Object.values(traits).some((value) => !isHeld(value)),
    );
    const act = ({ type }: Event) => {
      this.#hasActed = true;
      if (type === "pointerdown") this.#isPressed = true;
    };
    for (const type of ACTS) addEventListener(type, act, { capture: true, passive: true });
    const release = () => {
      this.#isPressed = false;
    };
    for (const type of ["pointerup", "pointercancel"]) addEventListener(type, release, { capture: true });
    addEventListener("popstate", ({ state }) => this.#goTo(state));
  }

  /** Take in a view's model as the page opens: returns the traits that it had when the page was left. */
  add(number: string, model: Visited): Traits {
    this.#models.set(number, model);
    const kept = Object.entries(this.#snapshots[this.#at]?.[number] ?? {});
    const known = kept.filter(([name]) => model.get(name) !== undefined);
    for (const [name] of known) this.#keepFirst(number, name);
    return this.#isLate ? {} : Object.fromEntries(known.filter(([, value]) => isHeld(value)));
  }

  /** To be called when a view has been drawn, which then may have its sentence answered again. */
  drawn(number: string): void {
    this.#drawn.add(number);
    if (this.#isLate) setTimeout(() => this.#return()); // once what draws it has it
  }

  #return(): void {
    if (!this.#isLate) return;
    const kept = Object.entries(this.#snapshots[this.#at] ?? {});
    const there = kept.filter(([number]) => this.#drawn.has(number));
    this.#isLate = there.length < kept.length;
    this.#restore(Object.fromEntries(there));
  }

  /** To be called before a trait of a view gets another value. */
  before(number: string, name: string): void {
    if (!this.#isRestoring && this.#hasActed && !this.#burst && !isFramed()) this.#step();
    this.#keepFirst(number, name);
    if (!this.#isRestoring) this.#goOn();
  }

  #keepFirst(number: string, name: string): void {
    this.#first[number] = { [name]: this.#models.get(number)?.get(name), ...this.#first[number] };
  }

  /** Begin a step: what is shown now is what Back returns to. */
  #step(): void {
    this.#hasActed = this.#isLate = false;
    this.#snapshots = [...this.#snapshots.slice(0, this.#at), this.#now()];
    const isFull = this.#at === MOST;
    if (isFull) this.#snapshots.shift();
    else this.#write("replaceState");
    if (!isFull) this.#at += 1;
    this.#write(isFull ? "replaceState" : "pushState");
  }

  /** The step goes on for as long as changes follow. */
  #goOn(): void {
    clearTimeout(this.#burst);
    this.#burst = setTimeout(() => {
      if (this.#isPressed) this.#goOn();
      else this.#end();
    }, BURST_MS);
  }

  #end(): void {
    this.#burst = undefined;
    this.#snapshots[this.#at] = this.#now();
    this.#write("replaceState");
  }

  #now(): Snapshot {
    const now = (number: string, first: Traits): [string, Traits] => {
      const values = Object.keys(first).map((name) => [name, this.#models.get(number)?.get(name)] as const);
      return [number, Object.fromEntries(values.filter(([name, value]) => !isSame(value, first[name])))];
    };
    return Object.fromEntries(Object.entries(this.#first).map(([number, first]) => now(number, first)));
  }

  #write(how: "pushState" | "replaceState"): void {
    const held = (traits: Traits) =>
      Object.fromEntries(
        Object.entries(traits).map(([name, value]) => [name, isPlain(value) ? value : TOO_LARGE]),
      );
    const snapshots = this.#snapshots.map((each) =>
      Object.fromEntries(Object.entries(each).map(([number, traits]) => [number, held(traits)])),
    );
    const entry: Entry = { stamp: this.#stamp, at: this.#at, snapshots };
    try {
      const address = this.address && location.href.split("#")[0] + this.address.now();
      history[how]({ [KEY]: entry }, "", address);
    } catch {
      // A browser allows so many in a minute; Back then goes further back.
    }
  }

  #goTo(state: unknown): void {
    const entry = readEntry(state, this.#stamp);
    if (!entry) {
      this.#arrive();
      return;
    }
    clearTimeout(this.#burst);
    this.#burst = undefined;
    this.#hasActed = this.#isLate = false; // the key that goes back is no change
    this.#snapshots[this.#at] = this.#now();
    this.#at = entry.at;
    this.#restore(this.#snapshots[this.#at] ?? {});
  }

  /** A place in the text was gone to, or an address was written by hand: an entry too. */
  #arrive(): void {
    if (this.address) {
      this.#snapshots = [...this.#snapshots.slice(0, this.#at), this.#now()].slice(-MOST);
      this.#at = this.#snapshots.length;
      this.#isRestoring = true;
      this.address.follow();
      this.#isRestoring = false;
      this.#snapshots[this.#at] = this.#now();
    }
    this.#write("replaceState");
  }

  /** Show a snapshot. A view may change others as it follows, so that the second time sets those once more. */
  #restore(snapshot: Snapshot): void {
    this.#stopWaiting();
    this.#set(snapshot);
    const stops = [...this.#models].flatMap(([number, model]) =>
      Object.entries(snapshot[number] ?? {})
        .filter(([, value]) => !isHeld(value))
        .map(([name]) => {
          const event = `change:${name}`;
          const onAnswer = () => {
            this.#stopWaiting();
            this.#set(snapshot); // an answer may have let go of a word of the sentence before
          };
          model.on(event, onAnswer);
          return () => model.off(event, onAnswer);
        }),
    );
    this.#stopWaiting = () => {
      for (const stop of stops) stop();
    };
  }

  #set(snapshot: Snapshot): void {
    this.#isRestoring = true;
    for (let time = 0; time < 2; time++) {
      const tell = [...this.#models].map(([number, model]) => {
        const wanted = { ...this.#first[number], ...snapshot[number] };
        const differing = Object.entries(wanted).filter(
          ([name, value]) => isHeld(value) && !isSame(model.get(name), value),
        );
        return model.setAll(Object.fromEntries(differing));
      });
      for (const each of tell) each();
    }
    this.#isRestoring = false;
  }
}
