// The embedding map: each token a point of a plane; a word that is typed is found, with what is near it.

import { useId, useMemo, useState } from "preact/hooks";
import { Bars } from "../base/bars.tsx";
import { Doors } from "../base/doors.tsx";
import { useKernel } from "../base/hooks.ts";
import { Code } from "../base/python_code.tsx";
import { newestReply } from "../base/replies.ts";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { formatNumber, visible } from "../base/text.ts";
import {
  analogies,
  type Analogy,
  type Data,
  type Embeddings,
  findTokens,
  type Found,
  nearest,
  type Neighbour,
  readEmbeddings,
  spelledSo,
  withFound,
} from "./neighbours.ts";
import { Picture } from "./picture.tsx";
import { TRAITS, type Traits } from "./traits.ts";

const ZOOMS = [1, 2, 4, 8];
const CLOSE = 4; // the zoom of what is searched, from the whole

function EmbeddingMap(frame: Frame<Traits>) {
  const { traits, set, model, redraw } = frame;
  const { zoom } = traits;
  const kernel = useKernel(model);
  const replies = useMemo(() => newestReply<{ token: string }, Found>(kernel, redraw), [kernel, redraw]);
  const given = useMemo(() => readEmbeddings(traits.data as unknown as Data), [traits.data]);
  const isSample = given.all > given.tokens.length;
  const asked = isSample ? replies.want({ token: traits.token }) : null;
  const found = (asked?.now ?? asked?.latest)?.reply;
  const embeddings = useMemo(() => withFound(given, found), [given, found]);
  const { tokens, shares, groups, roles, width } = embeddings;
  const isThere = tokens.includes(traits.token);
  const index = Math.max(0, tokens.indexOf(isThere ? traits.token : (found?.tokens[0] ?? "")));
  const near = useMemo(() => nearest(embeddings, index), [embeddings, index]);
  const held = useMemo(() => (isSample ? [] : analogies(embeddings, index, near)), [embeddings, index]);
  const choose = (token: number) => set({ token: tokens[token]! });
  const zoomBy = (step: number) => set({ zoom: ZOOMS[ZOOMS.indexOf(zoom) + step]! });
  const first = near[0];
  return (
    <Stage
      header={
        <Search
          tokens={tokens}
          token={tokens[index]!}
          problem={asked?.problem ?? ""}
          onFind={(to) => set({ token: to, zoom: zoom === 1 ? CLOSE : zoom })}
          onAsk={
            isSample && model.get("live")
              ? (text) =>
                  replies.read({ token: ` ${text}` }, ({ tokens: [to] }) =>
                    set({ token: to!, zoom: zoom === 1 ? CLOSE : zoom }),
                  )
              : null
          }
        />
      }
      headline={
        <>
          The nearest to <bdi class={roleOf(embeddings, index)}>{visible(tokens[index]!)}</bdi> is{" "}
          <bdi class={roleOf(embeddings, first?.index ?? index)}>
            {visible(tokens[first?.index ?? index]!)}
          </bdi>
          : cosine {formatNumber(first?.cosine ?? 1, 2)}
        </>
      }
      line={
        isSample
          ? `${tokens.length.toLocaleString("en")} of ${given.all.toLocaleString("en")} tokens are drawn; cosines are with ${asked?.now ? "all of them" : "those drawn"}, in all ${width} numbers.`
          : `The plane keeps ${Math.round(100 * (shares[0]! + shares[1]!))}% of the variance; cosines use all ${width} numbers.`
      }
      controls={
        <>
          <span class="vt-tabs" role="group" aria-label="Zoom">
            <button type="button" aria-label="zoom out" disabled={zoom === 1} onClick={() => zoomBy(-1)}>
              −
            </button>
            <button type="button" aria-label="zoom in" disabled={zoom === 8} onClick={() => zoomBy(1)}>
              +
            </button>
          </span>
          {groups.length > 1 && (
            <span class="vt-beside vt-small">
              {groups.map((group, at) => (
                <span key={group}>
                  <span class={`vt-of-${roles[at]}`} aria-hidden="true">
                    ●
                  </span>{" "}
                  {group}
                </span>
              ))}
            </span>
          )}
        </>
      }
      inspector={<Inspector {...{ frame, embeddings, index, near, held, choose }} />}
      {...stageOf(frame)}
    >
      <Picture
        frame={frame}
        shown={{ embeddings, index, near, analogy: held[0] ?? null, zoom }}
        choose={choose}
      />
    </Stage>
  );
}

