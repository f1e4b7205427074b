// A room that has been entered: its view, and the models in it whose traits the studio reads and sets.

import { addChildView } from "../base/child_view.ts";
import { addChoices } from "../base/choices.ts";
import { element, uniqueId } from "../base/controls.ts";
import { changesFor, chosenIn, targetOf } from "./rooms.js";

const isEqual = (one, other) => one === other || JSON.stringify(one) === JSON.stringify(other);

export class MountedRoom {
  /** By the trait that holds a view, "" for the room's own: its model, and what sets it. */
  #models = new Map();
  #stops = [];
  #writing = false;
  /** @type {import("./rooms.js").State | null} what the room has shown last, as the studio knows it */
  seen = null;

  /**
   * @param {import("../base/child_view.ts").Surroundings} surroundings
   * @param {{ door: import("./rooms.js").Door, reference: string, parent: HTMLElement, onChange: () => void }} room
   */
  constructor(surroundings, { door, reference, parent, onChange }) {
    this.door = door;
    this.place = element(parent, "div", "vt-studio-room");
    this.place.hidden = true; // and so not drawn, until what is chosen has come in
    this.child = addChildView(surroundings, reference, this.place);
    this.ready = this.child.opened.then((inner) =>
      this.#find(inner, surroundings.model.widget_manager, onChange),
    );
  }

  async #find(inner, manager, onChange) {
    for (const path of Object.values(this.door.traits)) {
      const [inside, trait] = targetOf(path);
      if (!this.#models.has(inside)) {
        const model = inside ? await manager.get_model(inner.get(inside).replace("IPY_MODEL_", "")) : inner;
        this.#models.set(inside, { model, choices: addChoices(model) });
      }
      const { model } = this.#models.get(inside);
      const onTrait = () => {
        if (!this.#writing) onChange();
      };
      model.on(`change:${trait}`, onTrait);
      this.#stops.push(() => model.off(`change:${trait}`, onTrait));
    }
  }

  #get = (path) => {
    const [inside, trait] = targetOf(path);
    return this.#models.get(inside).model.get(trait);
  };

  #set(inside, values) {
    const { model, choices } = this.#models.get(inside);
    const news = Object.entries(values).filter(([trait, value]) => !isEqual(model.get(trait), value));
    this.#writing = true;
    if (news.length) choices.set(Object.fromEntries(news));
    this.#writing = false;
  }

  /** What is chosen here; `state` is what was chosen before. */
  read(state) {
    return chosenIn(this.door, this.#get, state);
  }

  /** Bring a choice in. The outer view comes first: the view inside it gets its words from there. */
  write(state) {
    const { sentence, query } = this.door.traits;
    const isNews = Object.keys(state).some(
      (name) => name !== "text_size" && this.seen?.[name] !== state[name],
    );
    const changes = changesFor(this.door, state);
    if (isNews) changes.push(...Object.entries(this.door.also));
    if (sentence && this.#get(sentence) !== state.sentence) this.#forgetQuery(query);
    for (const [inside, values] of this.#grouped(changes)) this.#set(inside, values);
    this.seen = state;
  }

  /** Values by the view that has them, the outer one first. */
  #grouped(changes) {
    const groups = new Map([["", {}]]);
    for (const [path, value] of changes) {
      const [inside, trait] = targetOf(path);
      groups.set(inside, { ...groups.get(inside), [trait]: value });
    }
    return groups;
  }

  /** Set what is chosen in this room alone as it was at first. */
  reset() {
    for (const [inside, values] of this.#grouped(Object.entries(this.door.own))) this.#set(inside, values);
  }

  /** Show another trace, in a room that follows. */
  show(trace) {
    this.#forgetQuery(this.door.traits.query);
    this.#set("", { data: { version: uniqueId(), traces: [trace] } });
  }

  /** Another sentence may not have the word. */
  #forgetQuery(path) {
    const [inside, trait] = targetOf(path);
    if (!this.door.needed.includes("query")) this.#set(inside, { [trait]: null });
  }

  close() {
    for (const stop of this.#stops) stop();
    for (const { choices } of this.#models.values()) choices.close();
    this.child.close();
  }
}
