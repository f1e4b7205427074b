// Paper: nothing on it can be scrolled, so what is wider than its box is printed smaller.

/** Make all that is scrolled sideways as narrow as its box, or as wide again as it was. */
export function fitPaper(root: HTMLElement, printing: boolean) {
  for (const part of root.querySelectorAll("[data-vt-printed]")) {
    part.removeAttribute("data-vt-printed");
    (part as HTMLElement).style.zoom = "";
  }
  if (!printing) return;
  const wide = Array.from(root.querySelectorAll("*")).filter(
    (box) => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto",
  );
  for (const box of wide) {
    const zoom = String(box.clientWidth / box.scrollWidth);
    for (const part of box.children as HTMLCollectionOf<HTMLElement>) {
      part.style.zoom = zoom;
      part.dataset.vtPrinted = "";
    }
  }
}
