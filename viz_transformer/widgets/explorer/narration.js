// The narration: what is shown in words, for the heading, the readout, the notes, the table and screen
// readers.

import { setText } from "../base/js/controls.js";
import { ownNumbers } from "../base/js/head_grid.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { partInHeading, partInWords, traceInPython } from "./attends_by.js";
import { isMany } from "./attention_paths.js";
import { tableOf } from "./data_table.js";
import { countApart } from "./patch_picture.js";
import { pairInWords } from "./sentence_pair.js";
import { linkedHeading, linkedSentence } from "./linked_columns.js";
import { digitsOf, placeOf, readout } from "./readout.js";
import { shownInWords } from "./selection.js";
import { scoresInWords } from "./wall_heads.js";
import { differencePower, formatWeight, marksExplained, powerOfTen, visible } from "../base/js/text.js";

const LOADING = "Loading this head. Until it arrives you see its small picture, enlarged.";

/** What the picture shows, as a heading. */
export function headingOf({ chosen, entry, linked, chosenOf }, entries) {
  const words = linked
    ? linkedHeading(linked, (kind) => {
        const { layer, head, aggregate } = chosenOf(kind);
        const own = ownNumbers(entries.get(kind), layer, head).join("·");
        return aggregate === "head" ? own : shownInWords(entries.get(kind), chosenOf(kind));
      })
    : `${ATTENTION_KINDS[chosen.kind].label} · ${shownInWords(entry, chosen)}${partInHeading(entry.attendsBy)}`;
  if (!entry.signed || entry.unnormalised) return words;
  const other = entry.matched && !linked && chosen.aggregate === "head";
  return `Difference · ${words}${other ? ` − layer ${entry.matched.layers[chosen.layer]} of the other` : ""}`;
}

/**
 * A head's label and entropy in words.
 *
 * @param {{kind: string, heads: number, labels?: any, entropies?: Float32Array, signed?: boolean,
 *   scores?: Record<string, Float32Array>, numbers?: {layers: number[], heads: number[]} | null}} entry
 * @param {{layer: number, head: number}} head
 */
export function headInWords({ labels, entropies, heads, signed, kind, scores, numbers }, { layer, head }) {
  const label = labels?.[layer][head];
  const share = entropies?.[layer * heads + head] ?? NaN; // NaN too where no query has a choice
  const entropy = Number.isNaN(share) ? "" : `entropy ${formatWeight(share, signed ? 1 : null)}`;
  const scale = signed ? "more or less than before" : "of its maximum";
  const parts = [
    `Head ${ownNumbers({ numbers }, layer, head).join("·")} of ${ATTENTION_KINDS[kind].label.toLowerCase()}`,
  ];
  if (entropy) parts.push(`${entropy} ${scale}`);
  if (label) parts.push(`${label.name}: ${label.sentence}`);
  else if (labels) parts.push("no clear pattern");
  const own = scoresInWords({ scores, heads }, layer, head);
  if (own.length) parts.push(own.join(", "));
  return parts.join(" · ");
}

/** What the letters on the thumbnails stand for: "P previous token · B broad". */
export function marksInWords(entries) {
  const names = new Set();
  for (const { labels } of entries.values())
    for (const label of (labels ?? []).flat()) if (label) names.add(label.name);
  return Array.from(names)
    .sort()
    .map((name) => `${name[0].toUpperCase()} ${name}`)
    .join(" · ");
}

/** How the layers of two models meet, in sentences. */
function matchInWords({ layers, matched, attendsBy }, layer) {
  const traces = ["trace", "other"].map((each) => traceInPython(each, attendsBy)).join(", ");
  const { layers: met, of, heads } = matched;
  const depth = `Layer ${layer} of ${layers} meets layer ${met[layer]} of ${of}, at the same share of its depth.`;
  const mean = heads
    ? ` The models have ${heads.join(" and ")} heads, so each layer is the mean of its heads.`
    : "";
  return `${depth}${mean} In Python: one, two = vt.analysis.match_traces(${traces}).`;
}

/** What the colours of differences, or of weights that are not normalised, stand for. */
function coloursInWords({ unnormalised, least }) {
  if (!unnormalised) return "Green: more than before. Brown: less than before.";
  return least < 0 ? "Green: above 0. Brown: below 0." : "Green: above 0.";
}

/** What the patches of a picture show, in sentences. */
function picturedInWords(patches, hasImage, limit, isReduced) {
  const byWeight = hasImage
    ? "The picture is bare at the largest weight of its patches, and fades towards 0."
    : "The colours of patches go up to the largest weight among them.";
  const apart = countApart(patches) ? "The colours of tokens apart end there too." : "";
  const bySign = hasImage ? "The picture only darkens and lightens the colours of its patches." : "";
  const each = isReduced ? "Patches show each token by itself, none hidden or merged." : "";
  return [...(limit === null ? [byWeight, apart] : [bySign]), each].filter(Boolean);
}

