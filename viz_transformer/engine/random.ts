// Random numbers: the Mersenne Twister as Python's random.Random has it, so that a seed draws the same
// text in a notebook and in a page.
//
// Source: Matsumoto and Nishimura 1998, and their mt19937ar.c (2002): init_by_array, genrand_res53.

const STATE_SIZE = 624;
const MIDDLE = 397;

/** A generator of numbers from 0 up to 1, each with 53 random bits: `random.Random(seed).random`. */
export function makeRandom(seed: number): () => number {
  const state = seededBy(keyOf(seed));
  let at = STATE_SIZE;
  const next = () => {
    if (at === STATE_SIZE) {
      twist(state);
      at = 0;
    }
    return tempered(state[at++]);
  };
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** A whole number in pieces of 32 bits, the lowest first. */
function keyOf(seed: number) {
  const key = [];
  do {
    key.push(seed % 2 ** 32);
    seed = Math.floor(seed / 2 ** 32);
  } while (seed > 0);
  return key;
}

/** The state that a key of 32-bit numbers leads to (init_by_array). */
function seededBy(key: number[]) {
  const state = seededByNumber(19650218);
  let i = 1;
  const mix = (factor: number, added: number) => {
    state[i] = (state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), factor)) + added;
    i++;
    if (i < STATE_SIZE) return;
    state[0] = state[STATE_SIZE - 1];
    i = 1;
  };
  for (let step = 0; step < Math.max(STATE_SIZE, key.length); step++) {
    const j = step % key.length;
    mix(1664525, key[j] + j);
  }
  for (let step = 1; step < STATE_SIZE; step++) mix(1566083941, -i);
  state[0] = 0x80000000;
  return state;
}

function seededByNumber(seed: number) {
  const state = new Uint32Array(STATE_SIZE);
  state[0] = seed;
  for (let i = 1; i < STATE_SIZE; i++) {
    state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  }
  return state;
}

/** Replace the whole state by the next one. */
function twist(state: Uint32Array) {
  for (let i = 0; i < STATE_SIZE; i++) {
    const joined = (state[i] & 0x80000000) | (state[(i + 1) % STATE_SIZE] & 0x7fffffff);
    state[i] = state[(i + MIDDLE) % STATE_SIZE] ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
  }
}

function tempered(value: number) {
  value ^= value >>> 11;
  value ^= (value << 7) & 0x9d2c5680;
  value ^= (value << 15) & 0xefc60000;
  return value ^ (value >>> 18);
}
