// Where in the model the picture is: a breadcrumb, and a small map of the depth.

import { layOut } from "./lanes.ts";
import { capital, placeOf } from "./sentences.ts";
import { type Box, type Depth, DEPTHS } from "./steps.ts";

const [WIDTH, HEIGHT] = [260, 28];

interface TrailProps {
  boxes: readonly Box[];
  box: Box;
  depth: Depth;
  head: number | null;
  nHeads: number;
  partName: (box: Box) => string;
  go: (box: string, depth: Depth) => void;
}

export function Trail(props: TrailProps) {
  const { box, depth, head, partName, go } = props;
  const names: Record<Depth, string> = {
    model: "Transformer",
    layer: capital(placeOf(box)),
    block: capital(partName(box)),
    head: `Head ${head ?? 0}`,
  };
  const at = DEPTHS.indexOf(depth);
  const above = DEPTHS[at - 1];
  return (
    <>
      <nav class="vt-breadcrumb vt-beside" aria-label="Where in the model">
        {DEPTHS.slice(0, at).map((each) => (
          <span key={each}>
            <button type="button" onClick={() => go(box.key, each)}>
              {names[each]}
            </button>{" "}
            ›
          </span>
        ))}
        <b aria-current="true">{names[depth]}</b>
      </nav>
      {above && (
        <button type="button" class="vt-back" onClick={() => go(box.key, above)}>
          Esc: back
        </button>
      )}
      <SmallMap {...props} />
    </>
  );
}

/** The parts of the whole model as small blocks, the one that is shown with an outline. */
function SmallMap({ boxes, box, depth, nHeads, partName }: TrailProps) {
  const { columns, left, right } = layOut({
    ...{ boxes, box, nHeads, partName, depth: "model" },
    ...{ count: { encoder: 1, decoder: 1 }, writes: false, widest: -1.6 },
    ...{ width: WIDTH, height: HEIGHT, unit: 1 },
  });
  const shown =
    depth === "model"
      ? null
      : columns.find(
          ({ kind, stack, layer }) => kind === "layer" && stack === box.stack && layer === box.layer,
        );
  return (
    <svg class="vt-map" width={WIDTH} height={HEIGHT} aria-hidden="true">
      <line class="vt-map-line" x1={left} x2={right} y1={HEIGHT / 2} y2={HEIGHT / 2} />
      {columns.map(({ key, kind, left: x, width }) => (
        <rect
          key={`${kind} ${key}`}
          class="vt-map-part"
          x={x}
          y={kind === "layer" ? 5 : 9}
          width={width}
          height={kind === "layer" ? 18 : 10}
          rx={3}
        />
      ))}
      <rect
        class="vt-map-here"
        x={shown ? shown.left - 2 : 1}
        y={1}
        width={shown ? shown.width + 4 : WIDTH - 2}
        height={HEIGHT - 2}
        rx={5}
      />
    </svg>
  );
}
