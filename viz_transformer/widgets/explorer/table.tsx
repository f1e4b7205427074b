// The picture as a table: numbers and words of the page, which can be read aloud, searched for and copied.

import { useLayoutEffect, useRef } from "preact/hooks";
import { zoomOf } from "../base/canvas.ts";
import { visible } from "../base/text.ts";
import { tableOf } from "./data_table.ts";
import { boxMark, type Mark } from "./passage.ts";
import type { Picture, Room } from "./room.ts";
import { headingOf } from "./sentences.ts";
import type { Snapshot } from "./snapshot.ts";

const WAITING = { caption: "This head is loading.", heads: [], rows: [], placeOf: () => null };

interface TableProps {
  room: Room;
  snapshot: Snapshot;
  to: { current: Picture | null };
}

/** All weights of a small head; of a large one the pinned row or column, or the strongest. */
export function Table({ room, snapshot, to }: TableProps) {
  const { shown, pinned } = snapshot;
  const table = shown.weights ? tableOf(shown, headingOf(snapshot), pinned) : WAITING;
  const node = useRef<HTMLElement>(null);
  const drawn = useRef({ table, name: shown.name });
  drawn.current = { table, name: shown.name };
  useLayoutEffect(() => {
    const on = node.current!;
    const of = ({ name }: Snapshot["shown"], query: number, key: number) => {
      const place = drawn.current.name === name ? drawn.current.table.placeOf(query, key) : null;
      return place && numberMark(on, place, room.theme.scale);
    };
    const picture: Picture = { draw() {}, close() {}, marks: { on, of } };
    to.current = picture;
    return () => {
      if (to.current === picture) to.current = null;
    };
  }, [room, to]);
  return (
    <section class="vt-data-table" tabIndex={0} aria-label="The picture as a table" ref={node}>
      <table>
        <caption>{table.caption}</caption>
        <thead>
          <tr>
            {table.heads.map((name, at) => (
              <th scope="col" key={`${at} ${name}`}>
                <bdi>{visible(name)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map(([name, ...values], row) => (
            <tr key={`${row} ${name}`}>
              <th scope="row">
                <bdi>{visible(name!)}</bdi>
              </th>
              {values.map((value, at) => (
                <td key={`${at} ${value}`}>
                  <bdi>{visible(value)}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A number of the table as a mark of no height: it becomes what it counts, or the other way round. */
function numberMark(on: HTMLElement, [row, column]: [number, number], scale: number): Mark | null {
  const cell = on.querySelector("tbody")!.rows[row]?.cells[column];
  if (!cell) return null;
  const [inner, outer] = [cell.getBoundingClientRect(), on.getBoundingClientRect()];
  if (inner.bottom > outer.bottom || inner.right > outer.right) return null; // scrolled out of sight
  const unit = zoomOf(on) * scale;
  const [x, y] = [(inner.left - outer.left) / unit, (inner.top - outer.top) / unit];
  const [width, height] = [inner.width / unit, inner.height / unit];
  return boxMark([x + width / 4, y + height / 2, width / 2, 0], 0);
}
