// kl_penalty: a price for leaving the reference policy, that of the agent as it was when training began.

import { mean } from "./reductions.js";
import { oldLogProb } from "./reuse.js";

/** Schulman's estimators of KL(π ‖ π_ref), each with its slope by log π, from log ρ = log π_ref − log π. */
const ESTIMATORS = {
  k1: { value: (log) => -log, slope: () => 1 },
  k2: { value: (log) => 0.5 * log ** 2, slope: (log) => -log },
  k3: { value: (log) => Math.expm1(log) - log, slope: (log) => -Math.expm1(log) },
};

/** r − β·k of each row, if that is where the penalty goes, [B]; and the mean of k3. Adds log π_ref(a|s) to the batch. */
export function keptNear({ reward }, batch, agent, reference, { kl_in, kl_estimator, kl_coef }) {
  const logProb = oldLogProb(agent, batch);
  batch.referenceLogProb = oldLogProb(reference, batch);
  const kl = (name) => logProb.map((log, r) => ESTIMATORS[name].value(batch.referenceLogProb[r] - log));
  const price = kl(kl_estimator);
  return { reward: kl_in === "reward" ? reward.map((x, r) => x - kl_coef * price[r]) : reward, kl: mean(kl("k3")) };
}

/** The objective − β·k of each row, if that is where the penalty goes. Shao et al. 2024, arXiv:2402.03300, eq. 3, 4. */
export function lessKl({ value, slope }, logProb, reference, { kl_in, kl_estimator, kl_coef }) {
  if (kl_in === "reward") return { value, slope };
  const k = ESTIMATORS[kl_estimator];
  return {
    value: value.map((x, r) => x - kl_coef * k.value(reference[r] - logProb[r])),
    slope: slope.map((x, r) => x - kl_coef * k.slope(reference[r] - logProb[r])),
  };
}
