// The script of an exported page: a model and a widget manager for its views, without Jupyter.
//
// The views' own scripts register themselves in globalThis.vtViews. The page holds them compressed, and this
// script runs them as soon as it is there, while the rest of a large page still loads.

import { addressOf, type Rules, traitsIn } from "./address.ts";
import { keepFiguresInSight } from "./figures.ts";
import { tellHeight } from "./frame.ts";
import { keepAnswer, keptAnswer, putMalformedAside, say, sayUnlessLasting, whenReadable } from "./store.ts";
import { Visits, type Traits } from "./visits.ts";

type Model = ReturnType<typeof pageModel>;
type State = Record<string, unknown>;

/** A trait that the browser keeps, under a name. */
interface Keeps {
  name?: string;
  trait?: string;
}

/** A view of the page: the name of its script, and its traits. */
interface View {
  script: string;
  state: State;
  /** What the page's address says of it, if it is the one that this tells of. */
  address?: Rules;
}

/** What the script of a widget exports. */
interface Widget {
  initialize?: (place: { model: Model }) => unknown;
  render: (place: { model: Model; el: Element }) => (() => void) | undefined;
  /** Whether a kept answer is one to this question. */
  fits?: (model: Model, answer: unknown) => boolean;
}

interface Manager {
  get_model: (id: string) => Promise<Model>;
  create_view: (model: Model) => Promise<{ el: HTMLElement; remove: (() => void) | undefined }>;
}

interface ScriptRules {
  createScript: (text: string) => string;
}

declare global {
  /** The views' scripts by their names; a function returns what its script exports. */
  var vtViews: Record<string, Widget | (() => Promise<Widget>)> | undefined;
  /** Of browsers whose policy may ask for it. */
  var trustedTypes: { createPolicy: (name: string, rules: ScriptRules) => ScriptRules } | undefined;
}

/** Traits that Back leaves alone: the text size suits the reader, and replies are no choice. */
const NOT_VISITED = ["text_size", "answers"];

/** Fulfilled when all of the page is there, and all its scripts have run. */
const loaded: Promise<void> = new Promise((resolve) => {
  if (isLoading()) addEventListener("load", () => resolve());
  else resolve();
});

function isLoading() {
  const state = globalThis.document?.readyState ?? "complete";
  return state !== "complete";
}

/**
 * The anywidget model of one view, with its state in the page alone. A view whose state says
 * `keeps: { name, trait }` has that trait kept by the browser.
 *
 * @param state the view's traits
 * @param manager the page's widget manager
 * @param before called before a trait gets another value
 */
export function pageModel(
  state: State,
  manager: Manager | null = null,
  before: (name: string) => void = () => {},
) {
  const listeners = new Map<string, Set<() => void>>();
  const { name: keptAs, trait: keptTrait } = (state.keeps ?? {}) as Keeps;
  const tell = (name: string) => {
    for (const listener of listeners.get(`change:${name}`) ?? []) listener();
  };
  const model = {
    widget_manager: manager,
    // biome-ignore lint/suspicious/noExplicitAny: a trait of any kind, as its reader knows
    get: (name: string): any => state[name],
    set(name: string, value: unknown) {
      if (state[name] === value) return;
      if (!keptAs && !NOT_VISITED.includes(name)) before(name);
      state[name] = value;
      if (keptAs && name === keptTrait) keepAnswer(keptAs, value);
      tell(name);
    },
    /** Set traits; the function that is returned tells of them. */
    setAll(traits: Traits) {
      Object.assign(state, traits);
      return () => Object.keys(traits).forEach(tell);
    },
    save_changes() {},
    on(event: string, listener: () => void) {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(listener));
    },
    off(event: string, listener: () => void) {
      listeners.get(event)?.delete(listener);
    },
  };
  return model;
}

/**
 * Give a view the answer that the browser keeps, if the view's script says that it fits.
 *
 * @param widget what its script exports, perhaps with `fits(model, answer)`
 * @param place where what is put aside is said
 */
