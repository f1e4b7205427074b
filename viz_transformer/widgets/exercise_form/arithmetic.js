// Numbers as one types them, and sums of them as Python would compute them.

const FUNCTIONS = {
  sqrt: Math.sqrt,
  exp: Math.exp,
  log: Math.log,
  ln: Math.log,
  sin: Math.sin,
  cos: Math.cos,
};
const CONSTANTS = { pi: Math.PI, e: Math.E, nan: NaN, inf: Infinity };
const PIECE =
  /\s*(?:(\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|(?:(?:math|np|torch)\.)?([a-z]+)|(\*\*|[-+*/^()]))/iy;

/** The numbers, names and signs of a text; null where it holds anything else. */
function piecesOf(text) {
  const pieces = [];
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < text.length) {
    const found = PIECE.exec(text);
    if (!found) return null;
    const [, number, name, sign] = found;
    if (number) pieces.push({ number: Number(number.replaceAll("_", "")) });
    else pieces.push({ sign: (name ?? sign).toLowerCase() });
  }
  return pieces;
}

/**
 * The number that a text says, or null if it says none: -0.25, 1/8, 2**3, sqrt(64), log(0.5).
 *
 * @param {string} text
 * @returns {number | null}
 */
export function compute(text) {
  const pieces = piecesOf(text.trim().replaceAll("−", "-").replaceAll("·", "*").replaceAll("×", "*"));
  if (!pieces?.length) return null;
  let at = 0;
  const takes = (...signs) => (signs.includes(pieces[at]?.sign) ? pieces[at++].sign : "");

  function sum() {
    let total = product();
    for (let sign = takes("+", "-"); sign; sign = takes("+", "-"))
      total += sign === "+" ? product() : -product();
    return total;
  }
  function product() {
    let total = signed();
    for (let sign = takes("*", "/"); sign; sign = takes("*", "/"))
      total = sign === "*" ? total * signed() : total / signed();
    return total;
  }
  function signed() {
    const sign = takes("-", "+");
    if (sign) return sign === "-" ? -signed() : signed();
    const base = one();
    return takes("**", "^") ? base ** signed() : base; // -2**2 is -4, as in Python
  }
  function one() {
    const piece = pieces[at++];
    if (piece?.number !== undefined) return piece.number;
    if (piece?.sign === "(") return closed();
    if (Object.hasOwn(CONSTANTS, piece?.sign)) return CONSTANTS[piece.sign];
    if (Object.hasOwn(FUNCTIONS, piece?.sign) && takes("(")) return FUNCTIONS[piece.sign](closed());
    throw new SyntaxError("no number");
  }
  function closed() {
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
