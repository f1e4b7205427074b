// The inspector: the followed word's weights, its entropy with its numbers, and the line of Python that gives them.

import { Bars } from "../base/bars.tsx";
import type { Theme } from "../base/colour.ts";
import { Doors } from "../base/doors.tsx";
import { Code } from "../base/python_code.tsx";
import { formatNumber, marksExplained, shortened, visible } from "../base/text.ts";
import { type Cell, entropyInWords, lossesInWords, rowEntropy } from "./runs.ts";
import type { Side } from "./view.tsx";

const MOST_BARS = 8;

interface InspectorProps {
  sides: readonly Side[];
  theme: Theme;
  onFollow: (index: number, cell: Cell) => void;
}

export function Inspector({ sides, theme, onFollow }: InspectorProps) {
  const tokens = sides.flatMap(({ entry }) => (entry ? [...entry.queries, ...entry.keys] : []));
  return (
    <>
      <p class="vt-caption">Recorded during training, with these sentences only.</p>
      {sides.map((side) => (
        <Details key={side.index} {...{ side, theme, onFollow }} isNamed={sides.length > 1} />
      ))}
      <Doors />
      <p class="vt-caption">{marksExplained(tokens)}</p>
    </>
  );
}

interface DetailsProps {
  side: Side;
  theme: Theme;
  isNamed: boolean;
  onFollow: InspectorProps["onFollow"];
}

function Details({ side, theme, isNamed, onFollow }: DetailsProps) {
  const { index, run, moment, sentence, entry, chosen, weights } = side;
  if (!entry) return null;
  const { layer, head, kind } = chosen;
  const { query, key } = side.pointed ?? side.followed;
  const { cols, keys, queries, masked } = entry;
  const all = keys.map((name, at) => ({ name, at, weight: weights[query * cols + at]! }));
  const reached = all.filter(({ at }) => !masked?.[query * cols + at]);
  const listed =
    reached.length > MOST_BARS ? reached.sort((a, b) => b.weight - a.weight).slice(0, MOST_BARS) : reached;
  const code = [
    `moment = view.${index ? "other" : "trace"}.moments[${moment}]`,
    `moment.traces[${sentence}].attention("${kind}")[${layer}, ${head}, ${query}, ${key}]`,
    `# ${formatNumber(weights[query * cols + key]!, 2)}`,
  ];
  return (
    <section>
      {isNamed && (
        <b>
          <bdi>{shortened(run.name, 24)}</bdi>
        </b>
      )}
      <p>
        <bdi class="vt-of-query">{visible(queries[query]!)}</bdi> looks at
      </p>
      <Bars
        theme={theme}
        label="weights of the followed word"
        kind="weight"
        bars={listed.map(({ name, weight }) => [name, weight] as const)}
        chosen={listed.findIndex(({ at }) => at === key)}
        onChoose={(at) => onFollow(index, { query, key: listed[at]!.at })}
      />
      <p class="vt-equation">{rowEntropy(reached.map(({ weight }) => weight))}</p>
      <p class="vt-entropy">{entropyInWords(entry, run.moments, moment, layer, head)}</p>
      <p class="vt-losses">{lossesInWords(run, moment, sentence)}</p>
      <Code lines={code} />
    </section>
  );
}
