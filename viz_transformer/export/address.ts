// What is chosen in a page's first view, in the page's address: "#layer=16&head=0&query=12".
//
// Python says which traits stand in it and which values they may have. An address with a value that the page does
// not have is not followed, and a line says so.

/** What an address may say of one trait. */
interface Rule {
  /** The values that it may have; else it is a number from 0 on. */
  values?: readonly (string | boolean)[];
  /** How many numbers there are, by the value of the trait "kind". */
  sizes?: Record<string, number>;
  /** What it is where an address does not name it; an address leaves it out then. */
  usual?: unknown;
}
export type Rules = Record<string, Rule>;
export type Traits = Record<string, unknown>;

/** The address of what is chosen, "" or with its #. */
export function addressOf(rules: Rules, get: (name: string) => unknown): string {
  const named = Object.keys(rules).filter((name) => get(name) !== rules[name].usual);
  return named.length ? `#${new URLSearchParams(named.map((name) => [name, String(get(name))]))}` : "";
}

/**
 * The traits that an address sets, those that it does not name as they usually are; and what of it this page does
 * not have. An address sets no trait if it names none, or one with a value that is not there.
 */
export function traitsIn(address: string, rules: Rules, get: (name: string) => unknown) {
  const given = Array.from(new URLSearchParams(address.replace(/^#/, "")));
  const known = new Map(given.filter(([name]) => Object.hasOwn(rules, name)));
  const kind = known.get("kind") ?? String(get("kind"));
  const traits: Traits = {};
  const lacking: string[] = [];
  for (const [name, rule] of known.size ? Object.entries(rules) : []) {
    const text = known.get(name);
    const value = text === undefined ? rule.usual : readAs(text, rule, kind);
    if (value !== undefined) traits[name] = value;
    else if (text !== undefined) lacking.push(`${name}=${text.slice(0, 40)}`);
  }
  return { traits: lacking.length ? {} : traits, lacking };
}

function readAs(text: string, { values, sizes }: Rule, kind: string) {
  if (!sizes) return values?.find((value) => String(value) === text);
  return /^\d{1,9}$/.test(text) && Number(text) < (sizes[kind] ?? 0) ? Number(text) : undefined;
}
