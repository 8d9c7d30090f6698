// bootstrap: at a cut, V of the last state stands in for the rewards that were not collected.

import { discountedSum } from "./returns.js";

/** The rollout, with `cut` also where a time limit ended the episode, because it would go on. Pardo et al. 2018. */
export function withLimitsCut(rollout) {
  return rollout.having({ cut: rollout.cut.map((here, r) => here | rollout.truncated[r]) });
}

/**
 * γᵏ·V(s_c), with s_c the state k steps ahead where the row's episode is cut; 0 if it isn't. [B].
 *
 * It is the reward-to-go of a reward γ·V(sₜ₊₁) paid at each cut. Pardo et al. 2018, arXiv:1712.00378, sec. 3.
 */
export function valueAtCut(rollout, nextValue, gamma) {
  const { cut } = rollout;
  return discountedSum(nextValue.map((next, r) => (cut[r] ? gamma * next : 0)), rollout, gamma);
}
