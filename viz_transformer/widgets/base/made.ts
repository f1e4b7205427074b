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

/** A value as Python writes it; undefined for bytes and what else has no literal. */
export function inPython(value: unknown): string | undefined {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : undefined;
  const isList = Array.isArray(value);
  if (!isList && Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  const items = Object.entries(value as object).map(([name, item]) => [JSON.stringify(name), inPython(item)]);
  if (items.some(([, item]) => item === undefined)) return undefined;
  if (isList) return `[${items.map(([, item]) => item).join(", ")}]`;
  return `{${items.map((pair) => pair.join(": ")).join(", ")}}`;
}

/** The lines that make a view whose traits are these. */
export function linesOf({ by, usual, always }: Made, get: (trait: string) => unknown): string[] {
  const inside = new Set<string>();
  const call = by.replace(/\{(\w+)\}/g, (_, name: string) => {
    inside.add(name);
    return inPython(get(name)) ?? "…";
  });
  const set = Object.entries(usual).flatMap(([name, value]) => {
    const now = inPython(get(name) ?? null);
    const isUsual = now === inPython(value) && !always.includes(name);
    return inside.has(name) || isUsual || now === undefined ? [] : [[`view.${name}`, now]];
  });
  const made = `view = ${call}`;
  const [names, values] = [0, 1].map((at) => set.map((pair) => pair[at]).join(", "));
  if (!set.length) return [made];
  if (names.length + values.length + 3 <= WIDE) return [made, `${names} = ${values}`];
  return [made, ...set.map((pair) => pair.join(" = "))];
}
