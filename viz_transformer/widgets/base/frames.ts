// When a view draws: once in a frame while it can be seen. Out of sight it draws when the page has
// nothing better to do, and gives its canvases' memory back, so that a notebook may have a hundred views.

const NEAR = "50%"; // of the screen, above and below it: a view is drawn before it comes into sight

/**
 * The frames of a view: {request, close}.
 *
 * @param draw called at most once in a frame, however often one is requested
 * @param handlers.onEmptied the canvases are empty: the next frame draws all of them
 * @param handlers.onPrint the next frame is for paper, or for the screen again
 */
export function addFrames(
  root: Element,
  draw: () => void,
  { onEmptied, onPrint }: { onEmptied: () => void; onPrint: (printing: boolean) => void },
) {
  let [near, wanted, empty] = [false, false, true];
  let cancel: (() => void) | null = null;

  function request() {
    wanted = true;
    cancel ??= (near ? inNextFrame : inIdleTime)(run);
  }

  function run() {
    cancel = null;
    if (wanted) {
      [wanted, empty] = [false, false];
      draw();
    }
    if (!near && !empty) emptyCanvases();
  }

  /** A canvas of no pixels needs no memory; its style keeps its size on the page. */
  function emptyCanvases() {
    for (const canvas of root.querySelectorAll("canvas")) [canvas.width, canvas.height] = [0, 0];
    empty = true;
    onEmptied();
  }

  function setNear(now: boolean) {
    if (now === near) return;
    near = now;
    cancel?.();
    cancel = null;
    if (wanted || (near && empty)) request();
    else if (!near) cancel = inIdleTime(run); // it may come back at once
  }

  // `scrollMargin` is that of a notebook, which scrolls inside the page.
  const options = { rootMargin: NEAR, scrollMargin: NEAR } as IntersectionObserverInit;
  const observer = new IntersectionObserver(
    (changes) => setNear(changes[changes.length - 1].isIntersecting),
    options,
  );
  observer.observe(root);

  // A printed page shows all views, whatever is on the screen, and draws no frames of its own.
  function print({ type }: Event) {
    const printing = type === "beforeprint";
    observer.disconnect();
    onPrint(printing);
    request();
    if (!printing) return observer.observe(root); // which reports at once
    cancel?.();
    near = true;
    run();
  }
  for (const type of PRINT_EVENTS) globalThis.addEventListener(type, print);

  return {
    request,
    close() {
      for (const type of PRINT_EVENTS) globalThis.removeEventListener(type, print);
      observer.disconnect();
      cancel?.();
    },
  };
}

const PRINT_EVENTS = ["beforeprint", "afterprint"];

function inNextFrame(draw: () => void) {
  const frame = requestAnimationFrame(draw);
  return () => cancelAnimationFrame(frame);
}

function inIdleTime(draw: () => void) {
  if (!globalThis.requestIdleCallback) return inNextFrame(draw); // not in every browser
  const idle = requestIdleCallback(draw);
  return () => cancelIdleCallback(idle);
}
