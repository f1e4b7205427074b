// The script of a site's pages: theme and text size, what has been read and answered, and the search.

import { tellHeight } from "./frame.ts";
import {
  followKept,
  keepChoice,
  keepRead,
  kept,
  keptChoice,
  putMalformedAside,
  sayUnlessLasting,
  whenReadable,
} from "./store.ts";

const THEMES = ["system", "light", "dark"] as const;
const TEXT_SIZES = [1, 1.25, 1.5] as const;

/** A part of a page, as the search reads it. */
interface Section {
  page: string;
  anchor: string;
  lesson: string;
  heading: string;
  text: string;
}

/** A page of the site, and the names of what is asked on it. */
interface Listed {
  name: string;
  asked: string[];
}

/** What a page says of the site in JSON: a lesson its name, the contents all sections. */
interface Site {
  page?: string;
  pages: Listed[];
  sections?: Section[];
}

const find = (selector: string) => document.querySelector<HTMLElement>(selector);

/** Text without case and accents, so that "cuantica" finds "Cuántica". */
const folded = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

const wordsOf = (typed: string) => folded(typed).split(/\s+/).filter(Boolean);

/** The sections that hold every word of a search; those that have them in their heading come first. */
function search(sections: readonly Section[], typed: string): Section[] {
  const words = wordsOf(typed);
  if (!words.length) return [];
  const holds = (text: string) => words.every((word) => folded(text).includes(word));
  const found = sections.filter(({ heading, text }) => holds(`${heading} ${text}`));
  return [
    ...found.filter(({ heading }) => holds(heading)),
    ...found.filter(({ heading }) => !holds(heading)),
  ];
}

/** A piece of a text around the first word found, in pieces that say whether they are marked. */
function excerpt(text: string, typed: string, width = 160): [string, boolean][] {
  const word = wordsOf(typed)[0] ?? "";
  const plain = Array.from(text, (char) => folded(char)[0] ?? " ").join(""); // as long as the text
  const at = word ? plain.indexOf(word) : -1;
  if (at < 0) return [[text.slice(0, width), false]];
  const start = Math.max(0, at - width / 2);
  const end = at + word.length;
  return [
    [(start ? "…" : "") + text.slice(start, at), false],
    [text.slice(at, end), true],
    [text.slice(end, end + width / 2) + (end + width / 2 < text.length ? "…" : ""), false],
  ];
}

/** A button that goes through some choices; the browser keeps the one that is chosen. */
function choiceButton<Choice extends string | number | null>(
  button: HTMLElement | null,
  name: "theme" | "size",
  choices: readonly Choice[],
  show: (chosen: Choice) => void,
): void {
  let at = 0;
  const showNow = () => show(choices[at] as Choice);
  whenReadable(() => {
    at = Math.max(0, choices.indexOf(keptChoice(name) as Choice));
    showNow();
  });
  button?.addEventListener("click", () => {
    at = (at + 1) % choices.length;
    showNow();
    keepChoice(name, choices[at] as Choice);
  });
}

function addSwitches(): void {
  const root = document.documentElement;
  const theme = find(".vt-theme");
  choiceButton(theme, "theme", THEMES, (chosen) => {
    if (chosen === "system") root.removeAttribute("theme");
    else root.setAttribute("theme", chosen);
    if (theme?.lastElementChild) theme.lastElementChild.textContent = chosen;
  });
  choiceButton(find(".vt-text-size"), "size", TEXT_SIZES, (chosen) => {
    root.style.setProperty("--text-size", String(chosen));
  });
}

/** The menu of the bar closes as a menu does: by Escape, by a click elsewhere, by the choice of a place. */
function closeMenu(menu: HTMLElement | null): void {
  document.addEventListener("click", ({ target }) => {
    const within = menu?.contains(target as Node) && !(target as Element).closest("a");
    if (!within) menu?.removeAttribute("open");
  });
  menu?.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    menu.removeAttribute("open");
    menu.querySelector("summary")?.focus();
  });
}

/** Note that a page was read, once its end has been seen. */
function watchReading(end: HTMLElement): void {
  const observer = new IntersectionObserver(([seen]) => {
    if (!seen?.isIntersecting) return;
    observer.disconnect();
    keepRead();
  });
  observer.observe(end);
}

function doneText(read: boolean, answered: number, asked: number): string {
  const parts = [];
  if (asked) parts.push(`${answered} of ${asked} answered`);
  if (read) parts.push("✓ read");
  return parts.join(" · ");
}

/** Show wherever a lesson is named what has been done of it, and of the whole course how much is read. */
function showProgress(pages: readonly Listed[]): void {
  let nRead = 0;
  for (const { name, asked } of pages) {
    const { read, answers } = kept(name);
    const answered = asked.filter((each) => Object.hasOwn(answers, each) && answers[each] !== null).length;
    nRead += Number(read);
    for (const place of document.querySelectorAll<HTMLElement>(`[data-done="${name}"]`)) {
      place.classList.remove("vt-next");
      place.classList.toggle("vt-read", read);
      if (place.matches(".vt-done")) place.textContent = doneText(read, answered, asked.length);
    }
  }
  const unread = [...document.querySelectorAll(".vt-lessons li")].find((each) => !each.matches(".vt-read"));
  unread?.classList.toggle("vt-next", nRead > 0);
  const whole = find(".vt-course-read");
  if (whole instanceof HTMLProgressElement) whole.value = nRead;
}

function addSearch(sections: readonly Section[]): void {
  const [field, list, lessons] = [".vt-search", ".vt-found", ".vt-contents"].map(find);
  if (!(field instanceof HTMLInputElement) || !list || !lessons) return;
  function show() {
    const typed = (field as HTMLInputElement).value;
    const found = search(sections, typed).slice(0, 30);
    (lessons as HTMLElement).hidden = Boolean(typed.trim());
    list?.replaceChildren(...found.map((section) => foundItem(section, typed)));
    if (typed.trim() && !found.length && list) list.textContent = "No match; try fewer or other words.";
  }
  field.addEventListener("input", show);
  show(); // a page that is gone back to keeps what was typed
}

function foundItem({ page, anchor, lesson, heading, text }: Section, typed: string): HTMLElement {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = anchor ? `${page}#${encodeURIComponent(anchor)}` : page;
  link.textContent = heading === lesson ? heading : `${lesson}: ${heading}`;
  const piece = document.createElement("p");
  for (const [part, found] of excerpt(text, typed)) {
    const node = document.createElement(found ? "mark" : "span");
    node.textContent = part;
    piece.append(node);
  }
  item.append(link, piece);
  return item;
}

function open(): void {
  const written = find("#vt-site");
  if (!written) return;
  const { page, pages, sections }: Site = JSON.parse(written.textContent ?? "");
  whenReadable(putMalformedAside);
  whenReadable(sayUnlessLasting);
  tellHeight();
  find("body > .vt-instead")?.remove();
  addSwitches();
  closeMenu(find(".vt-more"));
  const end = find(".vt-way-on");
  if (page && end) whenReadable(() => watchReading(end));
  followKept(() => showProgress(pages));
  if (sections) addSearch(sections);
}

open();
