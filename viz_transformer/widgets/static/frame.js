// What every view stands in: its root, its theme, one frame for whatever changes, its farewell.

import { measurer } from "./canvas.js";
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
  const stops = [];
  let [frame, theme, drawn] = [null, null, 0];

  function redraw() {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      if (!root.clientWidth) return; // not on the page, or hidden: the observer asks again
      theme ??= dress(root);
      const style = getComputedStyle(root);
      const width = root.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
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
    model.save_changes();
    redraw();
  }

  for (const trait of traits) {
    model.on(`change:${trait}`, redraw);
    stops.push(() => model.off(`change:${trait}`, redraw));
  }
  stops.push(watchTheme(() => {
    theme = null;
    redraw();
  }));
  const observer = new ResizeObserver(redraw);
  observer.observe(root);
  addAbout(root, model);
  redraw();

  function close() {
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
