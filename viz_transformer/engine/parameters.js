// A model's parameters, taken one by one from its weights by torch's names, each with its shape checked.

import { UserError } from "./errors.js";
import { makeMatrix } from "./matrix.js";

/**
 * @typedef {Record<string, any>} Config config.json as it is: the fields of ModelConfig in viz_transformer/config
 * @typedef {Map<string, import("./safetensors.js").Tensor>} Weights
 */

/**
 * The numbers of a parameter.
 *
 * @param {Weights} weights
 * @param {string} name as in torch's state_dict
 * @param {number[]} shape that the configuration asks for
 * @returns {Float32Array}
 */
export function readParameter(weights, name, shape) {
  const found = weights.get(name);
  if (String(found?.shape) !== String(shape)) {
    throw new UserError(
      `the weights do not fit the configuration: ${name} is ${found ? written(found.shape) : "missing"}, ` +
        `expected ${written(shape)}; model.safetensors and config.json must come from one training`,
    );
  }
  return found.data;
}

/**
 * @param {Weights} weights
 * @returns {import("./matrix.js").Matrix}
 */
export function readMatrix(weights, name, rows, cols) {
  return makeMatrix(rows, cols, readParameter(weights, name, [rows, cols]));
}

/**
 * @param {Weights} weights
 * @returns {import("./matrix.js").Linear}
 */
export function readLinear(weights, name, nIn, nOut, bias = true) {
  return {
    weight: readMatrix(weights, `${name}.weight`, nOut, nIn),
    bias: bias ? readParameter(weights, `${name}.bias`, [nOut]) : null,
  };
}

/**
 * @param {Weights} weights
 * @returns {import("./matrix.js").Norm}
 */
export function readNorm(weights, name, config) {
  return {
    weight: readParameter(weights, `${name}.weight`, [config.d_model]),
    bias: readParameter(weights, `${name}.bias`, [config.d_model]),
    eps: config.layer_norm_eps,
  };
}

function written(shape) {
  return `[${shape.join(", ")}]`;
}
