// The trace of one sentence: its tokens and every head's weights, as ForwardTrace of
// viz_transformer/trace/forward.py has them.

/**
 * @typedef {"encoder" | "decoder" | "cross"} Kind
 * @typedef {{ shape: number[], data: Float32Array }} Weights [layer, head, query, key]
 */

export class Trace {
  /**
   * @param {{ task: string, sourceTokens?: string[], targetTokens?: string[],
   *     outputTokens?: string[] | null, attention: Partial<Record<Kind, Weights>> }} parts
   */
  constructor(parts) {
    this.task = parts.task;
    this.sourceTokens = parts.sourceTokens ?? [];
    this.targetTokens = parts.targetTokens ?? [];
    /** What each target position wrote next: position i reads targetTokens[i] and writes outputTokens[i]. */
    this.outputTokens = parts.outputTokens ?? null;
    this.attention = parts.attention;
  }

  /** The labels of a kind's queries: for a decoder, the words being written. @param {Kind} kind */
  queryTokens(kind) {
    if (kind === "encoder") return this.sourceTokens;
    return this.outputTokens ?? this.targetTokens;
  }

  /** The labels of a kind's keys: the words that were read. @param {Kind} kind */
  keyTokens(kind) {
    return kind === "decoder" ? this.targetTokens : this.sourceTokens;
  }
}
