// The inspector of the architecture: what the chosen box does, its numbers for the chosen word, and doors.

import { Bars } from "../base/bars.tsx";
import { Doors } from "../base/doors.tsx";
import type { Theme } from "../base/colour.ts";
import { safeHref } from "../base/prose.ts";
import { formatNumber, marksExplained, visible } from "../base/text.ts";
import { capital, placeOf } from "./sentences.ts";
import { type Box, type Depth, isAttention } from "./steps.ts";
import { drawnWeights, type Reply, tokensOf, vectorOf, weightsOf } from "./values.ts";

/** What a kind of box is. */
export interface Part {
  name: string;
  text: string;
  formula: string;
  lesson: { title: string; link: string };
  source: { name: string; file: string; line: number; text: string };
}

interface InspectorProps {
  theme: Theme;
  reply: Reply;
  boxes: readonly Box[];
  box: Box;
  part: Part;
  /** How many words have come to the box. */
  n: number;
  row: number;
  head: number | null;
  sizes: { d_model: number; n_heads: number };
  opened: boolean;
  inPage: boolean;
  doors: readonly (readonly [name: string, box: string, depth: Depth])[];
  onOpen: () => void;
  onHead: (head: number | null) => void;
  onDoor: (box: string, depth: Depth) => void;
}

export function Inspector(props: InspectorProps) {
  const { reply, box, part, n, sizes, opened, inPage, doors, onOpen, onDoor } = props;
  const { source } = part;
  const learned = box.parameters
    ? `${box.parameters.toLocaleString("en")} parameters`
    : "no parameters of its own";
  return (
    <>
      <p class="vt-chosen-box">
        <b>{`${capital(part.name)}, ${placeOf(box)}`}</b> · {learned}
        {n > 0 && reply.vectors[box.key] && ` · [${n}, ${sizes.d_model}]`}
      </p>
      <Numbers {...props} />
      <p class="vt-equation">
        <Formula text={part.formula} />
      </p>
      {opened && (
        <div class="vt-source">
          <p class="vt-caption">{`${source.name}, in ${source.file}, line ${source.line}`}</p>
          <section class="vt-scrolled" aria-label="source code">
            <pre class="vt-code">{source.text}</pre>
          </section>
        </div>
      )}
      <Doors>
        {doors.map(([name, key, depth]) => (
          <button type="button" key={name} onClick={() => onDoor(key, depth)}>
            {name}
          </button>
        ))}
        <button type="button" aria-expanded={opened} onClick={onOpen}>
          {opened ? "Hide the code" : "Code"}
        </button>
        <a class="vt-lesson-link" href={safeHref(part.lesson.link, inPage)} target="_blank" rel="noopener">
          {part.lesson.title}
        </a>
      </Doors>
    </>
  );
}

/** A formula in which `_k` is written below the line, and `^Q` above it. */
function Formula({ text }: { text: string }) {
  return (
    <>
      {Array.from(text.matchAll(/([_^]?)([^\s_^),]+|[\s),]+)/g), ([, mark, piece], at) =>
        mark === "_" ? <sub key={`${at}`}>{piece}</sub> : mark ? <sup key={`${at}`}>{piece}</sup> : piece,
      )}
    </>
  );
}

/** The numbers of a box for the chosen word. */
function Numbers({ theme, reply, box, n, row, head, sizes, onHead }: InspectorProps) {
  const tokens = tokensOf(reply, box.stack);
  const word = visible(tokens[row] ?? "");
  if (n === 0) return <p class="vt-caption">No word has come here yet.</p>;
  if (box.part === "tokens")
    return (
      <>
        <p class="vt-caption">
          {box.stack === "encoder" ? "What the encoder reads" : "What the decoder has read so far"}
        </p>
        <p>{tokens.slice(0, n).map(visible).join("  ")}</p>
        <p class="vt-caption">{marksExplained(tokens.slice(0, n))}</p>
      </>
    );
  if (box.part === "output")
    return (
      <>
        <p class="vt-caption">{`The likeliest words ${box.stack === "encoder" ? "in place of" : "after"} “${word}”`}</p>
        <Bars theme={theme} label="likeliest words" kind="probability" bars={reply.likeliest?.[row] ?? []} />
      </>
    );
  if (!isAttention(box)) {
    const first = vectorOf(reply, box.key, row, sizes.d_model).slice(0, 6);
    return (
      <>
        <p class="vt-caption">{`The vector of “${word}” after this box: ${sizes.d_model} numbers`}</p>
        <p class="vt-vector">{`${first.map((value) => formatNumber(value, 2)).join("  ")}  …`}</p>
      </>
    );
  }
  const keys = tokensOf(reply, box.part === "cross_attention" ? "encoder" : box.stack);
  const weights = drawnWeights(weightsOf(reply, box, row, sizes.n_heads), head);
  const heads = Array.from({ length: sizes.n_heads }, (_, at) => at);
  return (
    <>
      <p class="vt-caption">{`What “${word}” looks at: ${head === null ? `mean of ${sizes.n_heads} heads` : `head ${head}`}`}</p>
      <Bars
        theme={theme}
        label="weights"
        kind="weight"
        bars={keys.map((key, at) => [key, weights[at] ?? 0] as const)}
      />
      <p class="vt-of-heads">
        {heads.map((at) => (
          <button
            type="button"
            key={at}
            aria-label={`head ${at}`}
            aria-pressed={at === head}
            onClick={() => onHead(at === head ? null : at)}
          >
            {at}
          </button>
        ))}
      </p>
    </>
  );
}
