// reuse: several epochs of minibatches per batch, with the unclipped importance ratio.

import { mean } from "./reductions.js";

/** ρ = π(a|s)/π_old(a|s). [B] each. Schulman et al. 2017, eq. 6. */
export function importanceRatio(logProb, oldLogProb) {
  return logProb.map((log, r) => Math.exp(log - oldLogProb[r]));
}

/** ρ·A of each row, to be maximized, with its slope by log π: the same again. */
export function surrogate(ratio, advantage) {
  const value = ratio.map((rho, r) => rho * advantage[r]);
  return { value, slope: value };
}

/** In each epoch, the rows in random order, split into `minibatches` lists whose sizes differ by at most one. */
export function* minibatches(rows, chance, update, { epochs, minibatches: count }) {
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = chance.shuffled(rows, update, epoch);
    for (let k = 0; k < count; k++) {
      yield order.subarray(Math.floor((rows * k) / count), Math.floor((rows * (k + 1)) / count));
    }
  }
}

/** How far the policy moved: approximate KL in nats, mean((ρ − 1) − log ρ), and the largest ratio. Schulman 2020. */
export function drift(ratio) {
  return {
    approx_kl: mean(ratio.map((rho) => rho - 1 - Math.log(Math.max(rho, Number.MIN_VALUE)))),
    max_ratio: ratio.reduce((most, rho) => (rho <= most ? most : rho), 0),
  };
}
