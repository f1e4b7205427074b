// The explorer in words: its heading, its readout, its table, what screen readers are told.

import { setText } from "../base/js/controls.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { linkedHeading, linkedSentence } from "./linked_columns.js";
import { digitsOf, placeOf, readout } from "./readout.js";
import { shownInWords } from "./selection.js";
import { formatWeight, visible } from "../base/js/text.js";
import { tableOf } from "./data_table.js";

const ON_ITS_WAY = "This head is on its way; until it is here you see its small picture.";

/** What the picture shows, as a heading. */
export function headingOf({ chosen, entry, linked, chosenOf }, entries) {
  const words = linked
    ? linkedHeading(linked, (kind) => {
        const { layer, head, aggregate } = chosenOf(kind);
        return aggregate === "head" ? `${layer}·${head}` : shownInWords(entries.get(kind), chosenOf(kind));
      })
    : `${ATTENTION_KINDS[chosen.kind].label} · ${shownInWords(entry, chosen)}`;
  return entry.signed ? `Difference · ${words}` : words;
}

/** A head's label and entropy in words. */
export function headInWords({ labels, entropies, heads, signed, kind }, { layer, head }) {
  const label = labels?.[layer][head];
  const share = entropies?.[layer * heads + head] ?? NaN; // NaN too where no query has a choice
  const entropy = Number.isNaN(share) ? "" : `entropy ${formatWeight(share, signed ? 1 : null)}`;
  const scale = signed ? "more or less than before" : "of the most there can be";
  const told = [`Head ${layer}·${head} of ${ATTENTION_KINDS[kind].label.toLowerCase()}`];
  if (entropy) told.push(`${entropy} ${scale}`);
  if (label) told.push(`${label.name}: ${label.sentence}`);
  else if (labels) told.push("no label, for want of evidence");
  return told.join(" · ");
}

/** What the letters on the small pictures stand for: "P previous token · B broad". */
export function marksInWords(entries) {
  const names = new Set();
  for (const { labels } of entries.values())
    for (const label of (labels ?? []).flat()) if (label) names.add(label.name);
  return Array.from(names)
    .sort()
    .map((name) => `${name[0].toUpperCase()} ${name}`)
    .join(" · ");
}

/** What tells: `tell(now, reach)` says all that has changed. */
export function openTelling({ store, title, says, spoken, twin, once, redraw }) {
  let exact = null;

  function tell(now, reach) {
    const { shown, linked, active, pictureOf, placesFor, names, pinned } = now;
    const heading = headingOf(now, store.entries);
    setText(title, heading);
    const picture = pictureOf(active.kind);
    const told = picture.weights
      ? readout(picture, active)
      : { pairs: [], detail: "", sum: "", sentence: store.problem || ON_ITS_WAY };
    const place = linked && picture.weights && picture.limit === null && placesFor(active)[0];
    if (place) told.sum = linkedSentence(linked, names, reach, place);
    if (active.query !== null && active.key !== null) told.detail = exactly(now, told.detail);
    says.tell(told, { limit: picture.limit, byKey: active.query === null });
    const [first] = told.pairs;
    const text = first
      ? `${visible(first.from)} to ${visible(first.to)}: ${formatWeight(first.weight, picture.limit)}`
      : told.sentence;
    for (const say of spoken)
      say({ rows: shown.rows, cols: shown.cols, row: pinned.query, col: pinned.key, text });
    if (twin.node.hidden) return;
    once("twin", JSON.stringify([shown.name, pinned]), () =>
      twin.set(
        shown.weights ? tableOf(shown, heading, pinned) : { caption: ON_ITS_WAY, heads: [], rows: [] },
      ),
    );
  }

  /** A line of Python with its value; of a pinned cell as exactly as it can be had. */
  function exactly({ chosen, shown, pinned, active, entry, linked }, line) {
    const isPinned = ["kind", "query", "key"].every((name) => active[name] === pinned[name]);
    if (linked || !isPinned || !shown.plain || !shown.weights || entry.dtype !== "float16") return line;
    const name = JSON.stringify([shown.name, pinned]);
    if (exact?.name !== name) {
      exact = { name, value: null };
      store.exact(chosen.kind, chosen.layer, chosen.head, chosen.query, chosen.key).then(
        (value) => {
          if (exact.name !== name) return;
          exact.value = digitsOf(value, { entry: { dtype: "float32" } });
          redraw();
        },
        () => {},
      ); // what is shown already has four true digits
    }
    return exact.value === null ? line : `${placeOf(shown, pinned.query, pinned.key)} = ${exact.value}`;
  }

  return tell;
}
