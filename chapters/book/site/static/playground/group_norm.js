// group_norm: advantages in units of the group's standard deviation, as in GRPO.

import { inGroups, ofReplies } from "./group_baseline.js";

/** (Rᵢ − mean)/(σ + ε) of each group, from the leave-one-out advantages: [B]. Shao et al. 2024, arXiv:2402.03300. */
export function inDeviations(advantage, rollout, size, eps = 1e-4) {
  const found = inGroups(ofReplies(advantage, rollout), size, (group) => {
    const centered = group.map((one) => (one * (size - 1)) / size);
    const sigma = Math.sqrt(centered.reduce((sum, one) => sum + one * one, 0) / (size - 1));
    return centered.map((one) => one / (sigma + eps));
  });
  return Float64Array.from(rollout.lane, (lane) => found[lane]);
}
