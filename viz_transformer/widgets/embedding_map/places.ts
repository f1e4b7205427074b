// Where points and their names stand on the map, and which a pointer or a key goes to. No DOM.

export type Place = readonly [x: number, y: number];

/** What is seen of the plane: the point in the middle, and how far it reaches to each side. */
export interface Camera {
  middle: Place;
  reach: Place;
}

const MARGIN = 24; // pixels around the points

/** The whole plane, each axis as long as the room; zoomed in, a token is in the middle. */
export function cameraOf(points: Float32Array, index: number, zoom: number): Camera {
  const ends = [0, 1].map((axis) => {
    const all = points.filter((_, i) => i % 2 === axis);
    return [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))] as const;
  });
  const middle = ends.map(([low, high], axis) => (zoom > 1 ? points[2 * index + axis]! : (low + high) / 2));
  const reach = ends.map(([low, high]) => Math.max(1e-9, (high - low) / 2) / zoom);
  return { middle: middle as [number, number], reach: reach as [number, number] };
}

/** Where each point stands in a room. */
export function pixelsOf(
  points: Float32Array,
  camera: Camera,
  room: { width: number; height: number },
): Place[] {
  const [half, tall] = [room.width / 2, room.height / 2];
  const { middle, reach } = camera;
  return Array.from({ length: points.length / 2 }, (_, i) => [
    half + ((points[2 * i]! - middle[0]) / reach[0]) * (half - MARGIN),
    tall - ((points[2 * i + 1]! - middle[1]) / reach[1]) * (tall - MARGIN),
  ]);
}

/** Where a line from a place in the room to another one ends: there, or just before it would leave the room. */
export function endOfLine(from: Place, to: Place, room: { width: number; height: number }): Place {
  const share = [room.width, room.height].map((size, axis) => {
    const away = to[axis]! - from[axis]!;
    const edge = away > 0 ? size - MARGIN / 2 : MARGIN / 2;
    return away ? Math.max(0, (edge - from[axis]!) / away) : 1;
  });
  const least = Math.min(1, ...share);
  return [from[0] + least * (to[0] - from[0]), from[1] + least * (to[1] - from[1])];
}

/** A name to be placed beside its point. */
export interface Name {
  index: number;
  width: number;
  /** Whether it stands somewhere in any case, further away if need be. */
  isNeeded: boolean;
}

export interface PlacedName {
  index: number;
  left: number;
  /** The middle of its line. */
  y: number;
}

/**
 * Places for names, none on another one: right of the point, left, above or below; those that are needed further
 * away, where nothing is free beside the point.
 *
 * @param size the height of a line
 */
export function placeNames(
  names: readonly Name[],
  pixels: readonly Place[],
  room: { width: number; height: number },
  size: number,
): PlacedName[] {
  const taken: { left: number; right: number; y: number }[] = [];
  const isFree = (left: number, right: number, y: number) =>
    left >= 0 &&
    right <= room.width &&
    y >= size / 2 &&
    y <= room.height - size / 2 &&
    taken.every((other) => Math.abs(other.y - y) >= size || right < other.left || left > other.right);
  return names.flatMap(({ index, width, isNeeded }) => {
    const [x, y] = pixels[index]!;
    const sides: Place[] = [
      [x + 8, y],
      [x - 8 - width, y],
      [x - width / 2, y - size],
      [x - width / 2, y + size],
    ];
    const most = isNeeded ? 4 * Math.ceil(room.height / size) : 0;
    const further = Array.from({ length: most }, (_, i): Place => {
      const down = (i % 2 ? -1 : 1) * (2 + (i >> 2)) * size;
      return [i % 4 < 2 ? x + 8 : x - 8 - width, y + down];
    });
    const place = [...sides, ...further].find(([left, at]) => isFree(left, left + width, at));
    if (!place) return [];
    const [left, at] = place;
    taken.push({ left: left - 4, right: left + width + 4, y: at });
    return [{ index, left, y: at }];
  });
}

/** The point nearest to a place on the screen, or -1 if none is within `reach` pixels. */
export function pointAt(pixels: readonly Place[], [x, y]: Place, reach: number): number {
  let [best, closest] = [-1, reach];
  pixels.forEach(([px, py], i) => {
    const distance = Math.hypot(px - x, py - y);
    if (distance < closest) [best, closest] = [i, distance];
  });
  return best;
}

const DIRECTIONS: Record<string, Place> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The point that an arrow key goes to: the nearest within 45 degrees of its direction; -1 if there is none. */
export function pointBeside(pixels: readonly Place[], from: number, key: string): number {
  const direction = DIRECTIONS[key];
  const start = pixels[from];
  if (!direction || !start) return -1;
  let [best, closest] = [-1, Number.POSITIVE_INFINITY];
  pixels.forEach(([px, py], i) => {
    const [right, down] = [px - start[0], py - start[1]];
    const along = right * direction[0] + down * direction[1];
    const aside = Math.abs(right * direction[1]) + Math.abs(down * direction[0]);
    const distance = Math.hypot(right, down);
    if (along > 0 && aside <= along && distance < closest) [best, closest] = [i, distance];
  });
  return best;
}
