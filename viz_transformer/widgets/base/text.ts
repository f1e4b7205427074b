// Tokens, numbers and sentences as text. Tokens may hold anything: they reach the page through textContent and
// fillText alone, and invisible characters are replaced by visible ones.

const SPANNING = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u; // seen
const JOINING = /\u200c|\u200d|\u034f|\p{Variation_Selector}|[\u{e0020}-\u{e007f}]/u;
const HIDDEN = /(?! )[\p{Z}\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const UNSEEN = new RegExp(`^(?: |${HIDDEN.source})*$`, "u");

/** What tokenizers write for spaces, at the beginning of a token, and for line breaks and tabs: no letter follows. */
const SPACES = /^[Ġ▁]+/;
const BREAKS = /[Ċĉ](?!(?![ĊĉĠ])\p{L})/gu;

/**
 * A token as it is shown: no character invisible, none that would break or turn the line; a tokenizer's sign
 * for a space is a dot.
 *
 * What cannot be seen is named by its code point; what joins its neighbours does so, unless nothing in
 * the token is seen. plots/labels.py does the same.
 */
export function visible(token: string) {
  if (token === "") return "∅";
  const whole = token
    .replace(SPACES, (spaces) => "·".repeat(spaces.length))
    .replace(BREAKS, (mark) => (mark === "Ċ" ? "⏎" : "⇥"))
    .replace(/[\n\r\u2028\u2029]/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(/^ +$/, (spaces) => "␣".repeat(spaces.length));
  const isSeen = !UNSEEN.test(whole);
  return whole.replace(HIDDEN, (c) => {
    if (SPANNING.test(c) || (isSeen && JOINING.test(c))) return c;
    return `<U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** What the tokens mean that stand for no word. */
const MEANINGS: Record<string, string> = {
  "<sos>": "start of sequence",
  "<eos>": "end of sequence",
  "<pad>": "padding",
  "[?]": "the gap to fill",
};

/** What a token stands for that is no word; undefined for a word. */
export function markMeaning(token: string) {
  return Object.hasOwn(MEANINGS, token) ? MEANINGS[token] : undefined;
}

/** What those of some tokens stand for that are no words: "<eos>: end of sequence." */
export function marksExplained(tokens: string[]) {
  const found = Object.keys(MEANINGS).filter((mark) => tokens.includes(mark));
  return found.length ? `${found.map((mark) => `${mark}: ${MEANINGS[mark]}`).join(" · ")}.` : "";
}

/** The longest beginning of `text` that `measure` finds no wider than `width`, with an ellipsis. */
export function elide(text: string, width: number, measure: (text: string) => number) {
  if (measure(text) <= width) return text;
  const characters = Array.from(text);
  let [fits, tooLong] = [0, characters.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (measure(`${characters.slice(0, middle).join("")}…`) <= width) fits = middle;
    else tooLong = middle;
  }
  return `${characters.slice(0, fits).join("")}…`;
}

/** A token as it may be shown, cut after some letters. */
export function shortened(token: string, letters: number) {
  return elide(visible(token), letters, (text) => Array.from(text).length);
}

/** A number with a fixed count of decimals, a true minus sign and no minus zero. */
export function formatNumber(value: number, digits: number) {
  return formatSigned(value, digits).replace("+", "");
}

/** A difference with its sign, `formatNumber` otherwise; a difference that rounds to 0 has no sign. */
export function formatSigned(value: number, digits: number) {
  if (Number.isNaN(value)) return "NaN";
  const sign = value < 0 ? "−" : "+";
  if (!Number.isFinite(value)) return `${sign}∞`;
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${sign}${text}`;
}

/** "1 word", "2 words". */
export const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`;

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/**
 * A number in at most so many digits that count, with no exponent: 16,640, 0.0123 or 3 × 10¹².
 * _numbers.py does the same.
 */
export function shortNumber(value: number, digits = 4) {
  const rounded = Number(value.toPrecision(digits));
  if (rounded === 0 || !Number.isFinite(rounded)) return formatNumber(rounded, 0);
  const size = Math.abs(rounded);
  if (size < 1e-6 || size >= 1e9) return powerOfTen(rounded);
  return (rounded < 0 ? "−" : "") + size.toLocaleString("en", { maximumFractionDigits: 20 });
}

/** A number as a multiple of a power of ten: 10⁻⁵, −3 × 10¹². */
export function powerOfTen(value: number) {
  const [times, power] = Math.abs(value).toExponential().split("e");
  const raised = power.replace(
    /[+\d-]/g,
    (mark) => (({ "+": "", "-": "⁻" }) as Record<string, string>)[mark] ?? SUPERSCRIPTS[Number(mark)],
  );
  return `${value < 0 ? "−" : ""}${times === "1" ? "" : `${times} × `}10${raised}`;
}

const SMALLEST_POWER = -4; // of a difference: below it, not all of its zeros are written

/**
 * The power of ten whose multiples a picture of differences up to `limit` writes; 0 where two decimals
 * tell them apart. _numbers.py does the same.
 */
export function differencePower(limit: number) {
  return limit >= 0.1 && limit < 1000 ? 0 : Math.floor(Math.log10(limit) + 1e-9);
}

/**
 * A weight to two decimals; a difference of weights with its sign, unless its scale begins at 0 (`least`), and the
 * digits that its scale can tell apart.
 */
export function formatWeight(value: number, limit: number | null = null, least = -1) {
  const format = limit === null || least === 0 ? formatNumber : formatSigned;
  const power = limit === null ? 0 : differencePower(limit);
  if (power >= SMALLEST_POWER && power <= 0) return format(value, power ? 1 - power : 2);
  const digits = weightDigits(value, limit, least);
  return /[1-9]/.test(digits) ? `${digits} × ${powerOfTen(Number(`1e${power}`))}` : "0";
}

/**
 * A weight in a cell: a difference is a multiple of its scale's power of ten, which stands beside the scale.
 */
export function weightDigits(value: number, limit: number | null = null, least = -1) {
  const format = limit === null || least === 0 ? formatNumber : formatSigned;
  const power = limit === null ? 0 : differencePower(limit);
  return power ? format(value * Number(`1e${-power}`), 1) : format(value, 2);
}

/** Whether a difference is too small for the digits of its scale. */
export function isUnchanged(value: number, limit: number) {
  return !/[1-9]/.test(weightDigits(value, limit));
}

/** A token in a sentence, isolated (U+2068 … U+2069): a right-to-left word leaves the rest in order. */
export function quoted(token: string) {
  return `“\u2068${visible(token)}\u2069”`;
}

/** Punctuation marks with no space after them, and marks with none before them, as in _text.py. */
const OPENING_MARK = /^[¿¡“«(]$/;
const CLOSING_MARK = /^[.,;:!?…”»)]$/;

/**
 * Tokens as a text to read: for each what to write for it, and whether a space goes before it.
 * Pieces are joined where some token is marked as the beginning of a word (▁the, Ġthe); elsewhere
 * punctuation stands against its word. trace/text.py does the same.
 */
export function runningPieces(tokens: readonly string[]) {
  const marked = tokens.some((token) => /^[▁Ġ]/.test(token));
  return tokens.map((token, i) => {
    const begins = marked && /^[▁Ġ]/.test(token);
    const apart = marked
      ? begins || /^<(?!0x).*>$/s.test(token)
      : !CLOSING_MARK.test(token) && !OPENING_MARK.test(tokens[i - 1] ?? "");
    const text = begins ? token.slice(1) : token;
    return { text: text || !begins ? visible(text) : "", spaced: i > 0 && apart };
  });
}

/** Tokens as one text to read. */
export function runningText(tokens: readonly string[]) {
  return runningPieces(tokens)
    .map(({ text, spaced }) => (spaced ? ` ${text}` : text))
    .join("");
}

/** The characters that a run of bytes spells, such as <0xE4><0xBD><0xA0>, or the run if it spells none. */
function textOfBytes(run: string) {
  const bytes = Uint8Array.from(run.match(/[0-9A-F]{2}/g)!, (byte) => Number.parseInt(byte, 16));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return run;
  }
}

/**
 * One word of its pieces, without the marks that tokenizers put on them (##ing, ▁the, Ġthe, the</w>).
 * A piece alone keeps its marks, unless it is known to be a word.
 */
export function joinPieces(pieces: string[], isWord = false) {
  if (pieces.length === 1 && !isWord) return pieces[0];
  const word = pieces
    .map((piece, i) => (i ? piece.replace(/^##/, "").replace(/^[▁Ġ]/, " ") : piece).replace(/@@$/, ""))
    .join("")
    .replace(/(?:<0x[0-9A-F]{2}>)+/g, textOfBytes);
  return word.replace(/^[▁Ġ]/, "").replace(/<\/w>$/, "") || word;
}

/**
 * A share in whole percents, finer where it is small; none but the whole is 100%.
 *
 * @param isCoarse whether no more than whole percents are known of it
 */
export function percent(share: number, isCoarse = false): string {
  if (share > 0.995 && share < 1) return ">\u00a099%";
  if (isCoarse) return share > 0 && share < 0.005 ? "<\u00a01%" : `${Math.round(100 * share)}%`;
  if (share > 0 && share < 0.001) return "<\u00a00.1%";
  return share > 0 && share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}

/**
 * Which words of two translations have no partner in the other: two lists of booleans.
 *
 * Partners are those of a longest common subsequence, so a word that is left out or put in is the
 * only one that differs.
 */
export function differences(a: readonly string[] | string[], b: readonly string[] | string[]) {
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

const LETTERS = 18; // of a word in a sentence

/** Text, or a word in the colour of its role. */
export type Piece = string | { role: "query" | "key" | "you" | "was"; word: string };

export const named = (role: "query" | "key" | "you", token = "", letters = LETTERS): Piece => ({
  role,
  word: shortened(token, letters),
});

/** A sentence as text, its words isolated: a right-to-left word leaves the rest in order. */
export const plainText = (pieces: readonly Piece[]): string =>
  pieces.map((piece) => (typeof piece === "string" ? piece : `\u2068${piece.word}\u2069`)).join("");
