// Why a head looks there: the score of the chosen weight, divided among what its query and its key were made of.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Bars } from "../base/bars.tsx";
import { useKernel } from "../base/hooks.ts";
import { Code } from "../base/python_code.tsx";
import { newestReply } from "../base/replies.ts";
import { formatNumber, formatSigned, shortened } from "../base/text.ts";
import { tokenOf } from "./displayed_head.ts";
import type { Readout } from "./readout.ts";
import type { Room } from "./room.ts";
import type { Snapshot } from "./snapshot.ts";

const LETTERS = 24; // of a word
const NAMED = 3; // tokens that a head raises, and that it lowers

type Named = [name: string, value: number];

interface Asked {
  version: number;
  parts: [kind: string, layer: number, head: number, query: number, key: number];
}

interface Parts {
  /** That the trace has changed meanwhile. */
  stale?: boolean;
  score: number;
  remainder: number;
  query: string;
  key: string;
  of_query: Named[];
  of_key: Named[];
  raised: Named[];
  lowered: Named[];
  /** The line of Python that gives the same. */
  code: string;
}

interface WhyProps {
  room: Room;
  snapshot: Snapshot;
  read: Readout;
}

/** A button for the chosen weight, the strongest of a chosen row; then its score in parts. A page alone has none. */
export function Why({ room, snapshot, read }: WhyProps) {
  const { model, traits, redraw } = room.frame;
  const kernel = useKernel(model);
  const replies = useMemo(() => newestReply<Asked, Parts>(kernel, redraw), [kernel, redraw]);
  const [wanted, setWanted] = useState("");
  const { lit, pictureOf } = snapshot;
  const shown = pictureOf(lit.kind);
  const [pair] = read.pairs;
  const [query, key] = [
    tokenOf(shown.queryAxis, pair?.query ?? null),
    tokenOf(shown.keyAxis, pair?.key ?? null),
  ];
  const [head] = shown.heads;
  const can = traits.has_parts && shown.plain && shown.limit === null && lit.query !== null;
  const place = `${lit.kind} ${head?.join(" ")} ${query} ${key}`;
  useEffect(() => setWanted((was) => (was === place ? was : "")), [place]);
  if (!can || !head || query === null || key === null || pair?.masked) return null;
  if (!room.canAsk) return <p class="vt-caption">What the score is made of needs the running notebook.</p>;
  if (wanted !== place)
    return (
      <p>
        <button type="button" class="vt-button" onClick={() => setWanted(place)}>
          What the score is made of
        </button>
      </p>
    );
  const version = (traits.data as { version?: number }).version ?? 0;
  const asked: Asked = { version, parts: [lit.kind, ...head, query, key] };
  const { now, problem } = replies.want(asked);
  if (!now || now.reply.stale)
    return <p role={problem ? "alert" : "status"}>{problem ? `✗ ${problem}` : "…"}</p>;
  return <Divided parts={now.reply} room={room} />;
}

/** A score, what each part of the key and of the query adds to it, and what the head then writes. */
function Divided({ parts, room }: { parts: Parts; room: Room }) {
  const { score, key, query, of_key, of_query, raised, lowered, remainder } = parts;
  const [most] = [...of_key].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const words = (named: Named[]) => named.slice(0, NAMED).map(([token]) => shortened(token, LETTERS));
  return (
    <section aria-label="What the score is made of">
      <p>
        The score of <b class="vt-of-key">{shortened(key, LETTERS)}</b> is {formatNumber(score, 2)}
        {most && `: ${formatSigned(most[1], 2)} comes with ${most[0]}`}
      </p>
      <Side label="key" token={key} parts={of_key} room={room} />
      <Side label="query" token={query} parts={of_query} room={room} />
      {remainder !== 0 && <p class="vt-caption">and {formatSigned(remainder, 2)} for the positions</p>}
      {raised.length > 0 && (
        <p class="vt-caption">
          Its output raises <bdi>{words(raised).join(", ")}</bdi> and lowers{" "}
          <bdi>{words(lowered).join(", ")}</bdi>
        </p>
      )}
      <Code lines={[parts.code]} />
    </section>
  );
}

interface SideProps {
  label: "key" | "query";
  token: string;
  parts: Named[];
  room: Room;
}

/** The parts of a query or a key: green raises the score, brown lowers it. */
function Side({ label, token, parts, room }: SideProps) {
  const most = Math.max(...parts.map(([, value]) => Math.abs(value))) || 1;
  const bars = parts.map(([name, value]) => {
    const look = {
      told: formatSigned(value, 2),
      colour: `var(--${value < 0 ? "below" : "above"})`,
      role: "vt-part-name",
    };
    return [name, Math.abs(value) / most, look] as const;
  });
  return (
    <>
      <b class={`vt-of-${label}`}>
        {label} <bdi>{shortened(token, LETTERS)}</bdi>
      </b>
      <Bars theme={room.frame.theme} label={`parts of the ${label}`} kind="weight" bars={bars} />
    </>
  );
}