function restoreAnswer(model: Model, widget: Widget | undefined, place: Element | null) {
  const { name, trait } = model.get("keeps");
  const { answer, aside } = keptAnswer(name, (each) => widget?.fits?.(model, each) ?? true);
  if (answer !== undefined) model.set(trait, answer);
  if (aside === undefined) return;
  const told = typeof aside === "object" ? "" : ` (${String(aside).slice(0, 60)})`;
  say(`This browser has kept an answer${told} that may be to another question. It was put aside.`, place);
}

/**
 * The widget manager of a page, whose model ids are the views' numbers.
 *
 * @param visits what Back and Forward return to
 */
export function pageManager(views: View[], visits: Visits | null = null) {
  const models = new Map<string, Promise<Model>>();
  const made = new Map<Model, { id: string; script: string }>();
  async function makeModel(id: string) {
    const view = views[Number(id)];
    if (!view) throw new Error("it is not on this page");
    const state = await revivedState(view.state);
    const model = pageModel(state, manager, (name) => visits?.before(id, name));
    if (!(view.state.keeps as Keeps | undefined)?.name) model.setAll(visits?.add(id, model) ?? {});
    if (view.address) followAddress(model, view.address, visits);
    made.set(model, { id, script: view.script });
    await makeReady(model, view.script, id);
    return model;
  }

  const manager: Manager = {
    async get_model(id: string) {
      const model = models.get(id) ?? makeModel(id);
      models.set(id, model);
      return model;
    },
    async create_view(model: Model) {
      const el = document.createElement("div");
      const remove = await renderInto(made.get(model)!.script, model, el);
      visits?.drawn(made.get(model)!.id);
      return { el, remove };
    },
  };
  return manager;
}

/** Choose in a view what the page's address says, and keep the address true. */
function followAddress(model: Model, rules: Rules, visits: Visits | null) {
  const follow = () => {
    const { traits, lacking } = traitsIn(location.hash, rules, model.get);
    for (const [name, value] of Object.entries(traits)) model.set(name, value);
    if (lacking.length) say(`Its address asks for ${lacking.join(", ")}, which this page does not have.`);
  };
  follow();
  if (visits) visits.address = { now: () => addressOf(rules, model.get), follow };
}

/** Let a model's script get ready, and what was answered return. */
async function makeReady(model: Model, script: string, id: string) {
  const widget = await widgetOf(script);
  await widget?.initialize?.({ model });
  if (!model.get("keeps")?.name) return;
  whenReadable(() => restoreAnswer(model, widget, document.querySelector(`[data-view="${id}"]`)));
}

/** Fulfilled when the views' scripts have run, which the page holds compressed; its policy names each by its hash. */
const scriptsRun: Promise<void> = runScripts(globalThis.document?.getElementById("vt-scripts"));

async function runScripts(held: Element | null | undefined): Promise<void> {
  if (!held) return;
  const texts: string[] = JSON.parse(await inflatedText(held.textContent));
  const trusted = globalThis.trustedTypes?.createPolicy("viz-transformer", { createScript: (text) => text });
  const ran = new Promise<unknown>((resolve) => addEventListener("vt-views", resolve, { once: true }));
  for (const text of texts) {
    const script = Object.assign(document.createElement("script"), { type: "module", async: false }); // in order
    script.textContent = trusted?.createScript(text) ?? text;
    document.head.append(script);
  }
  await ran;
}

/** What the script of a widget exports: its `render`, and perhaps an `initialize`; undefined if it did not run. */
async function widgetOf(script: string): Promise<Widget | undefined> {
  await scriptsRun;
  const found = globalThis.vtViews?.[script];
  return typeof found === "function" ? await found() : found;
}

async function renderInto(script: string, model: Model, el: Element) {
  const widget = await widgetOf(script);
  if (!widget) throw new Error("its script did not run");
  return widget.render({ model, el });
}

