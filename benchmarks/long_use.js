// A view used as by a hand that knows nothing of it: seeded clicks, keys and sliders.
//
// Runs in the page, where a test or a benchmark puts it; `useAtRandom` is what they call.

const KEYS = "ArrowUp ArrowDown ArrowLeft ArrowRight Home End PageUp PageDown Enter Escape + - 0 a".split(" ");
const WORDS = "the cat dog is black white wide sleeps el gato negro 1 0.5 8 [?] …".split(" ");
const TARGETS = "button, input, select, textarea, canvas, svg, [tabindex], [role=row], td";
const PER_FRAME = 10; // more than any hand does

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Interact `times` with what can be seen of a view.
 *
 * @param {Element} root
 * @param {number} seed
 * @param {number} times
 */
export async function useAtRandom(root, seed, times) {
  const random = randomFrom(seed);
  /** @template T @param {ArrayLike<T>} list @returns {T} */
  const oneOf = (list) => list[Math.floor(random() * list.length)];
  for (let done = 0; done < times; done++) {
    const seen = Array.from(root.querySelectorAll(TARGETS)).filter(
      (node) => node.checkVisibility() && !(/** @type {HTMLButtonElement} */ (node).disabled),
    );
    // First everything twice in its order, so that what is made when it is first needed is there.
    const node = done < 2 * seen.length ? seen[done % seen.length] : oneOf(seen);
    if (node) interact(/** @type {HTMLInputElement} */ (node), random, oneOf);
    if (done % PER_FRAME === 0) await new Promise(requestAnimationFrame);
  }
}

function interact(node, random, oneOf) {
  /** @param {string} type @param {new (type: string, given: any) => Event} Kind */
  const tell = (type, Kind = Event, more = {}) =>
    node.dispatchEvent(new Kind(type, { bubbles: true, cancelable: true, ...more }));
  if (node.matches("input[type=checkbox], input[type=radio]")) return node.click();
  if (node.matches("input, textarea, select")) {
    if (node.matches("select")) node.value = oneOf(node.options).value;
    else if (node.type === "range")
      node.value = String(Number(node.min) + random() * (Number(node.max) - Number(node.min)));
    else node.value = Array.from({ length: 1 + Math.floor(4 * random()) }, () => oneOf(WORDS)).join(" ");
    tell("input");
    tell("change");
    return tell("keydown", KeyboardEvent, { key: "Enter" });
  }
  if (node.matches("button")) return node.click();
  const box = node.getBoundingClientRect();
  const at = {
    clientX: box.left + random() * box.width,
    clientY: box.top + random() * box.height,
    pointerId: 1,
    buttons: 1,
  };
  const gestures = [
    () => tell("keydown", KeyboardEvent, { key: oneOf(KEYS) }),
    () => tell("pointermove", PointerEvent, { ...at, buttons: 0 }),
    () => tell("click", PointerEvent, at),
    () => tell("wheel", WheelEvent, { ...at, ctrlKey: true, deltaY: 200 * (random() - 0.5) }),
    () => ["pointerdown", "pointermove", "pointerup"].map((type) => tell(type, PointerEvent, at)),
    () => ["pointerover", "pointerleave"].map((type) => tell(type, PointerEvent, at)),
    () => node.focus?.({ preventScroll: true }),
  ];
  oneOf(gestures)();
}

/** How many frames a view, and those inside it, have drawn. */
function framesDrawn(root) {
  const views = [root, ...root.querySelectorAll("[data-vt-drawn]")];
  return views.reduce((sum, { dataset }) => sum + Number(dataset.vtDrawn), 0);
}

/** Wait until the view has drawn nothing for so many frames. */
export async function untilStill(root, frames = 20) {
  let [drawn, still] = [framesDrawn(root), 0];
  while (still < frames) {
    await new Promise(requestAnimationFrame);
    const now = framesDrawn(root);
    still = now === drawn ? still + 1 : 0;
    drawn = now;
  }
}
