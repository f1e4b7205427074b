// The script of a site's pages: the theme, what has been read and answered, and the search.

import {
  followKept,
  keepRead,
  keepTheme,
  kept,
  keptTheme,
  putMalformedAside,
  whenReadable,
} from "./store.js";

const THEMES = ["system", "light", "dark"];

/** Text without case and accents, so that "cuantica" finds "Cuántica". */
export function folded(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/**
 * The sections that hold every word of a search; those that have them in their heading come first.
 *
 * @param {{ page: string, anchor: string, lesson: string, heading: string, text: string }[]} sections
 * @param {string} typed
 */
export function search(sections, typed) {
  const words = folded(typed).split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const holds = (text) => words.every((word) => folded(text).includes(word));
  const found = sections.filter(({ heading, text }) => holds(`${heading} ${text}`));
  return [
    ...found.filter(({ heading }) => holds(heading)),
    ...found.filter(({ heading }) => !holds(heading)),
  ];
}

/**
 * A piece of a text around the first word found, as [text, found] pairs to be marked.
 *
 * @param {string} text
 * @param {string} typed
 * @returns {[string, boolean][]}
 */
export function excerpt(text, typed, width = 160) {
  const [word] = folded(typed).split(/\s+/).filter(Boolean);
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

/** A button that changes between the system's theme, light and dark. */
function themeSwitch(button) {
  let theme = "system";
  const show = (chosen) => {
    theme = chosen;
    if (theme === "system") document.documentElement.removeAttribute("theme");
    else document.documentElement.setAttribute("theme", theme);
    button.lastElementChild.textContent = theme;
  };
  whenReadable(() => show(THEMES.includes(keptTheme()) ? keptTheme() : "system"));
  button.addEventListener("click", () => {
    show(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
    keepTheme(theme);
  });
}

/** Note that a page was read, once its end has been seen. */
function watchReading(end) {
  const observer = new IntersectionObserver(([seen]) => {
    if (!seen.isIntersecting) return;
    observer.disconnect();
    keepRead();
  });
  observer.observe(end);
}

/** What has been done of a page, in a few words. */
export function doneText({ read, answered, asked }) {
  const parts = [];
  if (asked) parts.push(`${answered} of ${asked} answered`);
  if (read) parts.push("✓ read");
  return parts.join(" · ");
}

/** Show beside each lesson of the contents what has been done. */
function showProgress(pages) {
  for (const { name, asked } of pages) {
    const { read, answers } = kept(name);
    const place = document.querySelector(`[data-done="${name}"]`);
    const answered = asked.filter((each) => Object.hasOwn(answers, each) && answers[each] !== null).length;
    place.textContent = doneText({ read, answered, asked: asked.length });
  }
}

/** The search field of the contents page, and what it finds. */
function addSearch(field, list, lessons, sections) {
  function show() {
    const found = search(sections, field.value).slice(0, 30);
    lessons.hidden = Boolean(field.value.trim());
    list.replaceChildren(...found.map((section) => foundItem(section, field.value)));
    if (lessons.hidden && !found.length) list.textContent = "Nothing was found; try fewer or other words.";
  }
  field.addEventListener("input", show);
  show(); // a page that is gone back to keeps what was typed
}

function foundItem({ page, anchor, lesson, heading, text }, typed) {
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

function open() {
  const written = globalThis.document?.getElementById("vt-site");
  if (!written) return;
  const { page, pages, sections } = JSON.parse(written.textContent);
  whenReadable(putMalformedAside);
  themeSwitch(document.querySelector(".vt-theme"));
  if (page) whenReadable(() => watchReading(document.querySelector(".vt-way-on")));
  if (!sections) return;
  followKept(() => showProgress(pages));
  const [field, list] = [".vt-search input", ".vt-found"].map((each) => document.querySelector(each));
  addSearch(field, list, document.querySelector(".vt-lessons"), sections);
}

open();
