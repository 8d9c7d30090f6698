// gae: λ-weighted advantages, from the TD error (λ = 0) to the Monte Carlo return minus V (λ = 1).

import { discountedSum } from "./returns.js";

/**
 * Aₜ = δₜ + γλ(1 − doneₜ)·Aₜ₊₁,  δₜ = rₜ + γ(1 − deadₜ)·V(sₜ₊₁) − V(sₜ). [B] each.
 *
 * Behind a row that is `dead` is no value; behind one that is done, another episode. Schulman et al. 2015, eq. 16.
 */
export function gae(rollout, value, nextValue, dead, gamma, lambda) {
  const delta = rollout.reward.map((paid, r) => paid + (dead[r] ? 0 : gamma * nextValue[r]) - value[r]);
  return discountedSum(delta, rollout, gamma * lambda);
}
