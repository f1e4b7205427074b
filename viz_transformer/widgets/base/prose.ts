// Prose with a little markup: paragraphs, *emphasis*, **strong**, `code` and [links](https://…). Every
// piece becomes a DOM node of its own; nothing is read as HTML.

/** Of a paragraph. */
interface Piece {
  kind: "text" | "em" | "strong" | "code" | "link";
  text: string;
  /** Of a link that may be followed. */
  href?: string;
}

const MARKS = new RegExp(
  [
    /`(?<code>[^`]+)`/,
    /(?<![\w*])\*\*(?<strong>[^\s*](?:[^*]*[^\s*])?)\*\*(?![\w*])/,
    /(?<![\w*])\*(?<em>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])/,
    /\[(?<link>[^\][]+)\]\((?<href>[^()\s]+)\)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);
const HERE = "https://here.invalid/"; // any base: it only shows whether an address stays relative to it

/**
 * The address of a link if it may be followed: on the web, or beside this page.
 *
 * @param inPage an exported page stands beside the other lessons' pages, not their notebooks
 */
export function safeHref(href: string, inPage = false): string | undefined {
  let address: URL;
  try {
    address = new URL(href, HERE); // read as the browser would
  } catch {
    return undefined;
  }
  const { protocol, href: whole } = address;
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  if (!whole.startsWith(HERE)) return whole;
  return inPage ? href.replace(/\.ipynb(?=#|$)/, ".html") : href;
}

/** A text's paragraphs, each in pieces. */
export function paragraphsOf(text: string, inPage = false): Piece[][] {
  const paragraphs = text.split(/\n\s*\n/).map((each) => each.trim());
  return paragraphs.filter(Boolean).map((each) => piecesOf(each, inPage));
}

function piecesOf(paragraph: string, inPage: boolean): Piece[] {
  const pieces: Piece[] = [];
  const addText = (text: string) => text && pieces.push({ kind: "text", text });
  let end = 0;
  for (const found of paragraph.matchAll(MARKS)) {
    const { code, strong, em, link, href } = found.groups ?? {};
    addText(paragraph.slice(end, found.index));
    end = found.index + found[0].length;
    if (code) pieces.push({ kind: "code", text: code });
    else if (strong) pieces.push({ kind: "strong", text: strong });
    else if (em) pieces.push({ kind: "em", text: em });
    else pieces.push({ kind: "link", text: link, href: safeHref(href, inPage) });
  }
  addText(paragraph.slice(end));
  return pieces;
}
