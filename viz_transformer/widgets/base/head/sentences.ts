// The words of the stepper: the name of each step, and what it does to the numbers shown.

import { ATTENTION_KINDS } from "../kinds.ts";
import { counted, named, percent, type Piece, quoted } from "../text.ts";
import {
  argmaxFinite,
  type Choice,
  type ComputedHead,
  type Layer,
  matrixNamed,
  rootName,
  rootOf,
  sharing,
} from "./arithmetic.ts";
import { type Cell, inDigits, type Part, parts } from "./derivation.ts";
import { planOf, type Snapshot, symbolOf } from "./plan.ts";

/** The signs of the steps on the timeline that are not their names. */
const SIGNS: Record<string, string> = {
  turned_q: "turn q",
  turned_k: "turn k",
  scores: "q·k",
  scaled: "÷√d",
  masked: "mask",
  weights: "softmax",
  output: "Σ w·v",
  result: "W_O",
};

export const signOf = (step: string) => SIGNS[step] ?? step;

/** The layer in words. */
export function layerName({ kind, layer, heads, text }: Layer, head: number): string {
  return heads === 1 && text === "thinking machines"
    ? "Self-attention of two words"
    : `${ATTENTION_KINDS[kind].label} · layer ${layer} · head ${head}`;
}

interface Told {
  layer: Layer;
  worked: ComputedHead;
  chosen: Choice;
  word: string;
  looker: string;
  /** The key with the largest number of a row, and that number. */
  best: (name: string) => [key: string, number: string];
}

/** What a step does, in a sentence or two that are true of these numbers. */
export function sentenceOf(layer: Layer, worked: ComputedHead, chosen: Choice, step: string): string {
  const word = quoted(layer.queries[chosen.query] ?? "");
  const told: Told = {
    layer,
    worked,
    chosen,
    word,
    looker: layer.reads ? `the position that writes ${word}` : word,
    best: (name) => {
      const { values } = matrixNamed(worked, name);
      const index = argmaxFinite(values);
      return [quoted(layer.keys[index] ?? ""), inDigits(values[index] ?? 0)];
    },
  };
  return SENTENCES[step]?.(told) ?? "";
}

/** Which heads have the same keys and values, where several share them. */
function shared({ layer, chosen: { head } }: Pick<Told, "layer" | "chosen">): string {
  const each = sharing(layer);
  const first = Math.floor(head / each) * each;
  return each > 1 ? ` Heads ${first} to ${first + each - 1} share them.` : "";
}

/** What tells the vectors that attention reads from those that the residual connection carries. */
const afterNorm = ({ normed }: Layer) => (normed ? ", after the layer’s norm" : "");

