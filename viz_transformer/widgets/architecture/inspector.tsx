// The inspector of the architecture: what the chosen box does, its numbers for the chosen word, and doors.

import { Bars } from "../base/bars.tsx";
import { Doors } from "../base/doors.tsx";
import { safeHref } from "../base/prose.ts";
import { Code } from "../base/python_code.tsx";
import { formatNumber, marksExplained, visible } from "../base/text.ts";
import { capital, looksInWords, placeOf, vectorInWords } from "./sentences.ts";
import { type Depth, isAttention } from "./steps.ts";
import { drawnWeights, tokensOf, vectorOf, weightsOf } from "./values.ts";
import type { Now } from "./view.tsx";
import { indices } from "../base/scales.ts";

/** What a kind of box is. */
export interface Part {
  name: string;
  text: string;
  formula: string;
  lesson: { title: string; link: string };
  source: { name: string; file: string; line: number; text: string };
}

interface InspectorProps {
  now: Now;
  part: Part;
  doors: readonly (readonly [name: string, box: string, depth: Depth])[];
}

export function Inspector(props: InspectorProps) {
  const { now, part, doors } = props;
  const { frame, reply, box, head, go } = now;
  const { sizes, opened } = frame.traits;
  const { source } = part;
  const learned = box.parameters
    ? `${box.parameters.toLocaleString("en")} parameters`
    : "no parameters of its own";
  return (
    <>
      <p class="vt-chosen-box">
        <b>{`${capital(part.name)}, ${placeOf(box)}`}</b> · {learned}
        {reply.vectors[box.key] && now.rows.has(box.key) && ` · [${now.rows.get(box.key)}, ${sizes.d_model}]`}
      </p>
      <Numbers now={now} />
      <p class="vt-equation">
        <Formula text={part.formula} />
      </p>
      {opened && (
        <div class="vt-source">
          <p class="vt-caption">{`${source.name}, in ${source.file}, line ${source.line}`}</p>
          <section class="vt-scrolled" aria-label="source code">
            <Code lines={[source.text]} />
          </section>
        </div>
      )}
      <Doors>
        {doors.map(([name, key, depth]) => (
          <button
            type="button"
            key={name}
            onClick={() => go(key, depth, depth === "head" ? (head ?? 0) : undefined)}
          >
            {name}
          </button>
        ))}
        <button type="button" aria-expanded={opened} onClick={() => frame.set({ opened: !opened })}>
          {opened ? "Hide the code" : "Code"}
        </button>
        <a
          class="vt-lesson-link"
          href={safeHref(part.lesson.link, !frame.model.send)}
          target="_blank"
          rel="noopener"
        >
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
function Numbers({ now }: { now: Now }) {
  const { frame, reply, box, rows, row, head } = now;
  const { theme } = frame;
  const { sizes } = frame.traits;
  const n = rows.get(box.key) ?? 0;
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
        <p class="vt-caption">{`${vectorInWords(now)} after this box: ${sizes.d_model} numbers`}</p>
        <p class="vt-vector">{`${first.map((value) => formatNumber(value, 2)).join("  ")}  …`}</p>
      </>
    );
  }
  const keys = tokensOf(reply, box.part === "cross_attention" ? "encoder" : box.stack);
  const weights = drawnWeights(weightsOf(reply, box, row, sizes.n_heads), head);
  const heads = indices(sizes.n_heads);
  return (
    <>
      <p class="vt-caption">{`${looksInWords(now)}: ${head === null ? `mean of ${sizes.n_heads} heads` : `head ${head}`}`}</p>
      <Bars
        theme={theme}
        label="weights"
        kind="weight"
        bars={keys.map((key, at) => [key, weights[at] ?? 0] as const)}
      />
      <p class="vt-of-heads vt-beside">
        {heads.map((at) => (
          <button
            type="button"
            key={at}
            aria-label={`head ${at}`}
            aria-pressed={at === head}
            onClick={() => frame.set({ head: at === head ? null : at })}
          >
            {at}
          </button>
        ))}
      </p>
    </>
  );
}
