// Words and punctuation marks joined as people write them; viz_transformer/_text.py does the same.

/** Marks with no space after them, and marks with none before them. */
export const OPENING_MARKS = "¿¡“«(";
export const CLOSING_MARKS = ".,;:!?…”»)";

/** Each is a token of its own, wherever it stands. */
export const MARKS = new Set(`${OPENING_MARKS}${CLOSING_MARKS}"`);

/** Words and punctuation marks as text: a space between words, none inside ¿…? */
export function joinTokens(tokens: Iterable<string>) {
  let text = "";
  let attached = true;
  for (const token of tokens) {
    text += attached || isMark(token, CLOSING_MARKS) ? token : ` ${token}`;
    attached = isMark(token, OPENING_MARKS);
  }
  return text;
}

function isMark(token: string, marks: string) {
  return token.length === 1 && marks.includes(token);
}