/** What the picture leaves out or changes, in sentences; `lines` are those between the columns. */
export function notes(shown, { threshold, mergeWords, hideSpecial, lines, patches = null, image = null }) {
  const { queryAxis, keyAxis, masked, limit, weights } = shown;
  const merged = (axis) => axis.groups.some((group) => group.length > 1);
  const hidden = (axis) => axis.at.includes(-1);
  const sentences = [];
  const marks = marksExplained([...shown.queries, ...shown.keys, ...(shown.entry?.reads ?? [])]);
  if (marks) sentences.push(marks);
  const part = partInWords(shown.entry?.attendsBy);
  if (part) sentences.push(part);
  if (shown.entry?.note) sentences.push(shown.entry.note);
  if (shown.entry?.dtype === "uint8")
    sentences.push(
      "Rounded to 8 bits in this page: a weight is off by up to 0.4% of the largest in its row.",
    );
  if (shown.pair && shown.pair !== "all") sentences.push(pairInWords(shown.pair));
  if (shown.entry?.matched) sentences.push(matchInWords(shown.entry, shown.layer));
  if (limit !== null) sentences.push(coloursInWords(shown.entry));
  if (limit !== null && differencePower(limit))
    sentences.push(
      `Numbers written in cells are multiples of ${powerOfTen(Number(`1e${differencePower(limit)}`))}.`,
    );
  if (masked?.includes(1)) sentences.push("Hatched: masked, so the weight is 0.");
  if (threshold > 0)
    sentences.push(
      limit === null
        ? `Weights below ${threshold.toFixed(2)} are not drawn.`
        : `${shown.entry.unnormalised ? "Weights" : "Changes"} below ${threshold.toFixed(2)} of the scale are not drawn.`,
    );
  if (hideSpecial && (hidden(queryAxis) || hidden(keyAxis)))
    sentences.push("Special tokens are hidden, so a row may sum to less than 1.");
  if (mergeWords && (merged(queryAxis) || merged(keyAxis))) {
    sentences.push(
      "Pieces are merged into words: a weight is summed over the pieces of the key, and averaged over those of the query.",
    );
  }
  if (patches) sentences.push(...picturedInWords(patches, image?.width, limit, hideSpecial || mergeWords));
  const [kept, all] = [
    lines.reduce((sum, one) => sum + (one?.count ?? 0), 0),
    lines.reduce((sum, one) => sum + (one?.all ?? 0), 0),
  ];
  if (weights && lines.length && isMany(shown)) sentences.push("Lines are drawn for the queries in view.");
  else if (weights && kept < all) sentences.push(`The strongest ${kept} of ${all} lines are drawn.`);
  return sentences;
}

/**
 * Write everything that has changed: heading, readout, notes and table, and what screen readers hear.
 *
 * @param {import("./parts.js").Parts} parts
 * @param {import("./snapshot.js").Snapshot} snapshot
 * @param {import("./layout.js").Layout} layout
 * @param {import("./caches.js").Memo} memo
 */
export function narrate(parts, snapshot, layout, memo) {
  const { chosen, entries, shown, state, options, pinned } = snapshot;
  const heading = headingOf(snapshot, entries);
  setText(parts.title, heading);
  const named = new Map(snapshot.sections.map((section) => [section.kind, section]));
  narrateOverview(parts.overview, named, chosen, named.get(chosen.kind), state.hoveredHead);
  const text = narrateCell(parts.readout, snapshot, layout.paths.reach);
  for (const { announce } of [parts.heatmap, parts.tokens])
    announce({ rows: shown.rows, cols: shown.cols, row: pinned.query, col: pinned.key, text });
  const lines = layout.focus ? [] : layout.paths.lines;
  const { patches } = snapshot;
  setText(parts.heatmap.notes, notes(shown, { ...options, lines, patches }).join(" "));
  if (parts.table.node.hidden) return;
  memo("table", [shown.name, pinned.query, pinned.key], () => {
    const table = shown.weights && tableOf(shown, heading, pinned);
    parts.table.set(table ?? { caption: LOADING, heads: [], rows: [] });
  });
}

/**
 * Write what stands under the wall of heads, and what screen readers hear of it.
 *
 * @param {import("./parts.js").Parts} parts
 * @param {import("./snapshot.js").Snapshot} snapshot
 */
export function narrateWall({ overview }, { sections, chosen, state, problem }) {
  const entries = new Map(sections.map((section) => [section.kind, section]));
  narrateOverview(overview, entries, chosen, entries.get(chosen.kind), state.hoveredHead);
  const entry = entries.get(chosen.kind);
  const colours = entry.signed ? coloursInWords(entry) : "";
  const note = entry.unnormalised ? entry.note : "";
  setText(
    overview.legend,
    problem || [partInWords(entry.attendsBy), note, colours].filter(Boolean).join(" "),
  );
}

function narrateOverview({ label, legend, announce }, entries, chosen, entry, hovered) {
  const head = hovered ?? chosen;
  setText(legend, marksInWords(entries));
  setText(label, headInWords(entries.get(head.kind), head));
  const kinds = Array.from(entries.values());
  const layersOf = (some) => some.reduce((sum, one) => sum + one.layers, 0);
  announce({
    rows: layersOf(kinds),
    cols: Math.max(...kinds.map((one) => one.heads)),
    row: layersOf(kinds.slice(0, kinds.indexOf(entry))) + chosen.layer,
    col: chosen.head,
    text: headInWords(entry, chosen),
  });
}

/** Show the readout of the active cell; returns it in short, for screen readers. */
function narrateCell(node, snapshot, reach) {
  const { linked, active, pinned, pictureOf, placesFor, names, problem } = snapshot;
  const picture = pictureOf(active.kind);
  const content = picture.weights
    ? readout(picture, active)
    : { pairs: [], detail: "", sum: "", sentence: problem || LOADING };
  const place = linked && picture.weights && picture.limit === null && placesFor(active)[0];
  if (place) content.sum = linkedSentence(linked, names, reach, place);
  const exact = snapshot.exact();
  if (exact !== null) {
    const digits = digitsOf(exact, { entry: { dtype: "float32" } });
    content.detail = `${placeOf(picture, pinned.query, pinned.key)} = ${digits}`;
  }
  const { limit, entry } = picture;
  node.show(content, { limit, least: entry.least, byKey: active.query === null });
  const [first] = content.pairs;
  return first
    ? `${visible(first.from)} to ${visible(first.to)}: ${formatWeight(first.weight, limit, entry.least)}`
    : content.sentence;
}
