// Presenting: a view fills the screen, or where its host forbids that the window, until Escape is pressed.

const CLASS = "vt-presenting";

/** While it is presented, what ends that: on its root, so that the bundles of all views inside find it. */
interface Root extends HTMLElement {
  vtEnd?: () => void;
}

export const isPresented = (node: Element | null): boolean => Boolean(node?.closest(`.${CLASS}`));

/** The view around a node that no other view is around. */
function outermost(node: Element): Root {
  const root = node.closest<Root>(".vt-root")!;
  return root.parentElement?.closest(".vt-root") ? outermost(root.parentElement) : root;
}

/** Has the outermost view around a node fill the screen, or stand in the page again. */
export function togglePresented(node: Element): void {
  const root = outermost(node);
  if (root.vtEnd) return void root.vtEnd();
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) root.vtEnd?.();
  };
  const onScreen = () => {
    if (!document.fullscreenElement) root.vtEnd?.(); // ended by the browser
  };
  root.vtEnd = () => {
    delete root.vtEnd;
    root.classList.remove(CLASS);
    document.removeEventListener("keydown", onKey);
    document.removeEventListener("fullscreenchange", onScreen);
    if (document.fullscreenElement === root) document.exitFullscreen();
    globalThis.dispatchEvent(new Event("resize")); // to all views it is a window of another size
  };
  root.classList.add(CLASS);
  document.addEventListener("keydown", onKey);
  document.addEventListener("fullscreenchange", onScreen);
  root.requestFullscreen?.().catch(() => {}); // refused, it still fills the window
  globalThis.dispatchEvent(new Event("resize"));
}
