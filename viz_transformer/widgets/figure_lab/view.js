// The figure lab: controls, and a picture that the function behind the view draws for them.

import { choice, element, setText } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import { NEEDS_KERNEL, connectKernel } from "../base/js/kernel.js";

/** The places with one of them changed; the old list stays. */
export function withPlace(places, at, place) {
  return places.map((each, index) => (index === at ? place : each));
}

/** Whether two lists of places are the same. */
export function samePlaces(a, b) {
  return a.length === b.length && a.every((place, at) => place === b[at]);
}

/** The bytes of a PNG file (a DataView) as an address: an exported page allows no other. */
export function pictureAddress(bytes) {
  const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces = [];
  for (let at = 0; at < view.length; at += 8192) {
    pieces.push(String.fromCharCode(...view.subarray(at, at + 8192)));
  }
  return `data:image/png;base64,${btoa(pieces.join(""))}`;
}

/** A slider over the places of a list: {node, set(place)}; `onInput(place)` hears the viewer. */
function listSlider(parent, { label, texts }, onInput) {
  const node = element(parent, "label", "vt-slider");
  element(node, "span").textContent = label;
  const input = element(node, "input", "", {
    type: "range",
    min: 0,
    max: texts.length - 1,
    step: 1,
    "aria-label": label,
    "data-lm-suppress-shortcuts": "true",
  });
  const shown = element(node, "output");
  const tell = (place) => {
    shown.textContent = texts[place];
    input.setAttribute("aria-valuetext", texts[place]);
  };
  input.addEventListener("input", () => {
    tell(Number(input.value));
    onInput(Number(input.value));
  });
  const set = (place) => {
    if (Number(input.value) !== place) input.value = place;
    tell(place);
  };
  return { node, set };
}

function render({ model, el }) {
  const kernel = connectKernel(model);
  const view = createView({
    model,
    el,
    name: "figure-lab",
    label: "Picture with controls",
    traits: ["places"],
    draw,
  });
  const controls = element(view.root, "div", "vt-figure-controls");
  const choose = (at, place) => view.set({ places: withPlace(model.get("places"), at, place) });
  const parts = model.get("controls").map((control, at) =>
    control.kind === "choice"
      ? choice(
          controls,
          control.label,
          control.texts.map((text, place) => [place, text]),
          (place) => choose(at, Number(place)),
        )
      : listSlider(controls, control, (place) => choose(at, place)),
  );
  const problem = element(view.root, "p", "vt-problem", { role: "alert" });
  const image = element(view.root, "img", "vt-figure");
  let [shown, asked, failure] = [null, null, ""];

  function show(reply, places) {
    shown = places;
    failure = "";
    image.src = pictureAddress(reply.png);
    image.alt = reply.alt;
    image.width = reply.width;
    image.height = reply.height;
    view.root.dataset.shown = places.join(" ");
  }

  function draw() {
    const places = model.get("places");
    parts.forEach((part, at) => part.set(places[at]));
    const first = model.get("first");
    if (!shown && samePlaces(first.places, places)) show(first, places);
    const newest = shown && samePlaces(shown, places);
    if (!newest && !(asked && samePlaces(asked, places))) {
      asked = places;
      kernel.latest(
        { places },
        (reply) => {
          show(reply, places);
          view.redraw();
        },
        (error) => {
          failure =
            error.message === NEEDS_KERNEL
              ? `${error.message} This page knows each control moved alone.`
              : error.message;
          view.redraw();
        },
      );
    }
    if (newest) [asked, failure] = [null, ""];
    view.root.dataset.stale = String(!newest);
    problem.hidden = !failure;
    setText(problem, failure);
  }

  return () => {
    kernel.close();
    view.close();
  };
}

export default { render };
