// Weights from the bytes of a .safetensors file.
//
// Eight bytes that say how long a header is, the header in JSON, then the numbers of each tensor.
// Source: https://github.com/huggingface/safetensors#format

import { UserError } from "./errors.ts";

export interface Tensor {
  shape: number[];
  /** In C order: the last axis runs fastest. */
  data: Float32Array;
}

/** A tensor as the header describes it. */
interface Stored {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** How the numbers of each type are read; bytes are little-endian, wherever the page runs. */
const NUMBER_READERS: Record<string, { size: number; read: (bytes: DataView, at: number) => number }> = {
  F32: { size: 4, read: (bytes, at) => bytes.getFloat32(at, true) },
  F16: { size: 2, read: (bytes, at) => halfPrecision(bytes.getUint16(at, true)) },
};

/** Read every tensor, by its name. */
export function readSafetensors(bytes: DataView | Uint8Array): Map<string, Tensor> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tensors = new Map<string, Tensor>();
  try {
    const start = 8 + Number(view.getBigUint64(0, true));
    const header: Record<string, Stored> = JSON.parse(new TextDecoder().decode(part(view, 8, start)));
    for (const [name, tensor] of Object.entries(header)) {
      if (name === "__metadata__") continue;
      const [first, end] = tensor.data_offsets;
      tensors.set(name, readTensor(name, tensor, part(view, start + first, start + end)));
    }
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { message } = error as Error;
    throw new UserError(
      `the weights are truncated or damaged (${message}); copy the whole model.safetensors again`,
    );
  }
  return tensors;
}

function part(view: DataView, first: number, end: number) {
  // The bytes may be a part of a larger buffer, which would go on where they end.
  if (end > view.byteLength) throw new RangeError(`${view.byteLength} bytes of at least ${end} are there`);
  return new DataView(view.buffer, view.byteOffset + first, end - first);
}

function readTensor(name: string, { dtype, shape }: Stored, bytes: DataView) {
  const reader = NUMBER_READERS[dtype];
  if (!reader) {
    throw new UserError(
      `the weight ${name} is ${dtype}, but only F32 and F16 are read here; save the model as float32`,
    );
  }
  const data = new Float32Array(bytes.byteLength / reader.size);
  for (let i = 0; i < data.length; i++) data[i] = reader.read(bytes, i * reader.size);
  return { shape, data };
}

/** The number that sixteen bits stand for: a sign, five bits of exponent, ten of fraction (IEEE 754). */
function halfPrecision(bits: number) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
