// Figures of a page on a phone stay in sight while the text below them is read: those that are low enough, and
// of what stands on a stage, which mostly is not, the headline and the picture.

const MOST = 0.65; // of the window: the text needs the rest
const MARGIN = 8;
const FORMS = ".vt-prediction, .vt-exercise-form";

/** What stays of a figure, from its top and from its bottom, in pixels; null if nothing does. */
function cutOf(cell: HTMLElement, figure: Element): [above: number, below: number] | null {
  const whole = cell.getBoundingClientRect();
  const room = MOST * innerHeight;
  if (!whole.height || figure.querySelector(FORMS)) return null;
  if (whole.height < room) return [0, 0];
  const [headline, picture] = [".vt-headline", ".vt-picture"].map((part) =>
    cell.querySelector(part)?.getBoundingClientRect(),
  );
  if (!headline || !picture || picture.bottom - headline.top > room) return null;
  return [headline.top - whole.top - MARGIN, whole.bottom - picture.bottom - MARGIN];
}

/** Have the figures of a page that leave room for text stay in sight; the style says from which width on not. */
export function keepFiguresInSight(): void {
  const bar = document.querySelector<HTMLElement>(".vt-site-bar");
  const above = bar?.offsetHeight ?? 0;
  document.documentElement.style.setProperty("--above", `${above}px`);
  const cuts = new Map<HTMLElement, number>();

  /** What is cut off is so once the rest has come to its place: before, all of the figure is there to be used. */
  function show(): void {
    for (const [cell, cut] of cuts)
      cell.classList.toggle("vt-shortened", cell.getBoundingClientRect().top <= above - cut);
  }

  const observer = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      const cell = target.closest<HTMLElement>(".code_cell");
      if (!cell) continue;
      const cut = cutOf(cell, target);
      cell.classList.toggle("vt-stays", cut !== null);
      cell.style.setProperty("--cut-above", `${cut?.[0] ?? 0}px`);
      cell.style.setProperty("--cut-below", `${cut?.[1] ?? 0}px`);
      if (cut?.some(Boolean)) cuts.set(cell, cut[0]);
      else cuts.delete(cell);
    }
    show();
  });
  addEventListener("scroll", show, { passive: true });
  for (const figure of document.querySelectorAll(".vt-figure-and-text > .code_cell > .output_wrapper"))
    observer.observe(figure);
}
