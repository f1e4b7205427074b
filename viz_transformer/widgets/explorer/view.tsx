// The attention explorer: every head at a glance, one large, and who looks at whom in words.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { zoomOf } from "../base/canvas.ts";
import { Tabs } from "../base/controls.tsx";
import { type Editor, editorAround, EditorField } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { formatWeight, shortened } from "../base/text.ts";
import { Timeline } from "../base/timeline.tsx";
import { Chips } from "./chips.tsx";
import { pin, pinOfKind, showWall } from "./choose.ts";
import { COLOUR_SCALES } from "./colour_scale.ts";
import { columnsPicture } from "./columns_picture.ts";
import { headsPicture } from "./heads_picture.ts";
import { Inspector } from "./inspector.tsx";
import { EASY, MatrixPicture } from "./matrix_picture.ts";
import { Options } from "./options.tsx";
import { patchesPicture } from "./patches_picture.ts";
import { type Mount, type Picture, Room, type Traits } from "./room.ts";
import { sentencePicture } from "./sentence_picture.ts";
import { headline, lineBelow } from "./sentences.ts";
import type { Snapshot } from "./snapshot.ts";
import { Table } from "./table.tsx";
import { Traces } from "./traces.tsx";
import { TRAITS } from "./traits.ts";
import { WallInspector } from "./wall_inspector.tsx";
import { wallPicture } from "./wall_picture.ts";

const MOST_STEPS = 24; // of the timeline
const LETTERS = 16; // of a word on it
const LEAST = 40; // pixels of a picture
const FLAT = 4; // layers that can be told apart in a strip

type Mode = Snapshot["mode"];
const PICTURES: Partial<Record<Mode, [string, Mount]>> = {
  wall: ["vt-all-heads", wallPicture],
  linked: ["vt-words", columnsPicture],
  lines: ["vt-words", columnsPicture],
  sentence: ["vt-words", sentencePicture],
  matrix: ["vt-head", (room, node) => new MatrixPicture(room, node)],
  patches: ["vt-patches", patchesPicture],
};

function Explorer(frame: Frame<Traits>) {
  const own = useRef<Room | null>(null);
  own.current ??= new Room(frame);
  const room = own.current;
  const snapshot = room.begin(frame);
  const { mode } = snapshot;
  const place = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<Editor | null>(null);
  const stage = useRef<Picture | null>(null);
  const heads = useRef<Picture | null>(null);
  room.passage.leave(snapshot, stage.current);
  useEffect(() => () => room.close(), [room]);
  useLayoutEffect(() => setEditor(editorAround(place.current!)), []);
  useLayoutEffect(() => {
    const zones = place.current!.closest<HTMLElement>(".vt-zones")!;
    room.place = place.current;
    room.measure(zones);
    const nav = zones.querySelector<HTMLElement>(".vt-heads");
    if (nav) heads.current?.draw(snapshot, insideOf(nav));
    const box = insideOf(place.current!);
    // While a window is made narrow, the zones may not have followed yet, and leave no room.
    room.draw = () => {
      if (Math.min(box.width, box.height) > LEAST) stage.current?.draw(snapshot, box);
    };
    room.draw();
    room.passage.follow(stage.current);
  });
  useFocusThatFollows(place, mode);
  const isWall = mode === "wall";
  const below = lineBelow(snapshot);
  const isDeep = snapshot.sections.some(({ layers }) => layers > FLAT);
  const [name, mount] = PICTURES[mode] ?? ["", null];
  return (
    <Stage
      header={
        <>
          {frame.model.get("labels") && <Traces room={room} />}
          <Chips room={room} snapshot={snapshot} editor={editor} />
          {editor && <EditorField editor={editor} />}
        </>
      }
      heads={
        !isWall && <Place key="heads" name="vt-small-heads" mount={headsPicture} room={room} to={heads} />
      }
      headsBeside={isDeep}
      headline={<Pieces pieces={headline(snapshot)} />}
      line={below.length > 0 && <Pieces pieces={below} />}
      controls={<Controls room={room} snapshot={snapshot} picture={stage} />}
      inspector={isWall ? <WallInspector {...{ room, snapshot }} /> : <Inspector {...{ room, snapshot }} />}
      timeline={stepsOf(room, snapshot)}
      options={<Options room={room} snapshot={snapshot} />}
      {...stageOf(frame)}
      about={editor ? `${editor.about} ${frame.about}` : frame.about}
    >
      <div class="vt-place" ref={place} data-mode={mode}>
        {mount && <Place key={mode} name={name} mount={mount} room={room} to={stage} />}
        {mode === "table" && <Table snapshot={snapshot} room={room} to={stage} />}
      </div>
    </Stage>
  );
}

function insideOf(node: HTMLElement) {
  const { paddingLeft, paddingRight, paddingTop, paddingBottom } = getComputedStyle(node);
  const [left, right, top, bottom] = [paddingLeft, paddingRight, paddingTop, paddingBottom].map(parseFloat);
  const { width, height } = node.getBoundingClientRect();
  const zoom = zoomOf(node);
  return { width: Math.floor(width / zoom - left - right), height: Math.floor(height / zoom - top - bottom) };
}

interface PlaceProps {
  name: string;
  mount: Mount;
  room: Room;
  to: { current: Picture | null };
}

