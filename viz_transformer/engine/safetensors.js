// Weights from the bytes of a .safetensors file.
//
// Eight bytes that say how long a header is, the header in JSON, then the numbers of each tensor.
// Source: https://github.com/huggingface/safetensors#format

import { decodeWeights } from "../widgets/base/js/weights.js";
import { UserError } from "./errors.js";

/**
 * @typedef {object} Tensor
 * @property {number[]} shape
 * @property {Float32Array} data in C order: the last axis runs fastest
 */

const NUMBER_TYPES = { F32: "float32", F16: "float16" };

/**
 * Read every tensor, by its name.
 *
 * @param {DataView | Uint8Array} bytes
 * @returns {Map<string, Tensor>}
 */
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tensors = new Map();
  try {
    const start = 8 + Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(part(view, 8, start)));
    for (const [name, tensor] of Object.entries(header)) {
      if (name === "__metadata__") continue;
      const [first, end] = tensor.data_offsets;
      tensors.set(name, readTensor(name, tensor, part(view, start + first, start + end)));
    }
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { message } = /** @type {Error} */ (error);
    throw new UserError(
      `the weights are truncated or damaged (${message}); copy the whole model.safetensors again`,
    );
  }
  return tensors;
}

function part(view, first, end) {
  return new DataView(view.buffer, view.byteOffset + first, end - first);
}

function readTensor(name, { dtype, shape }, bytes) {
  if (!NUMBER_TYPES[dtype]) {
    throw new UserError(
      `the weight ${name} is ${dtype}, but only F32 and F16 are read here; save the model as float32`,
    );
  }
  return { shape, data: decodeWeights(bytes, NUMBER_TYPES[dtype]) };
}
