// What is chosen in a studio, carried from room to room.
//
// What is chosen is the studio's own state, in its traits. The page carries it into a room that is entered, and
// takes over what is chosen there, so that the doors work without Python. What Python sets it has carried itself:
// carried once more, it would come back to Python late. The past is kept in the page alone.

import type { Surroundings } from "../base/child_view.ts";
import { watchChoices } from "../base/choices.ts";
import { canAsk, connectKernel, type Model } from "../base/kernel.ts";
import { type Problem, setEditor } from "../base/sentence.tsx";
import { MountedRoom } from "./mounted_room.ts";
import { CARRIED, CHOSEN, type Door, isSame, type State } from "./rooms.ts";
import type { Traits } from "./traits.ts";

const MOST_PAST = 200;
const REMEMBERED = ["room", ...CHOSEN]; // the size of the text is no choice to go back to
const IDLE_MS = 500; // without a room that is opened, until the next one is made

interface Around extends Surroundings {
  model: Model;
  set: (change: State) => void;
  redraw: () => void;
  onEntered: () => void;
}

export class Studio {
  /** What is wrong, in a line. */
  problem = "";
  #around: Around;
  #place: HTMLElement;
  /** Those that have been entered. */
  #rooms = new Map<string, MountedRoom>();
  /** Those that Python has made by now. */
  #made = new Map<string, Promise<{ room: string; door: Door }>>();
  /** The room that is seen. */
  #shown: string | null = null;
  /** The rooms and choices before, and last the one of now. */
  #past: State[] = [];
  /** Whose choices have changed since it was last settled. */
  #news = { studio: false, room: false };
  #due = false;
  #own = false; // whether it is the studio that sets its traits
  #reads = 0; // sentences typed in a room that follows
  #kernel: ReturnType<typeof connectKernel>;
  #choices = watchChoices();
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(around: Around, place: HTMLElement) {
    [this.#around, this.#place] = [around, place];
    this.#kernel = connectKernel(around.model);
    for (const name of ["room", ...CARRIED]) around.model.on(`change:${name}`, this.#onState);
    around.model.on("change:rooms", this.#makeNext);
    this.#settle();
  }

  get hasPast(): boolean {
    return this.#past.length > 1;
  }

  #get<Name extends keyof Traits>(name: Name): Traits[Name] {
    return this.#around.model.get(name);
  }

  #state(names: readonly string[] = CARRIED): State {
    return Object.fromEntries(names.map((name) => [name, this.#get(name as keyof Traits) ?? null]));
  }

  // --- what the viewer does -------------------------------------------------------------------

  go(room: string): void {
    this.#apply({ room });
  }

  back(): void {
    if (!this.hasPast) return;
    this.#past.pop();
    this.#apply(this.#past.at(-1)!);
  }

  reset(): void {
    const drawn = { ...this.#get("drawn") };
    for (const [key, room] of this.#rooms) {
      room.reset();
      if (room.door.followed.length && canAsk(this.#around.model)) delete drawn[key];
    }
    this.#apply({ ...this.#get("opened"), drawn });
  }

  #apply(state: State): void {
    this.#news.studio = true;
    this.#set(state);
    this.#settle();
  }

  #set(change: State): void {
    this.#own = true;
    this.#around.set(change);
    this.#own = false;
  }

  #say(problem: string): void {
    this.problem = problem;
    this.#around.redraw();
  }

  // --- carrying what is chosen ----------------------------------------------------------------

  #onState = () => {
    if (!this.#own) this.#note(this.#isChosenHere() ? "studio" : null);
  };

  #isChosenHere(): boolean {
    return !this.#around.model.send || this.#choices.here(); // an exported page has no Python
  }

  /** Several traits change one after the other: what follows is done once, after the last. */
  #note(what: "studio" | "room" | null): void {
    if (what) this.#news[what] = true;
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => this.#settle());
  }

  #settle(): void {
    const news = this.#news;
    [this.#news, this.#due] = [{ studio: false, room: false }, false];
    const key = this.#get("room");
    const room = this.#rooms.get(key);
    if (key !== this.#shown || !room) this.#enter(key, news.studio);
    else if (news.studio) this.#write(room, key);
    else if (news.room) this.#take(room);
    else room.seen = this.#state();
    this.#remember();
  }

  /** Open a room; `carries` says that the choice is to be brought in, which Python has not done. */
  async #enter(key: string, carries: boolean): Promise<void> {
    const isLeft = () => this.#get("room") !== key || this.#shown === key;
    try {
      const made = await this.#find(key);
      if (isLeft()) return;
      if (!this.#rooms.has(key)) this.#rooms.set(key, this.#mount(key, made));
      await this.#rooms.get(key)!.ready;
    } catch (error) {
      if (!isLeft()) this.#say(`This room cannot be shown. ${(error as Error).message ?? error}`);
      return;
    }
    if (isLeft()) return; // meanwhile
    const room = this.#rooms.get(key)!;
    if (!carries) room.seen = this.#state();
    else if (isSame(room.seen, this.#state(), CARRIED)) this.#take(room);
    else this.#write(room, key);
    this.#open(key, room);
  }

  /** A room with its door, which Python makes where it has not been opened before. */
  #find(key: string): Promise<{ room: string; door: Door }> {
    const [room, door] = [
      (this.#get("rooms") as Record<string, string>)[key],
      this.#get("doors")[key] as Door | undefined,
    ];
    if (room && door) return Promise.resolve({ room, door });
    if (!this.#made.has(key)) {
      const asked = this.#kernel.ask({ open: key });
      this.#made.set(key, asked);
      asked.catch(() => this.#made.delete(key)); // the next time it may be there
    }
    return this.#made.get(key)!;
  }

  /** Have one room more made while nobody waits for it, and so on: a notebook that is saved then has them all. */
  #makeNext = (): void => {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      const key = Object.keys(this.#get("signs")).find((each) => !(each in (this.#get("rooms") as object)));
      if (key && this.#around.model.get("live")) this.#around.model.send?.({ id: "", ask: { open: key } });
    }, IDLE_MS);
  };

  #open(key: string, room: MountedRoom): void {
    const hadFocus = this.#place.contains(document.activeElement);
    for (const each of this.#rooms.values()) each.place.hidden = each !== room;
    this.#shown = key;
    this.#remember();
    this.#say("");
    if (hadFocus) requestAnimationFrame(this.#around.onEntered);
    this.#makeNext();
  }

  #mount(key: string, { room, door }: { room: string; door: Door }): MountedRoom {
    const made = new MountedRoom(this.#around, door, room, this.#place, () => {
      if (this.#shown === key && this.#isChosenHere()) this.#note("room");
    });
    const text = () => this.#get("sentence");
    if (made.follows)
      setEditor(made.place, { label: "Sentence", about: "", text, read: (typed) => this.#read(typed, key) });
    return made;
  }

  /** Bring the choice into a room; where it follows, once it has what it shows of the sentence. */
  #write(room: MountedRoom, key: string): void {
    const state = this.#state();
    const text = state.sentence as string;
    if (!room.follows || this.#get("drawn")[key] === text) room.write(state);
    else
      this.#kernel.latest(
        { text, room: key },
        ({ traits }: { traits: State | null }) => {
          this.#show(room, key, text, traits);
          room.write(this.#state());
        },
        (error: Error) => this.#say(error.message),
      );
  }

  #show(room: MountedRoom, key: string, text: string, traits: State | null): void {
    if (traits) room.follow(traits); // else Python has sent it
    this.#set({ drawn: { ...this.#get("drawn"), [key]: text } });
  }

  /** Have a sentence read that was typed in a room that follows; what is wrong with it, or null. The newest counts. */
  async #read(text: string, key: string): Promise<Problem | null> {
    const [count, before] = [++this.#reads, this.#get("sentence")];
    try {
      const { traits } = await this.#kernel.ask({ text, room: key });
      if (count !== this.#reads || this.#get("sentence") !== before) return null;
      this.#show(this.#rooms.get(key)!, key, text, traits);
      this.#apply({ sentence: text });
      return null;
    } catch (error) {
      return { text: (error as Error).message, suggestions: [] };
    }
  }

  /** Take over what is chosen in a room. */
  #take(room: MountedRoom): void {
    this.#set(room.read(this.#state()));
    room.seen = this.#state();
  }

  #remember(): void {
    const now = this.#state(REMEMBERED);
    if (isSame(this.#past.at(-1), now, REMEMBERED)) return;
    this.#past = [...this.#past, now].slice(-MOST_PAST);
    this.#around.redraw();
  }

  close(): void {
    clearTimeout(this.#idle);
    for (const name of ["room", ...CARRIED]) this.#around.model.off(`change:${name}`, this.#onState);
    this.#around.model.off("change:rooms", this.#makeNext);
    for (const room of this.#rooms.values()) room.close();
    this.#kernel.close();
    this.#choices.close();
  }
}
