// Which head of a model: its kind of attention, its layer, and its index there.

export interface HeadPlace {
  kind: string;
  layer: number;
  head: number;
}

export const sameHead = (a: HeadPlace, b: HeadPlace): boolean =>
  a.kind === b.kind && a.layer === b.layer && a.head === b.head;
