// Linked columns, all kinds on one screen: source words → as the encoder read them → written words ←
// words written before. A place in a column is a pinned query or key of one of the kinds.

import { quoted } from "../base/js/text.js";

/**
 * The columns, left to right, and what joins them: {columns: [{title, kind, axis}], links: [{kind,
 * flip}]}; `kind` and `axis` say which pin a click on the column is. Null where nothing can be
 * linked: there must be cross-attention and another kind.
 */
export function linkedColumns(kinds) {
  if (!kinds.includes("cross") || kinds.length < 2) return null;
  const columns = [
    { title: "as the encoder read it", kind: "cross", axis: "key" },
    { title: "written word", kind: "cross", axis: "query" },
  ];
  const links = [{ kind: "cross", flip: true }];
  if (kinds.includes("encoder")) {
    columns.unshift({ title: "source word", kind: "encoder", axis: "key" });
    links.unshift({ kind: "encoder", flip: true });
  }
  if (kinds.includes("decoder")) {
    columns.push({ title: "word read before", kind: "decoder", axis: "key" });
    links.push({ kind: "decoder", flip: false });
  }
  return { columns, links };
}

/**
 * Where pinned or active words of a kind stand, the one to start from first. Without a plan there
 * are two columns, the queries and the keys.
 */
export function placesOf(plan, kind, { query, key }) {
  const same = { "encoder.query": "cross.key", "decoder.query": "cross.query" }; // one word, two roles
  const place = (axis, index) => {
    if (!plan) return { column: axis === "query" ? 0 : 1, index };
    const name = same[`${kind}.${axis}`] ?? `${kind}.${axis}`;
    return { column: plan.columns.findIndex((one) => `${one.kind}.${one.axis}` === name), index };
  };
  const places = [];
  if (query !== null) places.push(place("query", query));
  if (key !== null) places.push(place("key", key));
  return places;
}

/** The place that an arrow key moves to: along a column, or to the one beside it. */
export function movePlace(counts, place, arrow) {
  if (!place) return { column: Math.min(1, counts.length - 1), index: 0 };
  const column = place.column + ({ ArrowLeft: -1, ArrowRight: 1 }[arrow] ?? 0);
  if (column < 0 || column >= counts.length) return null;
  const index = place.index + ({ ArrowUp: -1, ArrowDown: 1 }[arrow] ?? 0);
  return { column, index: Math.max(0, Math.min(counts[column] - 1, index)) };
}

/** What the linked picture shows: each kind with its head. */
export function linkedHeading({ links }, wordsOf) {
  const words = links.map(({ kind }) => `${kind} ${wordsOf(kind)}`).join(" → ");
  return words[0].toUpperCase() + words.slice(1);
}

/** Where the paths from a word lead, column by column. */
export function linkedSentence({ columns }, names, reach, { column }) {
  const ends = columns.flatMap(({ title }, at) => {
    if (at === column || !reach[at]) return [];
    let best = 0;
    reach[at].forEach((value, index) => {
      if (Math.abs(value) > Math.abs(reach[at][best])) best = index;
    });
    return Math.abs(reach[at][best]) < 0.005
      ? []
      : [`${title} ${quoted(names[at][best])} ${reach[at][best].toFixed(2)}`];
  });
  return ends.length ? `Strongest paths, each the product of its weights: ${ends.join("; ")}.` : "";
}

/** What a place pins: {kind, query, key}. */
export function pinOf({ columns }, { column, index }) {
  const { kind, axis } = columns[column];
  return { kind, query: null, key: null, [axis]: index };
}
