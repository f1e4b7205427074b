// What every view stands in: its root, its theme, one frame for whatever changes, its farewell.

import { measurer } from "./canvas.js";
import { shareKeys } from "./cell_keys.js";
import { isDark, readTheme, watchTheme } from "./colour.js";
import { button, element, uniqueId } from "./controls.js";

/**
 * Open a view inside `el`; give `close` back from render().
 *
 * Whatever changes (a trait of `traits`, the theme, the width) asks for a frame, and one call of
 * `draw({ theme, width })` draws it all. `root.dataset.vtDrawn` counts the frames drawn.
 */
export function openView({ model, el, name, label, traits, draw }) {
  const root = element(el, "div", `vt vt-${name}`, { role: "group", "aria-label": label });
  const stops = [shareKeys(root)];
  let [frame, theme, drawn, width, unsaved] = [null, null, 0, 0, false];

  function redraw() {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      if (unsaved) setTimeout(save);
      if (!width) return; // not on the page, or hidden: the observer asks again
      theme ??= dress(root);
      draw({ theme, width });
      root.dataset.vtDrawn = String(++drawn);
    });
  }

  function listen(target, type, handler) {
    target.addEventListener(type, handler);
    stops.push(() => target.removeEventListener(type, handler));
  }

  function set(change) {
    for (const [trait, value] of Object.entries(change)) model.set(trait, value);
    unsaved = true;
    redraw();
  }

  /** Tell Python what was chosen: after the frame that shows it, for the notebook answers with work of its own. */
  function save() {
    if (unsaved) model.save_changes();
    unsaved = false;
  }

  for (const trait of traits) {
    model.on(`change:${trait}`, redraw);
    stops.push(() => model.off(`change:${trait}`, redraw));
  }
  stops.push(
    watchTheme(() => {
      theme = null;
      redraw();
    }),
  );
  // It tells the width, so that no frame need ask for it; a height follows from what is drawn.
  const observer = new ResizeObserver((sizes) => {
    const now = sizes.at(-1).contentRect.width;
    if (now === width) return;
    width = now;
    redraw();
  });
  observer.observe(root);
  addAbout(root, model);

  function close() {
    save();
    observer.disconnect();
    stops.forEach((stop) => stop());
    if (frame) cancelAnimationFrame(frame);
    root.remove();
  }

  return { root, redraw, set, listen, close };
}

/** Read the colours and fonts of the page, once a theme. */
function dress(root) {
  delete root.dataset.theme;
  root.dataset.theme = isDark(root) ? "dark" : "light"; // the style sheet's accents follow it
  const theme = readTheme(root);
  const measures = new Map();
  theme.measure = (text, size, bold) => {
    const font = `${bold ? 700 : 400} ${size}px ${theme.family}`;
    if (!measures.has(font)) measures.set(font, measurer(font));
    return measures.get(font)(text);
  };
  return theme;
}

/** A button that tells what the view shows, and hides it again. */
function addAbout(root, model) {
  const place = element(root, "div", "vt-about");
  const id = uniqueId();
  const asked = button(place, "What am I looking at?", () => {
    const open = text.hidden;
    text.textContent = model.get("about") ?? "";
    text.hidden = !open;
    asked.setAttribute("aria-expanded", String(open));
  });
  asked.setAttribute("aria-expanded", "false");
  asked.setAttribute("aria-controls", id);
  const text = element(place, "p", "", { id });
  text.hidden = true;
}
