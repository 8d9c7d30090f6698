// advantage_norm: advantages are standardized per minibatch, so their scale does not reach the policy's gradient.

import { mean } from "./reductions.js";

/** (A − mean)/(std + ε), with the unbiased std. [B]. Andrychowicz et al. 2020, arXiv:2006.05990, C67. */
export function standardize(advantage, eps = 1e-8) {
  const center = mean(advantage);
  const squares = advantage.reduce((sum, a) => sum + (a - center) ** 2, 0);
  const std = Math.sqrt(squares / Math.max(1, advantage.length - 1));
  return advantage.map((a) => (a - center) / (std + eps));
}
