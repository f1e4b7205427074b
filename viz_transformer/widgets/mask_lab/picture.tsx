// The picture of the mask lab: the mask as a grid to paint, and what streams through it to the outputs.

import { useRef, useState } from "preact/hooks";
import { type Cell, consume, hasModifier, moveInTable } from "../base/keys.ts";
import { elide, markMeaning, visible } from "../base/text.ts";
import { cellText, type ComposedMask, describeMaskCell, emptyRows, isWord } from "./composition.ts";
import { cellAt, cellsBetween, hatchPath, type Layout, streamsOf } from "./layout.ts";
import { type LeakRow, shownChange, UNMOVED, type Verdict } from "./leaks.ts";

const VERDICTS: Record<Verdict, [sign: string, word: string]> = {
  leak: ["✗", "leaks"],
  moved: ["✓", "may move"],
  still: ["✓", "unmoved"],
  cut: ["✗", "cut off"],
  padding: ["–", "padding"],
  shifted: ["", "shifted"],
};

export interface PictureProps {
  layout: Layout;
  composed: ComposedMask;
  /** The cells that may be attended to before anything was changed here, [batch][query][key]. */
  base: boolean[][][];
  polarity: string;
  sentence: number;
  chosen: { query: number | null; key: number | null };
  /** The key whose word is replaced, and the word in its place; null while padding is added. */
  edited: number | null;
  other: string;
  /** What was measured, and the changes on their way to it. */
  rows: LeakRow[] | null;
  changes: number[];
  /** The width of a text, in pixels. */
  measure: (text: string) => number;
  onPoint: (cell: Cell | null) => void;
  onChoose: (cell: Cell) => void;
  onPaint: (cells: Cell[], may: boolean) => void;
  onEdit: (key: number) => void;
  onQuery: (query: number) => void;
}

export function Picture(props: PictureProps) {
  const { layout, onEdit, onQuery } = props;
  const choose = (event: PointerEvent) => {
    const { key, query } =
      (event.target as Element).closest<SVGElement>("[data-key], [data-query]")?.dataset ?? {};
    if (key) onEdit(Number(key));
    else if (query) onQuery(Number(query));
  };
  return (
    <svg
      class="vt-mask"
      width={layout.width}
      height={layout.height}
      role="group"
      aria-label="The mask and the outputs"
      onPointerUp={choose}
    >
      <Grid {...props} />
      <Streams {...props} />
      <Glyphs {...props} />
      <Keys {...props} />
      {props.composed.queryTokens[props.sentence]?.map((token, q) => (
        <Row key={`${q} ${token}`} {...props} token={token} q={q} />
      ))}
    </svg>
  );
}

/** A token, as much of it as has room. */
const fit = (token: string, width: number, { measure }: PictureProps) =>
  elide(visible(token), width, measure);

/** Whether a cell is not as in the preset, or in the mask that the lab opened with. */
const isChanged = ({ composed, base, sentence }: PictureProps, q: number, k: number) =>
  composed.may[sentence]?.[q]?.[k] !== base[sentence]?.[q]?.[k];

/** The cells: one is in the Tab order, arrow keys move; Space and the pointer paint. */
function Grid(props: PictureProps) {
  const { layout, composed, sentence, onPoint, onChoose, onPaint } = props;
  const may = composed.may[sentence] ?? [];
  const grid = useRef<SVGGElement>(null);
  const stroke = useRef<{ at: Cell; may: boolean } | null>(null);
  const [wanted, setFocus] = useState({ row: 0, col: 0 });
  const at = {
    row: Math.min(wanted.row, composed.queries - 1),
    col: Math.min(wanted.col, composed.keys - 1),
  };
  const focus = (to: Cell) => {
    setFocus(to);
    grid.current?.querySelector<SVGElement>(`[data-row="${to.row}"][data-col="${to.col}"]`)?.focus();
  };
  const under = (event: PointerEvent): Cell | null => {
    const box = grid.current!.ownerSVGElement!.getBoundingClientRect();
    const scale = box.width / layout.width || 1; // of a page that is zoomed
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    return cellAt(layout, x, y, composed);
  };
  const paint = (cells: Cell[], value: boolean) => {
    const other = cells.filter((each) => may[each.row]?.[each.col] !== value);
    if (other.length) onPaint(other, value);
  };
  return (
    <g
      ref={grid}
      class="vt-cells"
      role="grid"
      aria-label="The mask. Space or a click paints a cell, a drag paints many; arrow keys move."
      onPointerDown={(event) => {
        const found = under(event);
        if (!found || event.button !== 0) return;
        event.preventDefault(); // no selection of text while painting
        event.currentTarget.setPointerCapture(event.pointerId);
        focus(found);
        stroke.current = { at: found, may: !may[found.row]?.[found.col] };
        onChoose(found);
        paint([found], stroke.current.may);
      }}
      onPointerMove={(event) => {
        const found = under(event);
        onPoint(found);
        if (!found || !stroke.current) return;
        paint(cellsBetween(stroke.current.at, found), stroke.current.may);
        stroke.current.at = found;
      }}
      onLostPointerCapture={() => {
        stroke.current = null;
      }}
      onPointerLeave={() => onPoint(null)}
      onFocusCapture={(event) => onPoint(cellOf(event.target as SVGElement))}
      onBlurCapture={() => onPoint(null)}
      onKeyDown={(event) => {
        const here = cellOf(event.target as SVGElement); // two keys may come in one frame
        if (!here || hasModifier(event)) return;
        const to = moveInTable(here, composed.queries, composed.keys, event.key);
        if (to) focus(to);
        else if (event.key === " " || event.key === "Enter") {
          onChoose(here);
          if (event.key === " ") paint([here], !may[here.row]?.[here.col]);
        } else return;
        consume(event);
      }}
    >
      <Cells {...props} at={at} />
    </g>
  );
}