/** For each step what it does. */
const SENTENCES: Record<string, (told: Told) => string> = {
  x({ layer, chosen, word, looker }) {
    const reads = layer.reads
      ? `Having read ${quoted(layer.reads[chosen.query] ?? "")}, it is about to write ${word}. `
      : "";
    const others = layer.memory
      ? `It attends to the encoder’s ${counted(layer.keys.length, "vector")}.`
      : `The row of ${looker} is the query: the word that attends to the others.`;
    return `Each word is a row of ${layer.d_model} numbers${afterNorm(layer)}. ${reads}${others}`;
  },
  q: ({ layer, looker }) =>
    `The ${layer.d_model} numbers of ${looker} become ${layer.d_head}: its query, what it looks for.`,
  turned_q: ({ layer, chosen, looker }) =>
    `The numbers are taken in ${layer.d_head / 2} pairs, and each pair is turned by an angle that grows with the position, here ${chosen.query}. ` +
    `So the query of ${looker} depends on its position.`,
  turned_k: () =>
    "Each key is turned by the angles of its own position, so a score depends on how far apart two words are.",
  k: ({ layer, chosen }) =>
    `Each of the ${counted(layer.keys.length, "word")} gets a key of ${layer.d_head} numbers, with which the query is compared.${shared({ layer, chosen })}`,
  v: ({ layer, chosen }) =>
    `Each of the ${counted(layer.keys.length, "word")} gets a value of ${layer.d_head} numbers: what it passes on when a query attends to it.${shared({ layer, chosen })}`,
  scores({ word, best }) {
    const [top, value] = best("scores");
    return `The query is multiplied by every key, number by number, and the products are added up. The score of ${word} with ${top} is the largest: ${value}.`;
  },
  scaled({ layer, worked, chosen, best }) {
    if (worked.divisor === 1) return "Not divided: the scores stay as they are.";
    const by = [
      chosen.scale
        ? layer.divisor == null
          ? `${rootName(layer)} = ${inDigits(rootOf(layer))}`
          : rootName(layer)
        : "",
      chosen.temperature === 1 ? "" : `the temperature ${inDigits(chosen.temperature)}`,
    ]
      .filter(Boolean)
      .join(" and by ");
    const [top, value] = best("scaled");
    return `All scores are divided by ${by}. Their order stays the same; the largest, that of ${top}, is now ${value}.`;
  },
  masked({ layer, worked, chosen, word }) {
    if (!chosen.mask) return "The mask is off: every word may be attended to.";
    const barred = Array.from(matrixNamed(worked, "allowed").values).filter((open) => !open).length;
    if (!barred) return `${word} may attend to every word here, so no score changes.`;
    if (barred === layer.keys.length) return `${word} may attend to no word: every score becomes −∞.`;
    return (
      `${word} may not attend to ${counted(barred, "word")}${layer.kind === "decoder" ? " that would come later" : ""}: ` +
      `${barred === 1 ? "its score becomes" : "their scores become"} −∞.`
    );
  },
  weights({ worked, word, best }) {
    if (worked.sum === 0) return "No word may be attended to, so all weights are 0.";
    const [top, value] = best("weights");
    return `Each score becomes a weight: e to the power of the score, divided by the sum of them all. The weights add up to 1, and ${word} attends most to ${top}: ${value}.`;
  },
  output({ worked, best }) {
    if (worked.sum === 0) return "All weights are 0, and so is the output.";
    const [top, value] = best("weights");
    return `Each value is multiplied by its word's weight, and the products are added up. ${top} counts most, with ${value}.`;
  },
  concat({ layer: { heads, d_head: width }, chosen: { head } }) {
    return heads === 1
      ? "There is only one head, so its output goes on by itself."
      : `The outputs of all ${heads} heads are joined side by side, ${heads} × ${width} = ${heads * width} numbers. ` +
          `Those of head ${head} are numbers ${head * width} to ${head * width + width - 1}.`;
  },
  result: ({ layer, looker }) =>
    `W_O mixes the heads: ${layer.heads * layer.d_head} numbers become the ${layer.d_out} of the result for ${looker}.`,
};

/** What a number is, in words. */
export function meaningOf(layer: Layer, chosen: Choice, { name, row, col }: Cell): string {
  const word = quoted(layer.queries[chosen.query] ?? "");
  const key = quoted(layer.keys[["seen", "k", "turned_k", "v"].includes(name) ? row : col] ?? "");
  const which = layer.reads ? "the vector that writes" : "the vector of";
  const meanings: Record<string, string> = {
    x: `number ${col} of ${which} ${word}${afterNorm(layer)}`,
    all: `number ${col} of ${which} ${quoted(layer.queries[row] ?? "")}${afterNorm(layer)}`,
    seen: `number ${col} of the vector of ${key}`,
    b_q: "a bias, added to every query",
    b_k: "a bias, added to every key",
    b_v: "a bias, added to every value",
    b_o: "a bias, added to every result",
    q: `number ${col} of the query of ${word}`,
    turned_q: `number ${col} of the query of ${word}, turned`,
    turned_k: `number ${col} of the key of ${key}, turned`,
    cos: `the cosine of the angle by which number ${col} is turned`,
    sin: `the sine of the angle by which number ${col} is turned, with its sign`,
    k: `number ${col} of the key of ${key}`,
    k_t: `number ${row} of the key of ${key}`,
    v: `number ${col} of the value of ${key}`,
    scores: `the score of ${word} with ${key}`,
    scaled: `the divided score of ${word} with ${key}`,
    allowed: `whether ${word} may attend to ${key}`,
    masked: `the score of ${word} with ${key}, after the mask`,
    exponentials: `e to the power of the score of ${key}, minus the largest`,
    weights: `how much ${word} attends to ${key}`,
    output: `number ${col} of the output of head ${chosen.head}`,
    heads: `number ${col} of the output of head ${row}`,
    concat: `number ${col} of all heads' outputs`,
    result: `number ${col} of the result`,
  };
  return meanings[name] ?? `a number of ${symbolOf(layer, name)}, the same for every word`;
}

