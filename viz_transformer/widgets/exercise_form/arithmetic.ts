// Numbers as one types them, and sums of them as Python would compute them.

export const MOST_LETTERS = 1000; // of a typed number; the sum in it nests no deeper than the browser can follow
const { sqrt, exp, log, sin, cos, PI, E } = Math;
const FUNCTIONS = new Map(Object.entries({ sqrt, exp, log, ln: log, sin, cos }));
const CONSTANTS = new Map(Object.entries({ pi: PI, e: E, nan: Number.NaN, inf: Infinity }));
const PIECE =
  /\s*(?:(\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|(?:(?:math|np|torch)\.)?([a-z]+)|(\*\*|[-+*/^()]))/iy;

/** The numbers, names and signs of a text; none where it holds anything else. */
function piecesOf(text: string): (number | string)[] {
  const pieces = [];
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < text.length) {
    const found = PIECE.exec(text);
    if (!found) return [];
    const [, number, name, sign] = found;
    pieces.push(number ? Number(number.replaceAll("_", "")) : (name ?? sign!).toLowerCase());
  }
  return pieces;
}

/** The number that a text says, or null if it says none: -0.25, 1/8, 2**3, sqrt(64), log(0.5). */
export function compute(text: string): number | null {
  const pieces = piecesOf(text.trim().replaceAll("−", "-").replaceAll(/[·×]/g, "*"));
  let at = 0;
  const takes = (...signs: string[]) => (signs.includes(String(pieces[at])) ? String(pieces[at++]) : "");

  function sum(): number {
    let total = product();
    for (let sign = takes("+", "-"); sign; sign = takes("+", "-"))
      total += sign === "+" ? product() : -product();
    return total;
  }
  function product(): number {
    let total = signed();
    for (let sign = takes("*", "/"); sign; sign = takes("*", "/"))
      total = sign === "*" ? total * signed() : total / signed();
    return total;
  }
  function signed(): number {
    const sign = takes("-", "+");
    if (sign) return sign === "-" ? -signed() : signed();
    const base = one();
    return takes("**", "^") ? base ** signed() : base; // -2**2 is -4, as in Python
  }
  function one(): number {
    const piece = pieces[at++] ?? "";
    if (typeof piece === "number") return piece;
    if (piece === "(") return closed();
    const apply = FUNCTIONS.get(piece);
    const value = apply && takes("(") ? apply(closed()) : CONSTANTS.get(piece);
    if (value === undefined) throw new SyntaxError("no number");
    return value;
  }
  function closed(): number {
    const inside = sum();
    if (!takes(")")) throw new SyntaxError("not closed");
    return inside;
  }

  try {
    const total = sum();
    return at === pieces.length ? total : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
