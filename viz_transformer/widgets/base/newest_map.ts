// A map of the newest entries: replies are large, and a view that is used for long is told ever more.

export class NewestMap<Key, Value> extends Map<Key, Value> {
  most: number;

  constructor(most = 24) {
    super();
    this.most = most;
  }

  set(key: Key, value: Value) {
    super.set(key, value);
    if (this.size > this.most) this.delete(this.keys().next().value!);
    return this;
  }
}
