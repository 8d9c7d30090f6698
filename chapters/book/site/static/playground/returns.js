// REINFORCE's return: the discounted sum of the rewards that follow an action.

/** Gₜ = rₜ + γ(1 − doneₜ)·Gₜ₊₁. [B]. Williams 1992, 10.1007/BF00992696. */
export function rewardToGo(rollout, gamma) {
  return discountedSum(rollout.reward, rollout, gamma);
}

/** yₜ = xₜ + discount·(1 − doneₜ)·yₜ₊₁ within each lane, with y = 0 past the end. x [B] in time's order -> [B]. */
export function discountedSum(x, { done, lane, lanes }, discount) {
  const [sums, following] = [new Float64Array(x.length), new Float64Array(lanes)];
  for (let r = x.length - 1; r >= 0; r--) {
    sums[r] = x[r] + (done[r] ? 0 : discount * following[lane[r]]);
    following[lane[r]] = sums[r];
  }
  return sums;
}
