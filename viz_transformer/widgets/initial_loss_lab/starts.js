// The measured starts as the page reads them: scores at a place, and the losses in words.

import { formatNumber, quoted, runningText, shortNumber } from "../base/js/text.js";

/**
 * @typedef {object} Starts
 * @property {number[]} stds standard deviations, rising
 * @property {number[]} losses of each
 * @property {number[]} echoes of each, the share of places with the token just read on top
 * @property {string[]} tokens by id
 * @property {number[][]} read ids [sentence][place]
 * @property {number[][]} wanted ids [sentence][place]
 * @property {DataView} logits float32 [std, place of all sentences, vocab]
 *
 * @typedef {{index: number, sentence: number, place: number}} Chosen `index` of the standard deviation
 */

/**
 * The score of every token at the chosen place: [vocab].
 *
 * @param {Starts} starts
 * @param {Chosen} chosen
 */
export function scoresAt({ read, tokens, logits }, { index, sentence, place }) {
  const counts = read.map((ids) => ids.length);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const row = index * sum(counts) + sum(counts.slice(0, sentence)) + place;
  return tokens.map((_, id) => logits.getFloat32(4 * (row * tokens.length + id), true));
}

/**
 * What is shown, in words.
 *
 * @param {Starts} starts
 * @param {Chosen} chosen
 */
export function startInWords(starts, chosen) {
  const { tokens, read, losses, echoes } = starts;
  const { index, sentence, place } = chosen;
  const scores = scoresAt(starts, chosen);
  const best = scores.indexOf(Math.max(...scores));
  const heard = runningText(read[sentence].slice(0, place + 1).map((id) => tokens[id]));
  const own = best === read[sentence][place] ? ", the word it has just read" : "";
  return (
    `After ${quoted(heard)} the largest logit is that of ${quoted(tokens[best])}${own}. ` +
    `Loss ${formatNumber(losses[index], 1)}; an even bet gives ${formatNumber(evenLoss(starts), 2)}. ` +
    `At ${Math.round(100 * echoes[index])}% of all positions it just repeats the word it has read.`
  );
}

/** The loss of a model that bets evenly on all tokens. */
export function evenLoss({ tokens }) {
  return Math.log(tokens.length);
}

/** A standard deviation as text. */
export function stdText(std) {
  return shortNumber(std, 3);
}
