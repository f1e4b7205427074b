// The studio: one row of doors, and below it the room that is open.
//
// What is chosen is the studio's own state, in its traits. The page carries it into a room that is entered, and
// takes over what is chosen there, so that the doors work without Python. What Python sets it has carried itself:
// carried once more, it would come back to Python late. The past is kept in the page alone.

import { watchChoices } from "../base/choices.ts";
import { button, element, setText, uniqueId } from "../base/controls.ts";
import { connectKernel } from "../base/js/kernel.js";
import { createView } from "../base/view.ts";
import { MountedRoom } from "./mounted_room.js";
import { CARRIED, CHOSEN, isSame } from "./rooms.js";

const MOST_PAST = 200;
const REMEMBERED = ["room", ...CHOSEN]; // the size of the text is no choice to go back to
const AROUND = 26; // pixels around a door's name, at the usual text size
const BESIDE = 230; // pixels that the rest of the row takes, at the usual text size

class Studio {
  /** @type {Map<string, MountedRoom>} those that have been entered */
  #mounted = new Map();
  /** @type {string | null} the room that is seen */
  #shown = null;
  /** @type {import("./rooms.js").State[]} the rooms and choices before, and last the one of now */
  #past = [];
  /** Whose choices have changed since it was last settled. */
  #news = { studio: false, room: false, python: false };
  #due = false;
  #own = false; // whether it is the studio that sets its traits

  constructor({ model, el, host }) {
    this.model = model;
    this.surroundings = { model, host };
    this.view = createView({
      model,
      el,
      name: "studio",
      label: "Studio",
      traits: ["room", "text_size"],
      staged: true,
      draw: ({ theme, width, size }) => this.#draw(theme, width, size),
    });
    this.root = this.view.root;
    this.kernel = connectKernel(model);
    this.choices = watchChoices();
    this.#addRow();
    this.problem = element(this.root, "p", "vt-problem", { role: "alert" });
    this.problem.hidden = true;
    this.place = element(this.root, "div", "vt-studio-rooms");
    for (const name of ["room", ...CARRIED]) model.on(`change:${name}`, this.#onState);
    this.#listen();
    this.#settle();
  }

  get #doors() {
    return Object.entries(this.model.get("doors"));
  }

