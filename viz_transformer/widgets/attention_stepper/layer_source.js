// The layer that the view shows: the one that it was made with, or one that the kernel sent since.

import { unpackSteps } from "./attention_math.js";

/** @typedef {{ text?: string, kind?: string, layer?: number }} Place a sentence, and a layer of the model */

/**
 * The layers of a view. `current()` returns the layer of the traits, or the first one while another
 * is on its way; `request(change)` asks for another sentence, kind or layer.
 *
 * @param {import("../base/js/kernel.js").Model} model
 * @param {ReturnType<typeof import("../base/js/kernel.js").connectKernel>} kernel
 * @param {{ onLayer: (place: Place) => void, onError: (message: string) => void }} listeners
 * @returns {{ current: () => import("./attention_math.js").Layer, request: (change: Place) => void }}
 */
export function layerSource(model, kernel, { onLayer, onError }) {
  let [received, unpacked, unpackedFrom, missing] = [null, null, null, ""];

  const place = () => ({ text: model.get("text"), kind: model.get("kind"), layer: model.get("layer") });

  function request(change) {
    const asked = { ...place(), ...change };
    kernel.latest(
      asked,
      (reply) => {
        received = reply;
        onLayer(asked);
      },
      (error) => onError(error.message),
    );
  }

  function current() {
    const { text, kind, layer } = place();
    const fits = (data) => data?.text === text && data.kind === kind && data.layer === layer;
    const known = [model.get("data"), received].find(fits);
    const key = JSON.stringify([text, kind, layer]);
    if (!known && missing !== key) request({}); // a tour sets another place without its numbers
    missing = known ? "" : key;
    const data = known ?? model.get("data");
    if (unpackedFrom !== data) [unpackedFrom, unpacked] = [data, unpackSteps(data)];
    return unpacked;
  }

  return { current, request };
}