/** A step as an equation, its parts in the colours that mark them in the pictures; empty where it has none. */
export function equationOf({ layer, chosen, worked, step }: Snapshot): Part[] {
  const plan = planOf(layer, step);
  const is = parts("is", step, "op", " = ");
  if (!plan.rows) {
    const bias = plan.bias ? parts("op", " + ", "b", symbolOf(layer, plan.bias)) : [];
    return [
      ...is,
      ...parts("a", symbolOf(layer, plan.a), "op", " · ", "b", symbolOf(layer, plan.b)),
      ...bias,
    ];
  }
  const { mask, scale, temperature } = chosen;
  if (step === "scaled") {
    const root = scale ? parts("op", " ÷ ", "b", rootName(layer)) : [];
    const warm = temperature === 1 ? [] : parts("op", " ÷ ", "b", `temperature ${temperature.toFixed(1)}`);
    return [...is, ["a", "scores"], ...root, ...warm];
  }
  if (step === "masked")
    return [...is, ...parts("a", "scaled", "op", mask ? ", and −∞ where the mask is 0" : ", unchanged")];
  if (step === "weights") {
    const sum = worked.sum ? ` ${worked.sum.toFixed(2)}` : "";
    return [...is, ...parts("a", "e to the score", "op", " ÷ ", "b", "their sum", "op", sum)];
  }
  if (step === "turned_q" || step === "turned_k") {
    const name = step === "turned_q" ? "q" : "k";
    const terms = parts("a", name, "op", " · ", "b", "cos", "op", " + ", "a", `${name} of its partner`);
    return [...is, ...terms, ...parts("op", " · ", "b", "sin")];
  }
  if (step !== "concat") return [];
  return [...is, ...parts("a", "outputs of all heads", "op", ", one after another")];
}

/** What is seen at a step, in one line. */
export function headlineOf({ layer, worked, chosen, step }: Snapshot): Piece[] {
  const query = named("query", layer.queries[chosen.query]);
  const who: Piece[] = layer.reads ? ["Writing ", query, ", the query"] : [query];
  const best = (name: string) => argmaxFinite(matrixNamed(worked, name).values);
  const key = (name: string) => named("key", layer.keys[best(name)]);
  const top = (name: string) => matrixNamed(worked, name).at(0, best(name));
  const open = Array.from(matrixNamed(worked, "allowed").values).filter(Boolean).length;
  const [n, wide] = [layer.keys.length, layer.d_head];
  const told: Record<string, Piece[]> = {
    x: [`Each word is a vector of ${layer.d_model} numbers${afterNorm(layer)}`],
    q: [
      ...(layer.reads ? ["The vector that writes ", query] : [query]),
      ` becomes a query of ${wide} numbers`,
    ],
    turned_q: ["The query of ", query, ` is turned by its position: ${chosen.query}`],
    turned_k: ["Each key is turned by its own position"],
    k: [`Each of ${counted(n, "word")} gets a key of ${wide} numbers`],
    v: [`Each of ${counted(n, "word")} gets a value of ${wide} numbers`],
    scores: [...who, " scores ", key("scores"), ` highest: ${inDigits(top("scores"))}`],
    scaled: [
      chosen.scale ? `Divided by ${rootName(layer)}, ` : "Not divided by √d_k, ",
      key("scaled"),
      ` has ${inDigits(top("scaled"))}`,
    ],
    masked: [...who, ` may look at ${open} of ${counted(n, "word")}`],
    weights: [...who, " looks at ", key("weights"), `: ${percent(top("weights"))}`],
    output: ["The value of ", key("weights"), ` makes ${percent(top("weights"))} of the output`],
    concat: [`${counted(layer.heads, "head")} × ${wide} numbers, side by side`],
    result: [`W_O mixes ${counted(layer.heads, "head")} into ${layer.d_out} numbers`],
  };
  return worked.sum === 0 && ["scaled", "weights", "output"].includes(step)
    ? [...who, " may look at no word"]
    : (told[step] ?? []);
}