  #state() {
    return Object.fromEntries(CARRIED.map((name) => [name, this.model.get(name) ?? null]));
  }

  // --- the row of doors -----------------------------------------------------------------------

  #addRow() {
    const row = element(this.root, "div", "vt-studio-row", { role: "group", "aria-label": "Rooms" });
    this.back = this.#addButton(row, "◀", () => this.#goBack());
    this.back.setAttribute("aria-label", "Back");
    element(this.back, "span", "vt-studio-word").textContent = " Back";
    this.buttons = element(row, "span", "vt-studio-doors");
    this.list = element(row, "select", "vt-studio-list", {
      id: uniqueId(),
      "aria-label": "Room",
      "data-lm-suppress-shortcuts": "true",
    });
    for (const [key, { name }] of this.#doors) {
      this.#addButton(this.buttons, name, () => this.#go(key)).dataset.room = key;
      element(this.list, "option", "", { value: key }).textContent = name;
    }
    this.view.listen(this.list, "change", () => this.#go(this.list.value));
    this.#addButton(row, "Reset", () => this.#reset());
  }

  #addButton(parent, name, onClick) {
    const made = button(parent, name, onClick);
    made.className = "vt-studio-button";
    return made;
  }

  #draw(theme, width, size) {
    const room = this.model.get("room");
    const names = this.#doors.map(([, { name }]) => theme.measure(name, 14 * size, true) + AROUND * size);
    const free = width - names.reduce((sum, each) => sum + each, BESIDE * size);
    [this.list.hidden, this.buttons.hidden] = [free >= 0, free < 0];
    this.list.value = room;
    for (const door of this.buttons.querySelectorAll("button")) {
      const isOpen = door.dataset.room === room;
      if (isOpen) door.setAttribute("aria-current", "true");
      else door.removeAttribute("aria-current");
    }
    const isFirst = this.#past.length < 2;
    // Disabling a focused button would drop the focus, and with it the keys.
    if (isFirst && document.activeElement === this.back) this.#focusDoor();
    this.back.disabled = isFirst;
  }

  #focusDoor() {
    const open = this.buttons.querySelector("button[aria-current]");
    const place = /** @type {HTMLElement} */ (this.buttons.hidden ? this.list : open);
    place?.focus({ preventScroll: true });
  }

  // --- what the viewer does -------------------------------------------------------------------

  #listen() {
    const { listen } = this.view;
    listen(this.root, "vt-doors", (event) => {
      event.stopPropagation();
      const others = this.#doors.filter(([key]) => key !== this.model.get("room"));
      event.detail.push(...others.map(([key, { name }]) => [key, name]));
    });
    listen(this.root, "vt-door", (event) => {
      event.stopPropagation();
      this.#go(event.detail);
    });
  }

  #go(room) {
    this.#apply({ room });
  }

  #goBack() {
    if (this.#past.length < 2) return;
    this.#past.pop();
    this.#apply(this.#past.at(-1));
  }

  #reset() {
    for (const room of this.#mounted.values()) room.reset();
    this.#apply(this.model.get("opened"));
  }

  /** @param {import("./rooms.js").State} state */
  #apply(state) {
    this.#news.studio = true;
    this.#set(state);
    this.#settle();
  }

  #set(change) {
    this.#own = true;
    this.view.set(change);
    this.#own = false;
  }

  // --- carrying what is chosen ----------------------------------------------------------------

  #onState = () => {
    if (!this.#own) this.#note(this.#isChosenHere() ? "studio" : "python");
  };

  #isChosenHere() {
    return !this.model.send || this.choices.here(); // an exported page has no Python
  }

  /** Several traits change one after the other: what follows is done once, after the last. */
  #note(what) {
    this.#news[what] = true;
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => this.#settle());
  }

  #settle() {
    const news = this.#news;
    this.#news = { studio: false, room: false, python: false };
    this.#due = false;
    const key = this.model.get("room");
    const room = this.#mounted.get(key);
    if (key !== this.#shown) this.#enter(key, news.studio);
    else if (news.studio) this.#write(room);
    else if (news.room) this.#take(room);
    else room.seen = this.#state();
    this.#remember();
  }

  /** Open a room; `carries` says that the choice is to be brought in, which Python has not done. */
  async #enter(key, carries) {
    const room = this.#mounted.get(key) ?? this.#mount(key);
    try {
      await room.ready;
    } catch (/** @type {any} */ error) {
      setText(this.problem, `This room cannot be shown (${error.message ?? error}); run this cell again.`);
      this.problem.hidden = false;
      return;
    }
    if (this.model.get("room") !== key || this.#shown === key) return; // left again meanwhile
    if (!carries) room.seen = this.#state();
    else if (isSame(room.seen, this.#state(), CARRIED)) this.#take(room);
    else this.#write(room);
    this.#open(key, room);
  }

  #open(key, room) {
    const hadFocus = this.place.contains(document.activeElement);
    this.problem.hidden = true;
    for (const each of this.#mounted.values()) each.place.hidden = each !== room;
    this.#shown = key;
    this.#remember();
    this.view.redraw();
    if (hadFocus) requestAnimationFrame(() => this.#focusDoor());
  }

  #mount(key) {
    const room = new MountedRoom(this.surroundings, {
      door: this.model.get("doors")[key],
      reference: this.model.get("rooms")[key],
      parent: this.place,
      onChange: () => {
        if (this.#shown === key && this.#isChosenHere()) this.#note("room");
      },
    });
    this.#mounted.set(key, room);
    return room;
  }

  /** Bring the choice into a room; where it follows, once it has the trace of the sentence. */
  #write(room) {
    const state = this.#state();
    if (room.door.follows && this.model.get("drawn") !== state.sentence) this.#follow(room, state.sentence);
    else room.write(state);
  }

  #follow(room, text) {
    this.kernel.latest(
      { text },
      ({ trace }) => {
        if (trace) room.show(trace); // else Python has sent it
        this.#set({ drawn: text });
        room.write(this.#state());
      },
      (error) => {
        setText(this.problem, error.message);
        this.problem.hidden = false;
      },
    );
  }

  /** Take over what is chosen in a room. */
  #take(room) {
    this.#set(room.read(this.#state()));
    room.seen = this.#state();
  }

  #remember() {
    const now = Object.fromEntries(REMEMBERED.map((name) => [name, this.model.get(name) ?? null]));
    if (isSame(this.#past.at(-1), now, REMEMBERED)) return;
    this.#past = [...this.#past, now].slice(-MOST_PAST);
    this.view.redraw();
  }

  close() {
    for (const name of ["room", ...CARRIED]) this.model.off(`change:${name}`, this.#onState);
    for (const room of this.#mounted.values()) room.close();
    this.kernel.close();
    this.choices.close();
    this.view.close();
  }
}

function render({ model, el, host }) {
  const studio = new Studio({ model, el, host });
  return () => studio.close();
}

export default { render };
