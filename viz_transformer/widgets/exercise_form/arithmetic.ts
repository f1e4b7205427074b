// Numbers as one types them, and sums of them as Python would compute them.

export const MOST_LETTERS = 1000; // of a typed number; the sum in it nests no deeper than the browser can follow
const { sqrt, exp, log, sin, cos, PI, E } = Math;
const FUNCTIONS = new Map(Object.entries({ sqrt, exp, log, ln: log, sin, cos }));
const CONSTANTS = new Map(Object.entries({ pi: PI, e: E, nan: Number.NaN, inf: Infinity }));
/** Signs between two numbers; one of a higher level is computed first. */
const BETWEEN: Record<string, [level: number, compute: (one: number, other: number) => number]> = {
  "+": [1, (one, other) => one + other],
  "-": [1, (one, other) => one - other],
  "*": [2, (one, other) => one * other],
  "/": [2, (one, other) => one / other],
  "**": [4, (one, other) => one ** other],
};
const [SIGN, POWER] = [3, 4]; // levels: of a sign before a number, since -2**2 is -4, and of a power
const PIECE =
  /\s*(?:(\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|(?:(?:math|np|torch)\.)?([a-z]+)|(\*\*|[-+*/()])|(.))/gi;

/** The number that a text says, or null if it says none: -0.25, 1/8, 2**3, sqrt(64), log(0.5). */
export function compute(text: string): number | null {
  const signs = text.trim().replaceAll("−", "-").replaceAll(/[·×]/g, "*").replaceAll("^", "**");
  const pieces = [...signs.matchAll(PIECE)].map(([, number, ...others]) =>
    number ? Number(number.replaceAll("_", "")) : String(others.find(Boolean)).toLowerCase(),
  );
  let [at, isSum] = [0, true];

  /** What begins here, with all that follows it between signs of at least a level. */
  function sum(least = 0): number {
    let total = one();
    for (let sign = BETWEEN[pieces[at]!]; sign && sign[0] >= least; sign = BETWEEN[pieces[at]!]) {
      at++;
      total = sign[1](total, sum(sign[0] === POWER ? POWER : sign[0] + 1));
    }
    return total;
  }
  function one(): number {
    const piece = pieces[at++] ?? "";
    if (typeof piece === "number") return piece;
    if (piece === "-") return -sum(SIGN);
    if (piece === "+") return sum(SIGN);
    if (piece === "(") return closed();
    const apply = FUNCTIONS.get(piece);
    if (apply && pieces[at++] === "(") return apply(closed());
    isSum &&= CONSTANTS.has(piece);
    return CONSTANTS.get(piece) ?? 0;
  }
  function closed(): number {
    const inside = sum();
    isSum &&= pieces[at++] === ")";
    return inside;
  }

  const total = sum();
  return isSum && at === pieces.length ? total : null;
}