/** A view's traits as they were before the export; its replies, `answers`, become so when they are first read. */
export async function revivedState({ answers, ...traits }: State): Promise<State> {
  const state = (await revive(traits)) as State;
  if (answers === undefined) return state;
  const pairs = typeof answers === "string" ? JSON.parse(await inflatedText(answers)) : answers;
  return { ...state, answers: (pairs as [unknown, unknown][]).map(unread) };
}

/**
 * A value as it was before the export: {"base64": "…"} and {"deflated": "…"}, which is compressed, become bytes
 * again; where there is a number for the letters, they stand in an element of their own.
 */
async function revive(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(revive));
  if (!isObject(value)) return value;
  if (isLetters(value.base64)) return new DataView(bytesFrom(value.base64).buffer);
  if (isLetters(value.deflated)) return inflated(bytesFrom(value.deflated));
  const entries = Object.entries(value).map(async ([name, item]) => [name, await revive(item)]);
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * A request with its reply, which is revived when it is read: a large trace's are hundreds of megabytes. It is a
 * promise if there are bytes in it, which may stand further down in a page that still loads.
 */
function unread([request, reply]: [unknown, unknown]) {
  if (!hasBytes(reply)) return [request, reply];
  const get = () =>
    isLoading() && hasBytes(reply, "number") ? loaded.then(() => revive(reply)) : revive(reply);
  return Object.defineProperty([request], 1, { get, enumerable: true });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object";
}

/** Letters, or the number of the element that holds them. */
const isLetters = (value: unknown): value is string | number =>
  typeof value === "string" || typeof value === "number";

function hasBytes(value: unknown, type = ""): boolean {
  if (!isObject(value)) return false;
  const letters = value.base64 ?? value.deflated;
  if (isLetters(letters)) return !type || typeof letters === type;
  return Object.values(value).some((item) => hasBytes(item, type));
}

function bytesFrom(letters: string | number): Uint8Array<ArrayBuffer> {
  const text = atob(
    typeof letters === "string" ? letters : document.getElementById(`vt-block-${letters}`)!.textContent,
  );
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Bytes that zlib compressed. */
async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<DataView> {
  if (!globalThis.DecompressionStream)
    throw new Error("its numbers are compressed, and this browser has no DecompressionStream");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(stream).arrayBuffer());
}

async function inflatedText(letters: string): Promise<string> {
  return new TextDecoder().decode(await inflated(bytesFrom(letters)));
}

/** Draw one view into all its places, which share its state as in a notebook. */
async function openPlaces(
  manager: Manager,
  number: number,
  script: string,
  places: NodeListOf<Element>,
  visits: Visits,
) {
  try {
    const model = await manager.get_model(String(number));
    for (const el of places) {
      el.replaceChildren(); // the still picture
      await renderInto(script, model, el);
    }
    if (places.length) visits.drawn(String(number));
  } catch (error) {
    for (const place of places) {
      place.classList.add("vt-failed");
      place.textContent = `This page could not draw its views (${error}); try a current browser.`;
    }
    throw error; // shown in the console
  }
}

/** Keep the lesson's list of exercises true: a form says whenever it has checked an answer. */
function followExercises() {
  document.addEventListener("vt-exercise", (event) => {
    const { name, passed } = (event as CustomEvent).detail;
    const line = document.querySelector(`[data-exercise="${name}"]`);
    if (line) line.textContent = (passed ? "✓" : "○") + line.textContent.slice(1);
  });
}

scriptsRun.catch(() => {}); // where it is awaited it is said
const written = globalThis.document?.getElementById("vt-page");
if (written) {
  const { views }: { views: View[] } = JSON.parse(written.textContent);
  document.querySelector("body > .vt-instead")?.remove();
  whenReadable(putMalformedAside);
  if (views.some(({ state }) => (state.keeps as Keeps | undefined)?.name)) whenReadable(sayUnlessLasting);
  tellHeight();
  keepFiguresInSight();
  followExercises(); // before the forms show what the browser has kept
  const visits = new Visits(written.textContent);
  const manager = pageManager(views, visits);
  views.forEach(({ script }, number) => {
    openPlaces(manager, number, script, document.querySelectorAll(`[data-view="${number}"]`), visits);
  });
}
