// The heads of a sentence in every run: those that came with the view, and those received since.

import { NewestMap } from "../base/newest_map.ts";
import { readKind } from "./runs.js";

/** @typedef {Record<string, import("./runs.js").KindEntry>} KindEntries the heads of a run by kind */

/**
 * The heads by sentence. `get(sentence)` returns those of each run, or null until they have come;
 * `problem()` says why they do not come, or is "".
 *
 * @param {Record<string, { runs: Record<string, any>[] }>} sentences as Python sent them
 * @param {ReturnType<typeof import("../base/js/kernel.js").connectKernel>} kernel
 * @param {() => void} onChange
 * @returns {{ get: (sentence: number) => KindEntries[] | null, problem: () => string }}
 */
export function sentenceHeads(sentences, kernel, onChange) {
  const given = new Map();
  const received = new NewestMap(6);
  let [waitingFor, problem] = [null, ""];

  function get(sentence) {
    if (sentences[sentence] && !given.has(sentence)) given.set(sentence, readRuns(sentences[sentence]));
    const known = given.get(sentence) ?? received.get(sentence) ?? null;
    if (!known && waitingFor !== sentence) request(sentence);
    return known;
  }

  function request(sentence) {
    [waitingFor, problem] = [sentence, ""];
    kernel.latest(
      { sentence },
      (reply) => {
        received.set(sentence, readRuns(reply));
        [waitingFor, problem] = [null, ""];
        onChange();
      },
      (error) => {
        problem = error.message;
        onChange();
      },
    );
  }

  return { get, problem: () => problem };
}

function readRuns({ runs }) {
  return runs.map((kinds) =>
    Object.fromEntries(Object.entries(kinds).map(([kind, sent]) => [kind, readKind(sent)])),
  );
}
