// The Python code that makes the mask on screen; a test runs it.

/** @import { ComposedMask, MaskPart } from "./composition.js" */

/**
 * A part of the mask as an expression of our package, and as one of plain torch.
 *
 * @param {MaskPart} part
 * @param {ComposedMask} composed
 */
function partExpressions({ name, of, shape }, composed) {
  const [Q, K] = [composed.queries, composed.keys];
  const tril = (rows) => `torch.ones(${rows}, ${K}, dtype=torch.bool).tril()`;
  if (name === "padding") {
    return { ours: `padding_mask(${of}_ids, pad_id)`, torch: `(${of}_ids != pad_id)[:, None, None, :]` };
  }
  if (name === "causal") {
    return {
      ours: Q === K ? `causal_mask(${K})` : `${tril(Q)}[None, None]`,
      torch: `${tril(Q)}[None, None]`,
    };
  }
  return {
    // [length, length], read as [batch, key]
    ours:
      shape[0] === K ? `causal_mask(${K})[0, 0][:, None, None, :]` : `${tril(shape[0])}[:, None, None, :]`,
    torch: `${tril(shape[0])}[:, None, None, :]`,
  };
}

/**
 * Lines of Python that end with the mask in `mask` and, in another convention, with `attn_mask`.
 *
 * `library` is "ours" or "torch". They use `source_ids` and `target_ids`, [batch, position], and
 * `pad_id`.
 *
 * @param {ComposedMask} composed
 * @param {string} polarity
 * @param {string} library
 */
export function maskCode(composed, polarity, library) {
  const { sentences: B, queries: Q, keys: K, parts, inverted, painted, copied } = composed;
  const written = parts.map((part) => partExpressions(part, composed)[library]);
  const joined = written.join(" & ") || `torch.ones(${B}, 1, ${Q}, ${K}, dtype=torch.bool)`;
  const shapes = parts.map((part) => `[${part.shape.join(", ")}]`).join(" & ");
  const lines = [`mask = ${inverted ? `~(${joined})` : joined}`];
  if (parts.length > 1) lines.unshift(`# ${shapes} → [${B}, 1, ${Q}, ${K}]`);
  if (copied) lines.unshift("target_ids = source_ids  # the mistake: not the target shifted by one");
  if (painted.length) {
    const places = (axis) => `[${painted.map((cell) => cell[axis]).join(", ")}]`;
    const values = painted.map((cell) => (cell[3] ? "True" : "False")).join(", ");
    lines.push(`mask = mask.expand(${B}, 1, ${Q}, ${K}).clone()`);
    lines.push(`mask[${places(0)}, 0, ${places(1)}, ${places(2)}] = torch.tensor([${values}])`);
  }
  if (polarity === "may_not") {
    lines.push(
      library === "ours"
        ? "attn_mask = to_torch_mask(mask)  # True = may not attend"
        : "attn_mask = ~mask  # True = may not attend",
    );
  } else if (polarity === "additive") {
    lines.push(
      'attn_mask = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))  # added to the scores',
    );
  }
  return lines;
}
