// Where one can go on from here: what a view has itself, and inside a studio its other rooms.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

type Door = readonly [room: string, name: string];

/** Asks the studio around a view, if there is one, for its other rooms, and tells it which one is entered. */
function tell<Detail>(node: Element, type: string, detail: Detail): Detail {
  node.dispatchEvent(new CustomEvent(type, { bubbles: true, composed: true, detail }));
  return detail;
}

export function Doors({ children }: { children?: ComponentChildren }) {
  const nav = useRef<HTMLElement>(null);
  const [doors, setDoors] = useState<Door[]>([]);
  useLayoutEffect(() => setDoors(tell(nav.current!, "vt-doors", [])), []);
  return (
    <nav class="vt-doors" aria-label="Go on from here" ref={nav} hidden={!children && !doors.length}>
      {children}
      {doors.map(([room, name]) => (
        <button type="button" key={room} onClick={(event) => tell(event.currentTarget, "vt-door", room)}>
          {name}
        </button>
      ))}
    </nav>
  );
}