function Cells(props: PictureProps & { at: Cell }) {
  const { layout, composed, sentence, chosen, polarity, at } = props;
  const { left, top, row, cell } = layout;
  return (
    <>
      {(composed.may[sentence] ?? []).map((line, q) => (
        <g role="row" key={q}>
          {line.map((open, k) => (
            <rect
              key={k}
              role="gridcell"
              class={`vt-cell ${open ? "vt-may" : "vt-closed"} ${isChanged(props, q, k) ? "vt-changed" : ""}`}
              data-row={q}
              data-col={k}
              data-lm-suppress-shortcuts="true"
              tabindex={q === at.row && k === at.col ? 0 : -1}
              aria-selected={q === chosen.query && k === chosen.key}
              aria-label={`${cellText(open, polarity)}. ${describeMaskCell(composed, sentence, q, k)}`}
              x={left + k * cell + 1}
              y={top + q * row + 1}
              width={cell - 2}
              height={row - 2}
              rx={4}
            />
          ))}
        </g>
      ))}
    </>
  );
}

function cellOf(node: SVGElement): Cell | null {
  const { row, col } = node.dataset;
  return row === undefined ? null : { row: Number(row), col: Number(col) };
}

/** A dot where a query may attend to a key, hatches where it may not, a ring where you changed it. */
function Glyphs(props: PictureProps) {
  const { layout, composed, sentence } = props;
  const { left, top, row, cell } = layout;
  const cells = (composed.may[sentence] ?? []).flatMap((line, q) =>
    line.map((open, k) => ({ row: q, col: k, open })),
  );
  const size = Math.min(7, 0.17 * Math.min(row, cell));
  return (
    <g class="vt-glyphs">
      <path
        class="vt-hatch"
        d={hatchPath(
          layout,
          cells.filter(({ open }) => !open),
        )}
      />
      {cells.map(({ row: q, col: k, open }) => {
        const place = { cx: left + (k + 0.5) * cell, cy: top + (q + 0.5) * row };
        const mine = isChanged(props, q, k);
        return [
          mine && <circle key={`${q} ${k} ring`} class="vt-ring" {...place} r={1.7 * size} />,
          open && <circle key={`${q} ${k}`} class={mine ? "vt-dot vt-mine" : "vt-dot"} {...place} r={size} />,
        ];
      })}
    </g>
  );
}

/** From the replaced key to each output that it moves, as wide as the change. */
function Streams({ layout, composed, edited, rows, changes, chosen }: PictureProps) {
  if (edited === null || !rows) return null;
  const moved = changes.map((change, at) =>
    rows[at]?.verdict !== "padding" && change >= UNMOVED ? change : 0,
  );
  const end = layout.now ?? layout.names - layout.widths.query - 4;
  const what = `${edited} ${rows.map(({ verdict }) => verdict).join(" ")} ${composed.kind}`;
  return (
    <g class="vt-streams" key={what}>
      {streamsOf(layout, edited, moved).map(({ row, width, x, y }) => {
        const d = `M${x} ${layout.top}V${y}H${end}`;
        return (
          <g key={row} data-verdict={rows[row]?.verdict} data-chosen={row === chosen.query}>
            <path d={d} stroke-width={width} />
            {width >= 3 && <path class="vt-flow" d={d} pathLength={60} stroke-width={0.5 * width} />}
          </g>
        );
      })}
    </g>
  );
}

