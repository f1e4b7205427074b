// How alike two words are spelled: the ratio of Python's difflib.SequenceMatcher, so that a page
// suggests the words that Python suggests.
//
// Source: Ratcliff and Metzener 1988, "Pattern Matching: The Gestalt Approach".

/**
 * Twice the characters that match over all characters, from 0 to 1. As in difflib, it is not the same
 * when the words are swapped, and of equally long matches the first counts. (difflib passes over
 * frequent characters in texts of 200 characters or more; no word is so long.)
 */
export function ratio(first: string, second: string) {
  const [a, b] = [Array.from(first), Array.from(second)];
  const length = a.length + b.length;
  return length ? (2 * matches(a, b)) / length : 1;
}

/** How many characters match: those of the longest block, and of what stands before and after it. */
function matches(a: string[], b: string[]): number {
  const { aStart, bStart, size } = longestBlock(a, b);
  if (!size) return 0;
  const before = matches(a.slice(0, aStart), b.slice(0, bStart));
  return size + before + matches(a.slice(aStart + size), b.slice(bStart + size));
}

/** The longest block of characters that both have; of several the first in `a`, then in `b`. */
function longestBlock(a: string[], b: string[]) {
  let best = { aStart: 0, bStart: 0, size: 0 };
  let above = new Array<number>(b.length + 1).fill(0); // of the blocks that end one character earlier in `a`
  for (let i = 0; i < a.length; i++) {
    const row = new Array<number>(b.length + 1).fill(0); // [j + 1]: how long a block ends at a[i] and b[j]
    for (let j = 0; j < b.length; j++) {
      if (a[i] !== b[j]) continue;
      const size = above[j] + 1;
      row[j + 1] = size;
      if (size > best.size) best = { aStart: i - size + 1, bStart: j - size + 1, size };
    }
    above = row;
  }
  return best;
}