const roleOf = ({ roles, groupOf }: Embeddings, token: number) => `vt-of-${roles[groupOf[token] ?? 0]}`;

interface SearchProps {
  tokens: readonly string[];
  token: string;
  /** Why the last token could not be found in a larger vocabulary. */
  problem: string;
  onFind: (token: string) => void;
  /** Looks for a text in a larger vocabulary; null where there is none. */
  onAsk: ((text: string) => void) | null;
}

/** The field to type a word into; Enter, or a choice from its list, finds it. */
function Search({ tokens, token, problem, onFind, onAsk }: SearchProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const list = useId();
  const offered = typed ? findTokens(tokens, typed).slice(0, 12) : [];
  return (
    <>
      <label class="vt-beside">
        Find a token{" "}
        <input
          type="search"
          class="vt-sentence"
          list={list}
          spellcheck={false}
          autocomplete="off"
          data-lm-suppress-shortcuts="true"
          value={typed ?? visible(token)}
          onFocus={(event) => event.currentTarget.select()}
          onBlur={() => setTyped(null)}
          onInput={(event) => {
            const text = event.currentTarget.value;
            setTyped(text);
            setSaid("");
            const isReplaced = !event.inputType || event.inputType === "insertReplacementText";
            const isPicked = isReplaced && tokens.includes(text); // of the list
            const to = isPicked ? text : spelledSo(tokens, text)[0];
            if (isPicked) setTyped(null);
            if (to && (isPicked || to !== text || !onAsk)) onFind(to); // Python may know a word written so
          }}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key !== "Enter" || event.isComposing) return;
            event.preventDefault();
            const text = event.currentTarget.value;
            if (typed === null) return;
            if (onAsk && text.trim()) {
              setTyped(null);
              onAsk(text.trim());
              return;
            }
            const [found] = findTokens(tokens, event.currentTarget.value);
            if (found) onFind(found);
            setTyped(found ? null : typed);
            setSaid(found ? "" : `“${(typed ?? "").slice(0, 40)}” is not in this vocabulary.`);
          }}
        />
      </label>
      <datalist id={list}>
        {offered.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <span role="status">{said || problem}</span>
    </>
  );
}

interface InspectorProps {
  frame: Frame<Traits>;
  embeddings: Embeddings;
  index: number;
  near: Neighbour[];
  held: Analogy[];
  choose: (index: number) => void;
}

/** The nearest tokens with their cosines, each a button that goes there, and the analogies that hold. */
function Inspector({ frame, embeddings, index, near, held, choose }: InspectorProps) {
  const { tokens } = embeddings;
  const named = (token: number) => <bdi class={roleOf(embeddings, token)}>{visible(tokens[token]!)}</bdi>;
  return (
    <>
      <p>cosine with {named(index)}</p>
      <Bars
        theme={frame.theme}
        label={`nearest to ${visible(tokens[index]!)}`}
        kind="weight"
        bars={near.map(({ index: token, cosine }) => [
          tokens[token]!,
          Math.max(0, cosine),
          { told: formatNumber(cosine, 2), colour: "var(--muted)", role: roleOf(embeddings, token) },
        ])}
        onChoose={(at) => choose(near[at]!.index)}
      />
      {held.map(({ words: [a, b, c, d], cosine }) => (
        <p class="vt-analogy" key={`${b} ${c}`}>
          {named(a)} → {named(b)} as {named(c)} → {named(d)}: {formatNumber(cosine, 2)}
        </p>
      ))}
      <Code lines={[`view.token = "${tokens[index]}"`, "view.nearest"]} />
      <Doors />
    </>
  );
}

export default stageView<Traits>({
  name: "embedding-map",
  label: "Map of embeddings",
  traits: TRAITS,
  draw: EmbeddingMap,
});
