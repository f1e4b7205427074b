// Figures of a page on a phone: one that is low enough stays in sight while the text below it is read.

const MOST = 0.65; // of the window: the text needs the rest
const FORMS = ".vt-prediction, .vt-exercise-form";

/** Have the figures of a page that leave room for text stay in sight; the style says from which width on not. */
export function keepFiguresInSight(): void {
  const bar = document.querySelector<HTMLElement>(".vt-site-bar");
  document.documentElement.style.setProperty("--above", `${bar?.offsetHeight ?? 0}px`);
  const observer = new ResizeObserver((changed) => {
    for (const { target, borderBoxSize } of changed) {
      const height = borderBoxSize[0]?.blockSize ?? 0;
      const stays = height > 0 && height < MOST * innerHeight && !target.querySelector(FORMS);
      target.closest(".code_cell")?.classList.toggle("vt-stays", stays);
    }
  });
  for (const figure of document.querySelectorAll(".vt-figure-and-text > .code_cell > .output_wrapper"))
    observer.observe(figure);
}
