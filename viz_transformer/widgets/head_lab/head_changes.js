// What the head lab computes: which words differ, which heads are changed, and how to say it.

import { visible } from "../base/js/text.js";

const KIND_ORDER = ["encoder", "decoder", "cross"];

/** Whether two places {kind, layer, head} are the same head. */
export function sameHead(a, b) {
  return a.kind === b.kind && a.layer === b.layer && a.head === b.head;
}

/** A head in words. */
export function headName({ kind, layer, head }) {
  return `${kind} layer ${layer} head ${head}`;
}

/** A head in short, as it is written where room is dear. */
export function shortName({ kind, layer, head }) {
  return `${kind} L${layer} H${head}`;
}

/** The factor of a head among the changed ones; 1 for any other. */
export function factorOf(factors, place) {
  return factors.find((each) => sameHead(each, place))?.factor ?? 1;
}

/** The changed heads with one more factor set, in Python's order; a factor of 1 is no change. */
export function withFactor(factors, { kind, layer, head }, factor) {
  const others = factors.filter((each) => !sameHead(each, { kind, layer, head }));
  const all = factor === 1 ? others : [...others, { kind, layer, head, factor }];
  const order = (each) => [KIND_ORDER.indexOf(each.kind), each.layer, each.head];
  return all.sort((a, b) => {
    const [first, second] = [order(a), order(b)];
    const differs = first.findIndex((value, i) => value !== second[i]);
    return differs < 0 ? 0 : first[differs] - second[differs];
  });
}

/** What is changed, in words. */
export function changesInWords(factors) {
  if (!factors.length) return "Every head is as it was trained.";
  const each = factors.map(
    (place) =>
      `${headName(place)} ${place.factor === 0 ? "is off" : `says ${shortFactor(place.factor)} times as much`}`,
  );
  const most = 3;
  const shown = each.slice(0, most).join(", ");
  const rest = each.length - most;
  return `${shown[0].toUpperCase()}${shown.slice(1)}${rest > 0 ? `, and ${rest} more` : ""}.`;
}

/** A factor with no more digits than it needs. */
export function shortFactor(factor) {
  return String(Number(factor.toFixed(2))).replace("-", "−");
}

/**
 * Which words of two translations have no partner in the other: two lists of booleans.
 *
 * Partners are those of a longest common subsequence, so a word that is left out or put in is the
 * only one that differs.
 */
export function differences(a, b) {
  const longest = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] =
        a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const [inA, inB] = [a.map(() => true), b.map(() => true)];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) [inA[i++], inB[j++]] = [false, false];
    else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return [inA, inB];
}

/** A difference as it is shown: with its sign, and none where the digits show nothing. */
export function signed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return `${value < 0 ? "−" : "+"}${text}`;
}

/** A log-probability or a loss, with a true minus and no minus zero. */
export function plainNumber(value, digits) {
  return signed(value, digits).replace("+", "");
}

/** What the changes do to the probabilities, in words; without changes, the loss as it is. */
export function effectInWords(before, after) {
  if (before === after)
    return `Loss ${plainNumber(before.loss, 3)} nats per token. Click a head to switch it off.`;
  const changes = after.log_probs.map((value, i) => value - before.log_probs[i]);
  const loss = `Loss ${plainNumber(before.loss, 3)} → ${plainNumber(after.loss, 3)} nats per token`;
  const most = changes.reduce((best, value, i) => (Math.abs(value) > Math.abs(changes[best]) ? i : best), 0);
  if (Math.abs(changes[most]) < 0.0005) return `${loss}: no word's log-probability changes by 0.001.`;
  return (
    `${loss}. Most changed: ${quotedToken(before.output[most])}, log-probability ` +
    `${plainNumber(before.log_probs[most], 3)} → ${plainNumber(after.log_probs[most], 3)}.`
  );
}

/** How far the changes moved one head's weights, in words; matrices are flat, [query, key]. */
export function movedInWords(before, after, entry) {
  let most = 0;
  for (let i = 1; i < before.length; i++) {
    if (Math.abs(after[i] - before[i]) > Math.abs(after[most] - before[most])) most = i;
  }
  if (Math.abs(after[most] - before[most]) < 0.005) {
    return "It looks where it looked before: no weight changes by 0.01.";
  }
  const [query, key] = [Math.floor(most / entry.cols), most % entry.cols];
  return (
    `With your changes its weights move most from ${quotedToken(entry.queries[query])} to ${quotedToken(entry.keys[key])}: ` +
    `${before[most].toFixed(2)} → ${after[most].toFixed(2)}.`
  );
}

/** A token in a sentence: isolated, so that a right-to-left word leaves the sentence in its order. */
export function quotedToken(token) {
  return `“\u2068${visible(token)}\u2069”`;
}
