// Values as Python writes them in a message: 'text', None, True, ['a', 'b'].

const ESCAPED = new Map([
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** What Python's repr gives for a value of JSON. */
export function repr(value: unknown): string {
  if (typeof value === "string") return reprText(value);
  if (typeof value === "number") return reprNumber(value);
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "object") {
    const pairs = Object.entries(value).map(([key, each]) => `${repr(key)}: ${repr(each)}`);
    return `{${pairs.join(", ")}}`;
  }
  return String(value);
}

function reprText(text: string) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = (character: string) => {
    if (character === quote) return `\\${quote}`;
    const known = ESCAPED.get(character);
    if (known) return known;
    // Python shows what is neither a separator but the space, nor invisible.
    if (character === " " || !/^[\p{C}\p{Z}]$/u.test(character)) return character;
    const hex = character.codePointAt(0)!.toString(16);
    if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  };
  return quote + Array.from(text, escaped).join("") + quote;
}

function reprNumber(value: number) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  // JSON writes 1.0 as 1, so a whole number is shown as one.
  return String(value).replace(/e([+-])(\d)$/, "e$10$2");
}
