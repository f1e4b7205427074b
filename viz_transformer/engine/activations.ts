// The activation functions of the feed-forward network, by the names of a configuration.

export const ACTIVATIONS: Record<string, (x: number) => number> = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x / 2) * (1 + errorFunction(x / Math.SQRT2)),
  gelu_tanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/**
 * erf(x), to 1.5e-7: as near as a float32 comes.
 *
 * Source: Abramowitz and Stegun 1964, "Handbook of Mathematical Functions", formula 7.1.26.
 */
function errorFunction(x: number) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const polynomial =
    ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - polynomial * Math.exp(-x * x));
}
