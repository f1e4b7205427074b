// A map of the newest entries: replies are large, and a view that is used for long is told ever more.

/** @extends {Map<any, any>} */
export class NewestMap extends Map {
  /** @param {number} most */
  constructor(most = 24) {
    super();
    this.most = most;
  }

  set(key, value) {
    super.set(key, value);
    if (this.size > this.most) this.delete(this.keys().next().value);
    return this;
  }
}
