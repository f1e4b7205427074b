// The difference of two texts, word by word: their longest common subsequence.

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
