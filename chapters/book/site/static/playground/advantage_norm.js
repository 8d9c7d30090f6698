// advantage_norm: advantages are standardized per minibatch, so their scale does not reach the policy's gradient.

import { mean, spread } from "./reductions.js";

/** (A − mean)/(std + ε), with the unbiased std. [B]. Andrychowicz et al. 2020, arXiv:2006.05990, C67. */
export function standardize(advantage, eps = 1e-8) {
  const [center, std] = [mean(advantage), deviation(advantage)];
  return advantage.map((a) => (a - center) / (std + eps));
}

/** The unbiased standard deviation of x [B], 0 of a single row. */
export function deviation(x) {
  return Math.sqrt((spread(x) * x.length) / Math.max(1, x.length - 1));
}
