// The figure lab: controls, and a figure that Python draws for their values.

import { choice, element, listSlider, setText } from "../base/controls.ts";
import { pngAddress } from "../base/js/png.js";
import { createView } from "../base/view.ts";
import { NEEDS_KERNEL, connectKernel } from "../base/js/kernel.js";

/**
 * The places with one of them changed, as a new list.
 *
 * @param {number[]} places
 * @param {number} at
 * @param {number} place
 */
export function withPlace(places, at, place) {
  return places.map((each, index) => (index === at ? place : each));
}

/**
 * Whether two lists of places are the same.
 *
 * @param {number[]} a
 * @param {number[]} b
 */
export function samePlaces(a, b) {
  return a.length === b.length && a.every((place, at) => place === b[at]);
}

/** The controls; `update(places)` sets them, `onChange(at, place)` is called by the viewer. */
function addControls(parent, controls, onChange) {
  const parts = controls.map((control, at) => {
    if (control.kind !== "choice") return listSlider(parent, control, (place) => onChange(at, place));
    const options = control.texts.map((text, place) => [place, text]);
    return choice(parent, control.label, options, (place) => onChange(at, Number(place)));
  });
  return {
    update(places) {
      parts.forEach((part, at) => {
        part.set(places[at]);
      });
    },
  };
}

const LEAST_WIDTH = 480; // pixels; in fewer its letters cannot be read

function render({ model, el }) {
  const kernel = connectKernel(model);
  const label = "Picture with controls";
  const view = createView({ model, el, name: "figure-lab", label, traits: ["places"], draw });
  const controls = addControls(
    element(view.root, "div", "vt-figure-controls"),
    model.get("controls"),
    (at, place) => view.set({ places: withPlace(model.get("places"), at, place) }),
  );
  const problem = element(view.root, "p", "vt-problem", { role: "alert" });
  const box = element(view.root, "div", "vt-figure-box");
  const image = element(box, "img", "vt-figure");
  let [shown, asked, failure] = [null, null, ""];

  function show(reply, places) {
    shown = places;
    failure = "";
    image.src = pngAddress(reply.png);
    image.alt = reply.alt;
    image.width = reply.width;
    image.height = reply.height;
    image.style.minWidth = `${Math.min(reply.width, LEAST_WIDTH)}px`;
    view.root.dataset.shown = places.join(" ");
  }

  function request(places) {
    asked = places;
    kernel.latest(
      { places },
      (reply) => {
        show(reply, places);
        view.redraw();
      },
      ({ message }) => {
        failure = message === NEEDS_KERNEL ? `${message} This page knows each control moved alone.` : message;
        view.redraw();
      },
    );
  }

  function draw() {
    const places = model.get("places");
    controls.update(places);
    const first = model.get("first");
    if (!shown && samePlaces(first.places, places)) show(first, places);
    const newest = shown && samePlaces(shown, places);
    if (newest) [asked, failure] = [null, ""];
    else if (!(asked && samePlaces(asked, places))) request(places);
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
