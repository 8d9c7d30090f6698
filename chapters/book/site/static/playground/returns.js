// REINFORCE's return: the discounted sum of the rewards that follow an action.

/** Gₜ = rₜ + γ(1 − doneₜ)·Gₜ₊₁ within each lane. x [B] in time's order -> [B]. Williams 1992, 10.1007/BF00992696. */
export function rewardToGo(x, { done, lane, lanes }, gamma) {
  const [sums, following] = [new Float64Array(x.length), new Float64Array(lanes)];
  for (let r = x.length - 1; r >= 0; r--) {
    sums[r] = x[r] + (done[r] ? 0 : gamma * following[lane[r]]);
    following[lane[r]] = sums[r];
  }
  return sums;
}
