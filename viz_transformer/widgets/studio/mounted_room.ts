// A room that has been entered: its view, and the models in it whose traits the studio reads and sets.

import { addChildView, type Surroundings } from "../base/child_view.ts";
import { addChoices } from "../base/choices.ts";
import { element, uniqueId } from "../base/elements.ts";
import type { Model } from "../base/kernel.ts";
import { changesFor, chosenIn, type Door, type State, targetOf, WORDS } from "./rooms.ts";

const isEqual = (one: unknown, other: unknown) =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

export class MountedRoom {
  /** By the trait that holds a view, "" for the room's own: its model, and what sets it. */
  #models = new Map<string, { model: Model; choices: ReturnType<typeof addChoices> }>();
  #stops: (() => void)[] = [];
  #writing = false;
  #child: ReturnType<typeof addChildView>;
  readonly door: Door;
  readonly place: HTMLElement;
  readonly ready: Promise<void>;
  /** What the room has shown last, as the studio knows it. */
  seen: State | null = null;

  constructor(
    surroundings: Surroundings,
    door: Door,
    reference: string,
    parent: HTMLElement,
    onChange: () => void,
  ) {
    this.door = door;
    this.place = element(parent, "div", "vt-studio-room");
    this.place.hidden = true; // and so not drawn, until what is chosen has come in
    this.#child = addChildView(surroundings, reference, this.place);
    this.ready = this.#child.opened.then((inner) =>
      this.#find(inner, surroundings.model.widget_manager, onChange),
    );
  }

  async #find(inner: Model, manager: Model["widget_manager"], onChange: () => void): Promise<void> {
    for (const path of Object.values(this.door.traits)) {
      const [inside, trait] = targetOf(path);
      if (!this.#models.has(inside)) {
        const id = inside && inner.get(inside).replace("IPY_MODEL_", "");
        const model: Model = id ? await manager.get_model(id) : inner;
        this.#models.set(inside, { model, choices: addChoices(model) });
      }
      const { model } = this.#models.get(inside)!;
      const onTrait = () => {
        if (!this.#writing) onChange();
      };
      model.on(`change:${trait}`, onTrait);
      this.#stops.push(() => model.off(`change:${trait}`, onTrait));
    }
  }

  #get = (path: string): unknown => {
    const [inside, trait] = targetOf(path);
    return this.#models.get(inside)!.model.get(trait);
  };

  /** Set values by their paths, those of the outer view first: the view inside it gets its words from there. */
  #set(values: State): void {
    this.#writing = true;
    for (const [inside, { model, choices }] of this.#models) {
      const news = Object.entries(values)
        .map(([path, value]) => [...targetOf(path), value] as const)
        .filter(([within, trait, value]) => within === inside && !isEqual(model.get(trait), value));
      if (news.length) choices.set(Object.fromEntries(news.map(([_, trait, value]) => [trait, value])));
    }
    this.#writing = false;
  }

  /** Whether it has no sentence to set: then the studio gives it what it shows of another. */
  get follows(): boolean {
    return this.door.followed.length > 0;
  }

  /** What is chosen here; `state` is what was chosen before. */
  read(state: State): State {
    return chosenIn(this.door, this.#get, state);
  }

  /** Bring a choice in. */
  write(state: State): void {
    const { sentence } = this.door.traits;
    if (sentence && this.#get(sentence) !== state.sentence) this.#forgetWords();
    this.#set(changesFor(this.door, state, this.seen));
    this.seen = state;
  }

  /** Set what is chosen in this room alone as it was at first. */
  reset(): void {
    this.#set(this.door.own);
  }

  /** Show another sentence, in a room that has none to set. */
  follow(traits: State): void {
    this.#forgetWords();
    const { data } = traits;
    this.#set(data ? { ...traits, data: { version: uniqueId(), ...data } } : traits);
  }

  /** Another sentence may not have the words that are chosen. */
  #forgetWords(): void {
    const { traits, needed } = this.door;
    const words = WORDS.filter((name) => traits[name] && !needed.includes(name));
    this.#set(Object.fromEntries(words.map((name) => [traits[name], null])));
  }

  close(): void {
    for (const stop of this.#stops) stop();
    for (const { choices } of this.#models.values()) choices.close();
    this.#child.close();
  }
}
