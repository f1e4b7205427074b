// What is said of counted answers.

/** A prediction, and how many gave each answer; see live.py. */
export interface Counted {
  name: string;
  question: string;
  options: string[];
  first: number[];
  after: number[];
  right: number | null;
}

const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0);

/** How many were right, at first and after the discussion; where none is marked as right, what most answered. */
export function headlineOf({ options, first, after, right }: Counted): string {
  const at = right ?? first.indexOf(Math.max(...first));
  const told = (counts: readonly number[]) => `${counts[at]} of ${sum(counts)}`;
  const what = right === null ? `answered “${options[at]}”` : "were right";
  return `${told(first)} ${what}${sum(after) ? `, then ${told(after)}` : ""}`;
}

const counted = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`;
export const countText = (n: number): string => counted(n, "learner is counted", "learners are counted");

/** How many files are not counted, and why. */
export function leftOutText(nLeftOut: number, nUnreadable: number): string {
  const left = nLeftOut ? `${nLeftOut} left out, who did not agree` : "none left out";
  return nUnreadable ? `${left} · ${counted(nUnreadable, "file", "files")} cannot be read` : left;
}
