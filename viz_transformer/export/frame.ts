// A page in a frame of another page, such as a course's: it tells its height, and listens to nobody.

/** Whether this page stands in a frame. */
export const isFramed = (): boolean => globalThis.parent !== globalThis.self;

/**
 * Tell the page around this one how high this one is, now and whenever that changes. Anyone may know it.
 *
 * The frame is then as high as the page, so views must not be as high as the frame: `heightInSight` reads
 * `data-framed`.
 */
export function tellHeight(): void {
  if (!isFramed() || document.documentElement.dataset.framed === "") return; // a page of a site has two scripts
  document.documentElement.dataset.framed = "";
  let told = 0;
  const observer = new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    parent.postMessage({ "viz-transformer": { height } }, "*");
  });
  observer.observe(document.body);
}