/** The names of the keys; a click replaces the word of one. */
function Keys(props: PictureProps) {
  const { layout, composed, sentence, edited, other } = props;
  const { left, top, cell, unit, widths, isUpright, keyShare } = layout;
  const height = isUpright ? widths.key + 14 : 1.6 * unit;
  const isLate = edited !== null && edited >= composed.keys / 2;
  return (
    <>
      {composed.keyTokens[sentence]?.map((token, k) => {
        const x = left + (k + 0.5) * cell;
        const turned = `translate(${x} ${top - 10}) rotate(-90)`;
        return (
          <g class="vt-key" data-edited={k === edited} key={`${k} ${token}`} data-key={k}>
            <title>{markMeaning(token) ?? visible(token)}</title>
            <rect x={x - cell / 2 + 1} y={top - height - 4} width={cell - 2} height={height} rx={8} />
            <text
              class={isWord(token) ? "vt-of-key" : "vt-quiet"}
              style={{ fontSize: `${keyShare * unit}px`, textAnchor: isUpright ? "start" : "middle" }}
              {...(isUpright ? { transform: turned } : { x, y: top - 4 - height / 2 })}
            >
              {fit(token, widths.key / keyShare, props)}
            </text>
          </g>
        );
      })}
      {edited !== null && other && !isUpright && (
        <text
          class={isLate ? "vt-of-you vt-end" : "vt-of-you"}
          x={left + (edited + Number(isLate)) * cell}
          y={top - height - 4 - 0.9 * unit}
        >
          {`→ ${fit(other, 9 * unit, props)}`}
        </text>
      )}
    </>
  );
}

/** What stands at the left of a row: the query, what it writes, and how far that moves. */
function Row(props: PictureProps & { token: string; q: number }) {
  const { layout, composed, sentence, token, q, rows, chosen, measure } = props;
  const { unit, names, widths, row, top, isStacked } = layout;
  const isEmpty = emptyRows(composed, sentence).includes(q);
  const name = `${fit(token, widths.query - (isEmpty ? measure(" ∅") : 0), props)}${isEmpty ? " ∅" : ""}`;
  const width = Math.min(widths.query, measure(name)) + 12;
  const height = Math.min(1.7 * unit, row - 2);
  const found = rows?.[q];
  const writes = found && found.verdict !== "padding" ? found.writes : null;
  const isBelow = isStacked && writes;
  return (
    <g
      class="vt-row"
      data-verdict={found?.verdict}
      data-query={q}
      transform={`translate(0 ${top + (q + 0.5) * row})`}
    >
      <title>{markMeaning(token) ?? visible(token)}</title>
      <rect
        class="vt-name"
        data-chosen={q === chosen.query}
        {...{ x: names - width + 6, width, rx: 8 }}
        {...(isBelow ? { y: -unit, height: 1.1 * unit } : { y: -height / 2, height })}
      />
      <text
        x={names}
        y={isBelow ? -0.45 * unit : 0}
        class={`vt-end ${isEmpty ? "vt-empty" : isWord(token) ? "vt-of-query" : "vt-quiet"}`}
      >
        {name}
      </text>
      {isBelow && (
        <text x={names} y={0.55 * unit} class={`vt-end vt-small vt-of-${isNew(writes) ? "you" : "query"}`}>
          {fit(`→ ${writes.now.word}`, widths.query, props)}
        </text>
      )}
      {writes && layout.now !== null && <Written {...props} {...writes} height={height} />}
      {found && <Moved {...props} found={found} />}
    </g>
  );
}

const isNew = ({ now, right }: NonNullable<LeakRow["writes"]>) => now.word !== right.word;

/** What an output writes, and what it wrote with the right mask. */
function Written(props: PictureProps & NonNullable<LeakRow["writes"]> & { height: number }) {
  const { layout, now, right, height } = props;
  const { now: end, right: was, widths } = layout;
  const isOther = isNew({ now, right });
  const x = (end ?? 0) - widths.now;
  return (
    <g class={isOther ? "vt-written vt-new" : "vt-written"} key={now.word}>
      <rect x={x} y={-height / 2} width={widths.now} height={height} rx={height / 2} />
      <text class={`vt-middle vt-of-${isOther ? "you" : "query"}`} x={x + widths.now / 2}>
        {fit(now.word, widths.now - 16, props)}
      </text>
      {isOther && was !== null && (
        <text class="vt-end vt-was" x={was}>
          {fit(right.word, widths.right, props)}
        </text>
      )}
    </g>
  );
}

/** How far an output moves, and whether it may: in words where it is the first of its verdict. */
function Moved({ layout, rows, changes, q, found }: PictureProps & { q: number; found: LeakRow }) {
  const { bars, bar, unit, hasWords } = layout;
  const [sign, word] = VERDICTS[found.verdict];
  const isFirst = rows?.findIndex(({ verdict }) => verdict === found.verdict) === q;
  const change = changes[q] ?? 0;
  const most = Math.max(...changes.filter((_, at) => rows?.[at]?.verdict !== "padding"));
  const hasBar = change >= UNMOVED && found.verdict !== "padding"; // padding is no output
  const length = hasBar ? Math.max(bar && 2, (bar * change) / most) : 0;
  return (
    <>
      <text class="vt-verdict">{hasWords && isFirst ? `${sign} ${word}`.trim() : sign}</text>
      <rect class="vt-change" x={bars - length} y={-unit / 2} width={length} height={unit} rx={3} />
      <text class="vt-number vt-end" x={bars - length - 6}>
        {shownChange(found.change)}
      </text>
    </>
  );
}
