// The stepper in words: what each step is called, and what it does to the numbers shown.

import { inDigits } from "./derivation.js";
import { largest } from "./attention_math.js";
import { quoted } from "../base/js/text.js";

/** Each step's sign on the step bar and its title. */
const NAMES = {
  x: ["x", "The words as vectors"],
  q: ["q", "The query: x times W_Q"],
  k: ["k", "The keys: times W_K"],
  v: ["v", "The values: times W_V"],
  scores: ["q·k", "The scores: query times key"],
  scaled: ["÷√d", "The scores divided by √d_k"],
  masked: ["mask", "The mask"],
  weights: ["softmax", "The weights: softmax of the scores"],
  output: ["Σ w·v", "The output: values added up by weight"],
  concat: ["concat", "All heads side by side"],
  result: ["W_O", "The result: times W_O"],
};

export function signOf(step) {
  return NAMES[step][0];
}

export function titleOf(step) {
  return NAMES[step][1];
}

/** The layer in words. */
export function layerName({ kind, layer, heads, text }, head) {
  const name = {
    encoder: "Encoder self-attention",
    decoder: "Decoder self-attention",
    cross: "Cross-attention",
  }[kind];
  return heads === 1 && text === "thinking machines"
    ? "Self-attention of two words"
    : `${name} · layer ${layer} · head ${head}`;
}

function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** What a step does, in a sentence or two that are true of these numbers. */
export function sentenceOf(layer, worked, chosen, step) {
  const { query, head } = chosen;
  const [word, keys, width] = [quoted(layer.queries[query]), layer.keys, layer.d_head];
  const looks = layer.reads ? `the position that writes ${word}` : word;
  const best = (name) => {
    const index = largest(worked[name].values);
    return [quoted(keys[index]), inDigits(worked[name].values[index])];
  };
  const none = worked.sum === 0;
  switch (step) {
    case "x": {
      const reads = layer.reads
        ? `Having read ${quoted(layer.reads[query])}, it is about to write ${word}. `
        : "";
      const others = layer.memory
        ? `It will look at the ${counted(keys.length, "vector")} that the encoder made of the source.`
        : `The row of ${looks} is the one that looks.`;
      return `Each word is a row of ${layer.d_model} numbers. ${reads}${others}`;
    }
    case "q":
      return `The ${layer.d_model} numbers of ${looks} become ${width}: its query, what it looks for.`;
    case "k":
      return `Each of the ${counted(keys.length, "word")} gets a key of ${width} numbers, which the query will be compared with.`;
    case "v":
      return `Each of the ${counted(keys.length, "word")} gets a value of ${width} numbers: what it hands over when it is looked at.`;
    case "scores": {
      const [top, value] = best("scores");
      return `The query is multiplied with every key, number by number, and the products are added up. The score of ${word} with ${top} is the largest: ${value}.`;
    }
    case "scaled": {
      if (worked.divisor === 1) return "Not divided: the scores go on as they are.";
      const by = [
        chosen.scale ? `√${width} = ${inDigits(Math.sqrt(width))}` : "",
        chosen.temperature === 1 ? "" : `the temperature ${inDigits(chosen.temperature)}`,
      ]
        .filter(Boolean)
        .join(" and by ");
      const [top, value] = best("scaled");
      return `All scores are divided by ${by}. Their order stays; the largest, of ${top}, is now ${value}.`;
    }
    case "masked": {
      if (!chosen.mask) return "Switched off: every word may be looked at.";
      const barred = worked.allowed.values.filter((open) => !open).length;
      if (!barred) return `${word} may look at every word here, so no score changes.`;
      if (barred === keys.length) return `${word} may look at no word: every score becomes −∞.`;
      return (
        `${word} may not look at ${counted(barred, "word")}${layer.kind === "decoder" ? " that would come later" : ""}: ` +
        `${barred === 1 ? "its score becomes" : "their scores become"} −∞.`
      );
    }
    case "weights": {
      if (none) return "No word may be looked at, so all weights are 0.";
      const [top, value] = best("weights");
      return `Each score becomes a weight: e to its power, divided by the sum. The weights add up to 1, and ${word} looks most at ${top}: ${value}.`;
    }
    case "output": {
      if (none) return "All weights are 0, and so is the output.";
      const [top, value] = best("weights");
      return `Each value is multiplied by its word's weight, and they are added up. ${top} counts most, with ${value}.`;
    }
    case "concat":
      return layer.heads === 1
        ? "There is one head, so its output goes on alone."
        : `The outputs of all ${layer.heads} heads stand side by side, ${layer.heads} × ${width} = ${layer.heads * width} numbers. ` +
            `Those of head ${head} are numbers ${head * width} to ${head * width + width - 1}.`;
    default:
      return `W_O mixes the heads: ${layer.heads * width} numbers become the ${layer.d_out} that this attention has to say about ${looks}.`;
  }
}

/** What a number is, in words. */
export function meaningOf(layer, chosen, { name, row, col }) {
  const word = quoted(layer.queries[chosen.query]);
  const key = quoted(layer.keys[name === "seen" || name === "k" || name === "v" ? row : col] ?? "");
  return {
    x: `number ${col} of the vector of ${word}`,
    all: `number ${col} of the vector of ${quoted(layer.queries[row] ?? "")}`,
    seen: `number ${col} of the vector of ${key}`,
    w_q: "a number of W_Q, the same for every word",
    w_k: "a number of W_K, the same for every word",
    w_v: "a number of W_V, the same for every word",
    w_o: "a number of W_O, the same for every word",
    b_q: "a bias, added to every query",
    b_k: "a bias, added to every key",
    b_v: "a bias, added to every value",
    b_o: "a bias, added to every result",
    q: `number ${col} of the query of ${word}`,
    k: `number ${col} of the key of ${key}`,
    k_t: `number ${row} of the key of ${key}`,
    v: `number ${col} of the value of ${key}`,
    scores: `the score of ${word} with ${key}`,
    scaled: `the divided score of ${word} with ${key}`,
    allowed: `whether ${word} may look at ${key}`,
    masked: `the score of ${word} with ${key}, behind the mask`,
    exponentials: `e to the score of ${key}, less the largest`,
    weights: `how much ${word} looks at ${key}`,
    output: `number ${col} of the output of head ${chosen.head}`,
    heads: `number ${col} of the output of head ${row}`,
    concat: `number ${col} of all heads' outputs`,
    result: `number ${col} of the result`,
  }[name];
}
