// Runs the engine over cases that Python wrote: `node run_engine.mjs FOLDER`, for tests/support/engine.py.
//
// FOLDER holds a folder for each model and cases.json. Beside it stand results.json, and in results.bin
// the numbers of every array, float32 one after the other.

import { readFileSync, writeFileSync } from "node:fs";
import { UserError } from "../../viz_transformer/engine/errors.js";
import { forward, makeModel } from "../../viz_transformer/engine/model.js";
import { readSafetensors } from "../../viz_transformer/engine/safetensors.js";
import { openSteps } from "../../viz_transformer/engine/steps.js";

const folder = process.argv[2];
const [models, arrays] = [new Map(), []];
let length = 0;

function modelNamed(name) {
  if (!models.has(name)) {
    const config = JSON.parse(readFileSync(`${folder}/${name}/config.json`, "utf8"));
    models.set(name, makeModel(config, readSafetensors(readFileSync(`${folder}/${name}/model.safetensors`))));
  }
  return models.get(name);
}

/** Keep an array's numbers, and say where they are. */
function keep(data, shape) {
  arrays.push(Float32Array.from(data));
  length += data.length;
  return { first: length - data.length, shape };
}

const keepMatrix = (matrix) => matrix && keep(matrix.data, [matrix.rows, matrix.cols]);

function runForward(model, { source, target, options }) {
  const masks = Object.entries(options.masks ?? {}).map(([kind, mask]) => [kind, Uint8Array.from(mask)]);
  const output = forward(model, { source, target }, { ...options, masks: Object.fromEntries(masks) });
  const kinds = Object.entries(output.attention);
  return {
    logits: keepMatrix(output.logits),
    memory: keepMatrix(output.memory),
    vectors: keepMatrix(output.vectors),
    attention: Object.fromEntries(kinds.map(([kind, { shape, data }]) => [kind, keep(data, shape)])),
    watched: output.watched && keepWatched(output.watched),
  };
}

function keepWatched(watched) {
  const keepAny = (value) => {
    if (value === null || typeof value === "boolean") return value;
    if (Array.isArray(value)) return value.map(keepAny);
    return value.data ? keepMatrix(value) : keep(value, [value.length]);
  };
  return Object.fromEntries(Object.entries(watched).map(([name, value]) => [name, keepAny(value)]));
}

/** Take one step after the other: `walk` holds ids to read, and `select` the rows to go on with. */
function runSteps(model, { source, prompt, walk, options }) {
  const steps = openSteps(model, { source, prompt }, options);
  const [nLayers, nHeads] = [model.config.n_decoder_layers, model.config.n_heads];
  const keepHeads = (data) => data && keep(data, [nLayers, nHeads, data.length / nLayers / nHeads]);
  const taken = walk.map(({ ids, select }) => {
    if (select) steps.select(select);
    const logits = steps.step(ids).map((row) => keep(row, [row.length]));
    const attention = steps.attention?.map(({ decoder, cross }) => ({
      decoder: keepHeads(decoder),
      cross: keepHeads(cross),
    }));
    return { logits, attention };
  });
  const before = steps.promptAttention;
  return { taken, prompt: before && keep(before.data, before.shape) };
}

function run(each) {
  try {
    const model = modelNamed(each.model);
    return each.walk ? runSteps(model, each) : runForward(model, each);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { error: error.message };
  }
}

const results = JSON.parse(readFileSync(`${folder}/cases.json`, "utf8")).map(run);
const numbers = new Float32Array(length);
let at = 0;
for (const each of arrays) {
  numbers.set(each, at);
  at += each.length;
}
writeFileSync(`${folder}/results.bin`, numbers);
writeFileSync(`${folder}/results.json`, JSON.stringify(results));
