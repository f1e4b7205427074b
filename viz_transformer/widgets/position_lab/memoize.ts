// The last result of a function, kept.

/** A function that keeps its last result as long as its arguments stay the same. */
export function memoizeLast<Given extends unknown[], Result>(compute: (...given: Given) => Result) {
  let known: { given: Given; result: Result } | null = null;
  return (...given: Given): Result => {
    if (!known?.given.every((value, at) => value === given[at])) known = { given, result: compute(...given) };
    return known.result;
  };
}
