// The changed heads, and how each is named.

import { ATTENTION_KINDS, type HeadPlace as Head, sameHead } from "../base/kinds.ts";

export type { Head };
/** A changed head. */
export type Factor = Head & { factor: number };

export const headName = ({ kind, layer, head }: Head): string => `${kind} layer ${layer} head ${head}`;
export const shortName = ({ kind, layer, head }: Head): string => `${kind} head ${layer}·${head}`;

/** The factor of a head: 1 unless it is among the changed ones. */
export const factorOf = (factors: readonly Factor[], head: Head): number =>
  factors.find((each) => sameHead(each, head))?.factor ?? 1;

/** The changed heads with one more factor set, in Python's order; a factor of 1 is no change. */
export function withFactor(
  factors: readonly Factor[],
  { kind, layer, head }: Head,
  factor: number,
): Factor[] {
  const others = factors.filter((each) => !sameHead(each, { kind, layer, head }));
  const all = factor === 1 ? others : [...others, { kind, layer, head, factor }];
  const order = Object.keys(ATTENTION_KINDS);
  return all.sort(
    (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.layer - b.layer || a.head - b.head,
  );
}

/** A factor with no more digits than it needs. */
export const shortFactor = (factor: number): string => String(Number(factor.toFixed(2))).replace("-", "−");

/** What a head's button is called: the head, and its factor. */
export const headState = (head: Head, factor: number): string =>
  `${headName(head)}, ${factor === 0 ? "off" : `factor ${shortFactor(factor)}`}`;
