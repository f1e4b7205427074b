// The lines of Python that make a view once more, with what is chosen in it now.

const WIDE = 88; // letters in a line

/** The trait `made`: how a cell makes a view. */
export interface Made {
  /** The call; a trait's name in braces stands for its value. */
  by: string;
  /** What each trait is at first, in an order in which they can be set. */
  usual: Record<string, unknown>;
  /** Those that the call may make another than that. */
  always: string[];
}

const WORDS: Record<string, string> = { null: "None", true: "True", false: "False", ",": ", ", ":": ": " };

/** A value as Python writes it; undefined for bytes. */
export function inPython(value: unknown): string | undefined {
  let hasBytes = false;
  const json = JSON.stringify(value, (_, item) => {
    hasBytes ||= ArrayBuffer.isView(item);
    return item;
  });
  return hasBytes ? undefined : json?.replace(/"(\\.|[^"\\])*"|\w+|[,:]/g, (found) => WORDS[found] ?? found);
}

/** The lines that make a view whose traits are these. */
export function linesOf({ by, usual, always }: Made, get: (trait: string) => unknown): string[] {
  const now = (name: string) => inPython(get(name) ?? null);
  const made = `view = ${by.replace(/\{(\w+)\}/g, (_, name) => now(name)!)}`;
  const names = Object.keys(usual).filter((name) => {
    const isUsual = now(name) === inPython(usual[name]) && !always.includes(name);
    return !isUsual && now(name) && !by.includes(`{${name}}`);
  });
  const line = `${names.map((name) => `view.${name}`).join(", ")} = ${names.map(now).join(", ")}`;
  if (line.length <= WIDE) return names.length ? [made, line] : [made];
  return [made, ...names.map((name) => `view.${name} = ${now(name)}`)];
}
