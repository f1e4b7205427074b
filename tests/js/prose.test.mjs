// Prose with a little markup, in pieces; a link that could run something is text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { paragraphsOf, safeHref } from "../../viz_transformer/widgets/base/prose.ts";
import { traitsOf } from "../../viz_transformer/widgets/base/prose_links.ts";

/** Paragraphs with the kind of each piece before its text. */
const told = (prose) =>
  paragraphsOf(prose).map((pieces) =>
    pieces.map(({ kind, text, href = "" }) => `${kind}:${text}${href && ` @${href}`}`),
  );

test("an empty line divides paragraphs, a line break does not", () => {
  assert.deepEqual(told("one\ntwo\n\n  \n\nthree\n"), [["text:one\ntwo"], ["text:three"]]);
  assert.deepEqual(told(" \n\n"), []);
});

const LINK = ["link:§3.2 @https://arxiv.org/abs/1706.03762", "text:."];

test("emphasis, code and links are pieces of their own, in their order", () => {
  assert.deepEqual(told("*Each* `a*b*c` is **so**: [§3.2](https://arxiv.org/abs/1706.03762)."), [
    ["em:Each", "text: ", "code:a*b*c", "text: is ", "strong:so", "text:: ", ...LINK],
  ]);
});

test("a product, a shape and hostile text stay as they were written", () => {
  for (const text of ["2 * 3 * 4", "a*b*c", "[4, 4] (a shape)", "x[0](y", "<b>*</b>", "**", "`"])
    assert.deepEqual(told(text), [[`text:${text}`]]);
});

test("links lead to the web or to a file beside, and nowhere else", () => {
  assert.equal(safeHref("http://example.org/a?b#c"), "http://example.org/a?b#c");
  assert.equal(safeHref("05_many_heads.ipynb#shapes"), "05_many_heads.ipynb#shapes");
  assert.equal(safeHref("05_many_heads.ipynb#shapes", true), "05_many_heads.html#shapes");
  const scripts = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "\u0001javascript:x",
  ];
  const others = ["data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:x", "https://"];
  for (const href of [...scripts, ...others]) assert.equal(safeHref(href), undefined, href);
  assert.deepEqual(
    paragraphsOf("[x](javascript:alert`1`)")
      .flat()
      .filter(({ href }) => href),
    [],
  );
});

test("a word that sets a view names traits and their values in its address", () => {
  const set = (href) => Object.fromEntries(traitsOf(href));
  const sentence = { sentence: "the cat's 2 dogs", layer: 1, share: -0.5, wall: true, key: null };
  assert.deepEqual(
    set("file:///l.html#set:sentence=the+cat's+2+dogs&layer=1&share=-0.5&wall=true&key=null"),
    sentence,
  );
  assert.deepEqual(set("#set:kind=cross"), { kind: "cross" });
});
