// The layer that the view shows: the one that it was made with, or one that the kernel sent since.

import type { connectKernel, Model } from "../base/kernel.ts";
import { type Layer, type SentLayer, unpackSteps } from "../base/head/arithmetic.ts";

/** A sentence, and a layer of the model. */
export interface Place {
  text?: string;
  kind?: string;
  layer?: number;
}

interface Listeners {
  onLayer: (place: Place) => void;
  onError: (message: string) => void;
}

/**
 * The layers of a view. `current()` returns the layer of the traits, or the first one while another
 * is on its way; `request(change)` asks for another sentence, kind or layer.
 */
export function layerSource(
  model: Model,
  kernel: ReturnType<typeof connectKernel>,
  { onLayer, onError }: Listeners,
) {
  let received: SentLayer | null = null;
  let [unpacked, unpackedFrom, missing]: [Layer | null, object | null, string] = [null, null, ""];

  const place = () => ({ text: model.get("text"), kind: model.get("kind"), layer: model.get("layer") });

  function request(change: Place): void {
    const asked = { ...place(), ...change };
    kernel.latest(
      asked,
      (reply: SentLayer) => {
        received = reply;
        onLayer(asked);
      },
      (error: Error) => onError(error.message),
    );
  }

  function current(): Layer {
    const { text, kind, layer } = place();
    const known = [model.get("data"), received].find(
      (data) => data?.text === text && data.kind === kind && data.layer === layer,
    );
    const key = JSON.stringify([text, kind, layer]);
    if (!known && missing !== key) request({}); // a tour sets another place without its numbers
    missing = known ? "" : key;
    const data = known ?? model.get("data");
    if (!unpacked || unpackedFrom !== data) [unpackedFrom, unpacked] = [data, unpackSteps(data)];
    return unpacked;
  }

  return { current, request };
}
