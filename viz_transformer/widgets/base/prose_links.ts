// Words in the prose that set the views near them: in Markdown, links such as [head 1·1](#set:layer=1&head=1).
//
// Each trait of a link is set in the last view above it that has a trait of this name, or else in the first
// below. Where no script runs, in a notebook that was not run or on GitHub, the words stay plain links.

import type { Model } from "./kernel.ts";

const LINKS = 'a[href*="#set:"]';

type Value = string | number | boolean | null;

/** What a view brings: traits to be read, and a way to set them. */
export interface Settable {
  model: Pick<Model, "get" | "on" | "off">;
  set: (change: Change) => void;
  /** What a change means besides, such as a picture that is shown in place of another. */
  whole?: (change: Change) => Change;
}

export type Change = Record<string, unknown>;

/** By its root, so that the bundles of all views on a page find each other's. */
interface Root extends HTMLElement {
  vtSettable?: Settable;
}

/** The traits that a link's address names, with their values: numbers, true, false, null, or else text. */
export function traitsOf(href: string): Map<string, Value> {
  const fields = new URLSearchParams(href.slice(href.indexOf("#set:") + "#set:".length));
  return new Map([...fields].map(([name, text]) => [name, parsed(text)]));
}

function parsed(text: string): Value {
  if (/^(-?\d+(\.\d+)?|true|false|null)$/.test(text)) return JSON.parse(text);
  return text;
}

function ownerOf(link: Element, name: string): Settable | undefined {
  const place = link.closest(".jp-NotebookPanel") ?? document;
  const roots = [...place.querySelectorAll<Root>(".vt-root")].filter(
    ({ vtSettable }) => vtSettable && vtSettable.model.get(name) !== undefined,
  );
  const isAbove = (root: Root) =>
    Boolean(root.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING);
  return (roots.findLast(isAbove) ?? roots[0])?.vtSettable;
}

/** What a link sets, by the view that has the traits. */
function changesOf(link: HTMLAnchorElement): Map<Settable, Change> {
  const changes = new Map<Settable, Change>();
  for (const [name, value] of traitsOf(link.href)) {
    const owner = ownerOf(link, name);
    if (owner) changes.set(owner, { ...changes.get(owner), [name]: value });
  }
  for (const [owner, change] of changes) changes.set(owner, owner.whole?.(change) ?? change);
  return changes;
}

/** Whether all that a link sets is so now; null where there is no view that it could set. */
function isSet(link: HTMLAnchorElement): boolean | null {
  if (![...traitsOf(link.href).keys()].every((name) => ownerOf(link, name))) return null;
  return [...changesOf(link)].every(([{ model }, change]) =>
    Object.entries(change).every(([name, value]) => model.get(name) === value),
  );
}

/** Show which of the page's words are set. */
function markLinks(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>(LINKS)) {
    const pressed = isSet(link);
    if (pressed === null) continue;
    link.setAttribute("role", "button");
    link.setAttribute("aria-pressed", String(pressed));
  }
}

/**
 * Have the words around a view set its traits, and show which are set whenever one changes.
 *
 * `mark` shows it now: a view calls it once it is there.
 */
export function followProse(root: HTMLElement, settable: Settable, traits: readonly string[]) {
  (root as Root).vtSettable = settable;
  for (const trait of traits) settable.model.on(`change:${trait}`, markLinks);

  function onPress(event: Event): void {
    const link = (event.target as Element).closest?.<HTMLAnchorElement>(LINKS);
    if (!link || (event instanceof KeyboardEvent && event.key !== " ")) return;
    const mine = changesOf(link).get(settable);
    if (!mine) return;
    event.preventDefault(); // the address leads nowhere
    settable.set(mine);
  }

  document.addEventListener("click", onPress, true);
  document.addEventListener("keydown", onPress, true); // Space, by which a button is pressed
  return {
    mark: markLinks,
    close() {
      delete (root as Root).vtSettable;
      for (const trait of traits) settable.model.off(`change:${trait}`, markLinks);
      document.removeEventListener("click", onPress, true);
      document.removeEventListener("keydown", onPress, true);
    },
  };
}