/** Where a picture on a canvas stands; it is drawn by the frame, not by preact. */
function Place({ name, mount, room, to }: PlaceProps) {
  const node = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const picture = mount(room, node.current!);
    to.current = picture;
    return () => {
      picture.close();
      node.current?.replaceChildren();
      if (to.current === picture) to.current = null;
    };
  }, [mount, room, to]);
  return <div class={name} ref={node} />;
}

/** The keyboard goes with the viewer: from the wall into the head that was opened, and back. */
function useFocusThatFollows(place: { current: HTMLElement | null }, mode: Mode): void {
  const before = useRef(mode);
  const held = useRef(false);
  if (before.current !== mode) held.current = Boolean(place.current?.contains(document.activeElement));
  useLayoutEffect(() => {
    if (before.current === mode) return;
    before.current = mode;
    if (held.current) place.current?.querySelector("canvas")?.focus({ preventScroll: true });
  });
}

interface ControlsProps {
  room: Room;
  snapshot: Snapshot;
  picture: { current: Picture | null };
}

/** Which picture is on the stage, how it is enlarged, and what its colours stand for. */
function Controls({ room, snapshot, picture }: ControlsProps) {
  const { mode, plan, patches, shown } = snapshot;
  const go = (change: Partial<Traits>) => {
    if (snapshot.options.wall !== Boolean(change.wall)) showWall(room, Boolean(change.wall));
    room.set({ wall: false, linked: false, ...change });
  };
  const tabs: [Mode, string, Partial<Traits>, isThere?: boolean][] = [
    ["sentence", "Sentence", { picture: "sentence" }, snapshot.canShowSentence],
    ["linked", "Linked", { linked: true, picture: "matrix" }, Boolean(plan)],
    ["matrix", "Matrix", { picture: "matrix" }],
    patches ? ["patches", "Picture", { picture: "lines" }] : ["lines", "Lines", { picture: "lines" }],
    ["wall", "All heads", { wall: true }],
    ["table", "Table", { picture: "table" }],
  ];
  const there = tabs.filter(([, , , isThere = true]) => isThere);
  const zoom = (times: number) => {
    if (picture.current instanceof MatrixPicture) picture.current.zoomBy(times);
  };
  const canZoom = mode === "matrix" && Math.max(shown.rows, shown.cols) > EASY;
  const isZoomed = snapshot.state.window.zoom > 1;
  return (
    <>
      <Tabs
        label="Picture"
        options={there.map(([each, name]) => [each, name])}
        value={mode}
        onChoose={(wanted) => wanted !== mode && go(there.find(([each]) => each === wanted)![2])}
      />
      {canZoom && (
        <span class="vt-tabs" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom in" onClick={() => zoom(1.5)}>
            +
          </button>
          {isZoomed && (
            <>
              <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.5)}>
                −
              </button>
              <button type="button" aria-label="Show the whole matrix" onClick={() => zoom(0)}>
                Whole
              </button>
            </>
          )}
        </span>
      )}
      <Legend room={room} snapshot={snapshot} />
    </>
  );
}

function Legend({ room, snapshot }: { room: Room; snapshot: Snapshot }) {
  const { limit, entry } = snapshot.shown;
  const { theme } = room.frame;
  const { unnormalised, least } = entry;
  const scale =
    snapshot.mode === "matrix" ? COLOUR_SCALES[snapshot.options.colourScale] : COLOUR_SCALES.linear!;
  const signs = unnormalised && least === 0 ? theme.signedStops.slice(4) : theme.signedStops; // from 0
  const stops = limit === null ? theme.stops : signs;
  const end = (value: number) => formatWeight(value, limit, least);
  const ends =
    limit === null
      ? [`weight ${scale.ends[0]}`, scale.ends[1]]
      : unnormalised
        ? [`weight ${end(least)}`, end(limit)]
        : [`less ${end(-limit)}`, `${end(limit)} more`];
  return (
    <span class="vt-scale vt-beside vt-small">
      <span>{ends[0]}</span>
      <span class="vt-scale-bar" style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
      <span>{ends[1]}</span>
    </span>
  );
}

/** The words that are written, one after another; null where nothing is written, or too much. */
function stepsOf(room: Room, snapshot: Snapshot) {
  const { entries, mode, lit, pictureOf } = snapshot;
  const kind = entries.has("cross") ? "cross" : entries.has("decoder") ? "decoder" : null;
  if (!kind || mode === "wall") return null;
  const words = pictureOf(kind).queries;
  if (words.length > MOST_STEPS || words.length < 2) return null;
  const onStep = (query: number) => {
    if (lit.kind === "encoder") pinOfKind(room, { kind, query, key: null });
    else pin(room, { query, key: null });
  };
  return (
    <Timeline
      label="Written word"
      steps={words.map((word) => shortened(word, LETTERS))}
      at={lit.kind === "encoder" ? null : lit.query}
      onStep={onStep}
      kind="vt-of-query"
    />
  );
}

export default stageView<Traits>({
  name: "explorer",
  label: "Attention explorer",
  traits: TRAITS,
  whole: (change) => ("picture" in change ? { linked: false, wall: false, ...change } : change),
  draw: Explorer,
});
