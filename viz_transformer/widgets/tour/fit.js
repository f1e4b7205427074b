// The size at which a presented view fills the screen and is still seen whole.

const [LEAST, MOST] = [0.6, 2.5];
const COMFORTABLE = 800; // pixels of a view's own; narrower ones put their parts under each other
const STEP = 0.05;

/**
 * How much a view may be enlarged at first.
 *
 * @param {{width: number, height: number}} room in pixels of the screen
 * @param {number} height of the view at its own size
 */
export function firstZoom({ width, height: room }, height) {
  const fits = Math.min(MOST, room / height, Math.max(1, width / COMFORTABLE));
  return Math.max(LEAST, Math.floor(fits * 20) / 20);
}

/**
 * Enlarge what stands in `stage` as far as it is seen whole under `panel`: {start, stop}.
 *
 * How high a view is at another size is known once it is drawn, so it begins with a guess, and is
 * made smaller as long as it sticks out. A view is as high as the room below the caption allows, so
 * a caption of another height is told to it as a window of another height would be.
 *
 * @param {HTMLElement} stage
 * @param {HTMLElement} panel
 */
export function addFit(stage, panel) {
  let [zoom, guessed] = [1, false];
  let windowSize = "";

  const setZoom = (next) => {
    zoom = next;
    stage.style.zoom = String(zoom);
  };
  const room = () => ({
    width: globalThis.innerWidth,
    height: globalThis.innerHeight - panel.getBoundingClientRect().height,
  });
  const heightNow = () => stage.getBoundingClientRect().height; // in pixels of the screen

  function fit() {
    if (!guessed) {
      guessed = true;
      stage.dataset.fitted = "true";
      setZoom(firstZoom(room(), heightNow() / zoom));
      return;
    }
    const sticksOut = heightNow() > room().height + 1 || stage.scrollWidth > stage.clientWidth + 1;
    if (sticksOut && zoom > LEAST) setZoom(Math.max(LEAST, zoom - STEP));
  }
  // A view draws in the frame after it has learnt its size: only then is its height known.
  const fitOnceDrawn = () => requestAnimationFrame(() => requestAnimationFrame(fit));
  const observer = new ResizeObserver(fitOnceDrawn);
  const captionObserver = new ResizeObserver(() => globalThis.dispatchEvent(new Event("resize")));
  const begin = () => {
    const size = `${globalThis.innerWidth} x ${globalThis.innerHeight}`;
    if (size === windowSize) return;
    windowSize = size;
    guessed = false;
    delete stage.dataset.fitted;
    setZoom(1);
    fitOnceDrawn();
  };

  return {
    start() {
      windowSize = "";
      begin();
      observer.observe(stage);
      captionObserver.observe(panel);
      globalThis.addEventListener("resize", begin);
    },
    stop() {
      observer.disconnect();
      captionObserver.disconnect();
      globalThis.removeEventListener("resize", begin);
      stage.style.zoom = "";
    },
  };
}
