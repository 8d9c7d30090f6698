// kl_stop: a batch's steps end once the policy is too far from the one that played.

import { drift } from "./reuse.js";

/** The diagnostics of the policy's own steps. */
export const OF_POLICY = [
  ...["policy_loss", "entropy", "grad_norm", "approx_kl", "max_ratio"],
  ...["clip_fraction", "clip_range", "bounded_fraction", "clip_high_fraction"],
];

/** approx_kl ≤ 1.5·target: whether the agent may take its step. Achiam 2018, Spinning Up's ppo. */
export function nearEnough(ratio, targetKl) {
  return drift(ratio).approx_kl <= 1.5 * targetKl;
}

/** Whether minibatch k came before the agent stood still, or stopped it. taken: 1 for each step taken, else 0. */
export function reached(taken, k) {
  return k === 0 || taken[k - 1] > 0;
}
