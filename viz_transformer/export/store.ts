// What this browser keeps between visits: what was chosen for all pages, and of each page what was read and
// answered. Where it keeps nothing (blocked storage, a private window, a sandboxed frame), the page's own memory
// does for as long as it is open.

import renamed from "../renamed.json" with { type: "json" };

const SHARED = "viz-transformer"; // what was chosen; also what version 1 kept, without saying of which page
/** Version 2 is of the course of fourteen lessons. */
const VERSION = 3;

/** What stands under a key, as far as it fits. */
interface Kept {
  theme?: string | null;
  size?: number | null;
  /** Of this page, or of version 1 by page. */
  read?: true | Record<string, unknown>;
  answers?: Record<string, unknown>;
  /** What was put aside. */
  aside?: Record<string, unknown>;
}

/** What each value must be; any other is put aside. */
const FITS: Record<string, (value: unknown) => boolean> = {
  theme: (value) => typeof value === "string",
  size: Number.isFinite,
  read: (value) => value === true || isPlain(value),
  answers: isPlain,
  aside: isPlain,
};

function isPlain(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** The values that fit, and those that don't, of what stands under a key. */
function stored(key: string) {
  const text = readText(key);
  let found: unknown = null;
  try {
    found = JSON.parse(text ?? "null");
  } catch {
    // It is no JSON.
  }
  if (text !== null && !isPlain(found)) found = { text };
  const fits = ([name, value]: [string, unknown]) => Object.hasOwn(FITS, name) && FITS[name](value);
  const [good, odd]: [string, unknown][][] = [[], []];
  for (const each of Object.entries(found ?? {})) (fits(each) ? good : odd).push(each);
  return { good: Object.fromEntries(good) as Kept, odd: Object.fromEntries(odd) };
}

/** Keep some more under a key. */
function store(key: string, change: Kept) {
  const { good, odd } = stored(key);
  const aside = { ...good.aside, ...odd, ...change.aside };
  keepText(key, JSON.stringify({ ...good, ...change, aside }));
}

/** The path of a page beside this one, which has no address of its own in `srcdoc`. */
function addressOf(page: string) {
  let address = page;
  try {
    address = new URL(page, location.href).pathname;
  } catch {
    // A page in `srcdoc` has none beside it.
  }
  return address.replace(/\.html$/, "");
}
const keyOf = (page: string) => `${SHARED} ${VERSION} ${addressOf(page)}`;

/** Answers under today's names, of what the fourteen lessons called them; what is gone is left out. */
function underNewNames(answers: Record<string, unknown> = {}): [string, unknown][] {
  const names: Record<string, string> = renamed.names;
  const lessons: Record<string, string> = renamed.lessons;
  return Object.entries(answers).flatMap(([name, answer]) => {
    const [, before = "", lesson, number] = /^(exercise )?(\d+)(\..+)$/.exec(name) ?? [];
    if (!lesson) return [[name, answer]];
    const now = names[lesson + number] ?? (lessons[lesson] ?? lesson) + number;
    return now ? [[before + now, answer]] : [];
  });
}

/** What earlier versions kept that is certainly of this page: in version 1 exercises, and 3.p1 on 03_softmax. */
function earlier(page: string): { read?: unknown; answers: Record<string, unknown> } {
  const address = addressOf(page);
  const [folder, file] = [address.slice(0, address.lastIndexOf("/") + 1), address.split("/").pop()!];
  const lesson = file.startsWith("further_") ? file.slice("further_".length) : file.split("_")[0];
  const isOurs = (name: string) => name.replace("exercise ", "").startsWith(`${lesson.replace(/^0+/, "")}.`);
  const shared = stored(SHARED).good;
  const first = underNewNames(shared.answers).filter(
    ([name]) => name.startsWith("exercise ") || isOurs(name),
  );
  const read = isPlain(shared.read) && shared.read[page];
  const second = (name: string) => stored(`${SHARED} 2 ${folder}${name}`).good;
  const pages = Object.entries(renamed.notebooks);
  const own = pages.filter(([, now]) => now === file);
  if (!own.length && !file.startsWith("further_")) {
    const { read: isRead = read, answers } = second(file);
    return { read: isRead, answers: { ...Object.fromEntries(first), ...answers } };
  }
  const moved = pages
    .flatMap(([name]) => underNewNames(second(name).answers))
    .filter(([name]) => isOurs(name));
  const isRead = own.some(([name]) => second(name).read);
  return { read: isRead || read, answers: Object.fromEntries([...first, ...moved]) };
}

/**
 * What is kept of a page. An answer that was put aside is null.
 *
 * @param page the name of its file, beside this page's
 */
export function kept(page: string): { read: boolean; answers: Record<string, unknown> } {
  const { read, answers } = stored(keyOf(page)).good;
  const before = earlier(page);
  return { read: (read ?? before.read) === true, answers: { ...before.answers, ...answers } };
}

/** Keep that this page was read. */
export function keepRead() {
  store(keyOf(location.href), { read: true });
}

/** Keep an answer that was given on this page. */
export function keepAnswer(name: string, value: unknown, aside: Kept["aside"] = {}) {
  const key = keyOf(location.href);
  store(key, { answers: { ...stored(key).good.answers, [name]: value }, aside });
}

/**
 * The answer that is kept of a question of this page, if it fits. One that doesn't is put aside, and so is one
 * of version 1 that may be another page's.
 */
export function keptAnswer(
  name: string,
  fits: (answer: unknown) => boolean,
): { answer?: unknown; aside?: unknown } {
  const ours = kept(location.href).answers;
  const answers = { ...Object.fromEntries(underNewNames(stored(SHARED).good.answers)), ...ours };
  const answer = Object.hasOwn(answers, name) ? answers[name] : null;
  if (answer === null) return {};
  if (Object.hasOwn(ours, name) && fits(answer)) return { answer };
  keepAnswer(name, null, { [name]: answer });
  return { aside: answer };
}

/** Put aside what no page keeps, and say so. */
export function putMalformedAside() {
  const odd = [SHARED, keyOf(location.href)].filter((key) => Object.keys(stored(key).odd).length);
  for (const key of odd) store(key, {});
  if (odd.length) say("Some of what this browser has kept for this page cannot be read. It was put aside.");
}

/** Say it, once, where nothing is kept after the page is closed. */
export function sayUnlessLasting() {
  if (isLasting() || document.querySelector(".vt-not-lasting")) return;
  say("This browser keeps nothing of this page: what you answer lasts until it is closed.");
  document.querySelector(".vt-note")?.classList.add("vt-not-lasting");
}

/** Say something of what is kept, in a line above the view that it is about; at the top if there is none. */
export function say(text: string, place: Element | null = null) {
  const note = document.createElement("p");
  note.className = "vt-note";
  note.setAttribute("role", "status");
  note.textContent = text;
  (place ?? document.querySelector("main"))?.prepend(note);
}

/** What was chosen for all pages: the theme, or the text's size. */
export function keptChoice<Name extends "theme" | "size">(name: Name): Kept[Name] {
  return stored(SHARED).good[name];
}

/** Keep what was chosen. */
export function keepChoice(name: "size" | "theme", chosen: string | number | null) {
  store(SHARED, { [name]: chosen });
}

/**
 * Call a function once what is kept may be read: after the page's first frame.
 *
 * Chromium shows an empty store to a page from a disk that asks before then, for as long as the page is open;
 * what such a page keeps can replace all that was kept.
 */
export function whenReadable(then: () => void) {
  requestAnimationFrame(() => setTimeout(then));
}

/**
 * Show what is kept: once it may be read, whenever another page has kept something, and when one goes back to
 * this page.
 */
export function followKept(show: () => void) {
  whenReadable(() => {
    show();
    addEventListener("storage", show);
    addEventListener("pageshow", show);
  });
}

const memory = new Map<string, string>();

/** The text that is kept under a key; null if there is none. */
export function readText(key: string): string | null {
  const inPage = memory.get(key);
  if (inPage !== undefined) return inPage;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a text under a key. */
export function keepText(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
    memory.delete(key);
  } catch {
    memory.set(key, text);
  }
}

/** Whether what is kept is still there after the page was closed. */
export function isLasting(): boolean {
  try {
    localStorage.getItem("");
    return true;
  } catch {
    return false;
  }
}
