// What can be unfolded in the inspector: what each library makes of a row, how the shapes join, and the code.

import { useLayoutEffect, useRef } from "preact/hooks";
import { css, textColourOn, type Theme, weightRgb } from "../base/colour.ts";
import { useKernel } from "../base/hooks.ts";
import { canonicalJson, type Model } from "../base/kernel.ts";
import { formatNumber, quoted, visible } from "../base/text.ts";
import { type ComposedMask, emptyRows, type MaskState, type Words } from "./composition.ts";
import { type LibrariesReply, maskCode, readLibraries, rowVerdict } from "./libraries.ts";
import { type Ask, maskRequest } from "./requests.ts";
import { Shapes } from "./shapes.tsx";

export const PANELS = { libraries: "In each library", shapes: "The shapes", code: "The code" };

interface PanelProps {
  name: string;
  page: Page;
  words: Words;
  state: MaskState;
  composed: ComposedMask;
  sentence: number;
  query: number | null;
  polarity: string;
  theme: Theme;
}

export function Panel(props: PanelProps) {
  const { name, composed, polarity } = props;
  const node = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const isAsked = node.current!.closest(".vt-inspector")?.contains(document.activeElement);
    if (isAsked) node.current!.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section ref={node} class={`vt-panel vt-${name}`} aria-label={PANELS[name as "code"]}>
      {name === "libraries" && <Libraries {...props} />}
      {name === "shapes" && <Shapes {...props} />}
      {name === "code" &&
        (["ours", "torch"] as const).map((library) => (
          <pre class="vt-code" key={library} tabIndex={0} data-lm-suppress-shortcuts="true">
            {[
              `# ${library === "ours" ? "viz_transformer" : "torch"}`,
              ...maskCode(composed, polarity, library),
            ].join("\n")}
          </pre>
        ))}
    </section>
  );
}

/** Each library's weights and output for one row of the mask; where a row is empty they differ. */
function Libraries(props: PanelProps) {
  const { page, words, state, composed, sentence, theme } = props;
  const empty = emptyRows(composed, sentence);
  const row = Math.min(props.query ?? empty[0] ?? composed.queries, composed.queries - 1);
  const formulas = useReply(page, "formulas", words, state);
  const libraries = useReply(page, "libraries", words, state);
  // Hugging Face's takes seconds to load, and differs only where a row is empty.
  const anyEmpty = composed.may.some((_, b) => emptyRows(composed, b).length);
  const eager = useReply(page, "eager", words, state, anyEmpty);
  const isAwaited = [formulas, libraries].some(({ reply, problem }) => !reply && !problem);
  const found = [formulas, libraries, eager].flatMap(({ reply }) =>
    reply ? readLibraries(reply as LibrariesReply, sentence, row) : [],
  );
  const problem = formulas.problem || libraries.problem || eager.problem;
  const answered = found.filter(({ error }) => !error);
  const word = quoted(composed.queryTokens[sentence]?.[row]);
  return (
    <div aria-busy={isAwaited}>
      <p>
        {empty.includes(row)
          ? `${word} at position ${row} may attend to no key. A softmax must sum to 1, so libraries return different weights.`
          : `${word} at position ${row}: where a row has an allowed key, all libraries agree. Where it has none (∅, as with left padding), they do not.`}
      </p>
      {answered.length > 0 && (
        <div class="vt-scrolled" tabIndex={0} data-lm-suppress-shortcuts="true">
          <table class="vt-numbers">
            <thead>
              <tr>
                <th scope="col" />
                <th scope="col">weights</th>
                {composed.keyTokens[sentence]?.map((key, k) => (
                  <th scope="col" class="vt-of-key" key={`${k} ${key}`}>
                    <bdi>{visible(key)}</bdi>
                  </th>
                ))}
                {answered[0]?.output.map((_, at) => (
                  <th scope="col" key={`output ${at}`}>{`output ${at}`}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {answered.map((library) => (
                <tr key={library.name}>
                  <th scope="row">{library.name}</th>
                  <td class="vt-says">{rowVerdict(library.weights, answered[0]?.weights ?? null)}</td>
                  {library.weights.map((weight, k) => (
                    <Weight
                      key={k}
                      weight={weight}
                      isClosed={!composed.may[sentence]?.[row]?.[k]}
                      theme={theme}
                    />
                  ))}
                  {library.output.map((value, at) => (
                    <td key={`output ${at}`}>{formatNumber(value, 2)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.map(({ name, error }) => error && <p key={name}>{`✗ ${name} raises an error: ${error}`}</p>)}
      {problem && (
        <p class="vt-line">{`The results of torch and Hugging Face for this row are not shown. ${problem}`}</p>
      )}
      {found.length > 0 && (
        <p class="vt-line">
          {`Each gets the queries, keys and values of the model’s first head, and this mask in the form that it takes. ${found.map(({ short, takes }) => `${short}: ${takes}`).join("; ")}.`}
        </p>
      )}
    </div>
  );
}

function Weight({ weight, isClosed, theme }: { weight: number; isClosed: boolean; theme: Theme }) {
  const rgb = Number.isFinite(weight) && weight > 0 ? weightRgb(weight, theme) : null;
  return (
    <td
      class={isClosed ? "vt-masked" : ""}
      style={rgb ? { backgroundColor: css(rgb), color: textColourOn(rgb) } : {}}
    >
      {formatNumber(weight, 2)}
    </td>
  );
}

/** What answers, and a function that draws the next frame. */
export interface Page {
  model: Model;
  redraw: () => void;
}

/** Both empty while the reply is awaited. */
interface Answer {
  reply: unknown;
  problem: string;
}

const NOTHING: Answer = { reply: null, problem: "" };

/** The answer to a question about this mask, asked when it is a new one. */
export function useReply(
  { model, redraw }: Page,
  ask: Ask,
  words: Words,
  state: MaskState,
  isAsked = true,
): Answer {
  const kernel = useKernel(model);
  const kept = useRef({ asked: "", at: "", answer: NOTHING });
  const at = canonicalJson({ words, state });
  if (!isAsked) return NOTHING;
  if (at !== kept.current.asked) {
    kept.current.asked = at;
    const keep = ({ reply = null, error = null }: { reply?: unknown; error?: Error | null }) => {
      kept.current = { ...kept.current, at, answer: { reply, problem: error?.message ?? "" } };
    };
    kernel.settle(maskRequest(words, state, ask), keep, redraw);
  }
  return kept.current.at === at ? kept.current.answer : NOTHING;
}
