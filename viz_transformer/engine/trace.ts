// The trace of one sentence: its tokens and every head's weights, as ForwardTrace of
// viz_transformer/trace/forward.py has them.

export type Kind = "encoder" | "decoder" | "cross";

export interface AttentionWeights {
  /** [layer, head, query, key] */
  shape: number[];
  data: Float32Array;
}

export type Attention = Partial<Record<Kind, AttentionWeights>>;

export class Trace {
  task: string;
  sourceTokens: string[];
  targetTokens: string[];
  /** What each target position wrote next: position i reads targetTokens[i] and writes outputTokens[i]. */
  outputTokens: string[] | null;
  attention: Attention;

  constructor(parts: Pick<Trace, "task" | "attention"> & Partial<Trace>) {
    this.task = parts.task;
    this.sourceTokens = parts.sourceTokens ?? [];
    this.targetTokens = parts.targetTokens ?? [];
    this.outputTokens = parts.outputTokens ?? null;
    this.attention = parts.attention;
  }

  /** The labels of a kind's queries: for a decoder, the words being written. */
  queryTokens(kind: Kind) {
    if (kind === "encoder") return this.sourceTokens;
    return this.outputTokens ?? this.targetTokens;
  }

  /** The labels of a kind's keys: the words that were read. */
  keyTokens(kind: Kind) {
    return kind === "decoder" ? this.targetTokens : this.sourceTokens;
  }
}
