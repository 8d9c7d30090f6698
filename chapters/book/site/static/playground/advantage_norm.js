// advantage_norm: advantages are standardized per minibatch, so their scale does not reach the policy's gradient.

import { mean, spread } from "./reductions.js";

/** (A − mean)/(std + ε), with the unbiased std. [B]. Andrychowicz et al. 2020, arXiv:2006.05990, C67. */
export function standardize(advantage, eps = 1e-8) {
  const [center, rows] = [mean(advantage), advantage.length];
  const std = Math.sqrt((spread(advantage) * rows) / Math.max(1, rows - 1));
  return advantage.map((a) => (a - center) / (std + eps));
}
