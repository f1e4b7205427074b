// What a picture draws, as SVG: places, colours, clips, and texts that cannot run or break anything.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SvgContext } from "../../viz_transformer/widgets/explorer/svg_context.ts";

const paper = () => new SvgContext({ width: 20, height: 10 }, (text) => text.length);

test("a drawing keeps its places and colours", () => {
  const drawn = paper();
  drawn.setTransform(2, 0, 0, 2, 0, 0);
  drawn.save();
  drawn.fillStyle = "rgb(1, 2, 3)";
  drawn.translate(1, 3);
  drawn.beginPath();
  drawn.rect(0, 0, 4, 5);
  drawn.clip();
  drawn.fillRect(1, 1, 2.5, 1);
  drawn.restore();
  drawn.globalAlpha = 0.5;
  drawn.strokeStyle = "blue";
  drawn.strokeRect(0, 0, 1, 1);
  const [head, ground, clip, filled, stroked, end] = drawn.svg("white").split("\n");
  assert.match(head, /width="20" height="10" viewBox="0 0 20 10">$/);
  assert.match(ground, /fill="white"/);
  assert.match(clip, /^<clipPath id="clip1"><path d="M0 0h4v5h-4Z" transform="matrix\(2\.0000 .* 6\.0000\)"/);
  assert.match(filled, /^<g clip-path="url\(#clip1\)"><rect x="1" y="1" width="2\.5" height="1" fill="rgb/);
  assert.match(stroked, /^<rect .*stroke="blue".* 0\.0000\)" opacity="0\.5">/);
  assert.equal(end, "</svg>");
});

test("a token is text in a drawing, whatever it holds", () => {
  const drawn = paper();
  for (const token of ["</text><script>", '"&', "a\u0001\ud800b", "😀"]) drawn.fillText(token, 0, 0);
  const texts = drawn.svg("white").match(/>[^<>]*<\/text>/g);
  assert.deepEqual(texts, [
    ">&lt;/text&gt;&lt;script&gt;</text>",
    ">&quot;&amp;</text>",
    ">ab</text>",
    ">😀</text>",
  ]);
});
