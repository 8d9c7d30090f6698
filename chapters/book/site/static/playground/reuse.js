// reuse: several epochs of minibatches per batch, with the unclipped importance ratio.

import { Categorical } from "./policies.js";
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

/** log π_old(a|s) of each row, before the first gradient step: [B]. */
export function oldLogProb(agent, { obs, legal, action }) {
  return new Categorical(agent.policy(obs, legal, action.length), action.length, agent.world.actions).logProb(action);
}

/** In each epoch, shuffle the rows and split them into `count` minibatches whose sizes differ by at most one. */
export function* minibatches(batch, chance, update, epochs, count) {
  const rows = batch.action.length;
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = chance.shuffled(rows, update, epoch);
    for (let k = 0; k < count; k++) {
      yield picked(batch, order.subarray(Math.floor((rows * k) / count), Math.floor((rows * (k + 1)) / count)));
    }
  }
}

/** Some rows of a batch, in this order. */
export function picked(batch, order) {
  const found = {};
  for (const [name, column] of Object.entries(batch)) {
    const width = column.length / batch.action.length;
    found[name] = new column.constructor(order.length * width);
    for (let r = 0; r < order.length; r++) {
      for (let k = 0; k < width; k++) found[name][r * width + k] = column[order[r] * width + k];
    }
  }
  return found;
}

/** How far the policy moved: approximate KL in nats, mean((ρ − 1) − log ρ), and the largest ratio. Schulman 2020. */
export function drift(ratio) {
  return {
    approx_kl: mean(ratio.map((rho) => rho - 1 - Math.log(Math.max(rho, Number.MIN_VALUE)))),
    max_ratio: ratio.reduce((most, rho) => (rho <= most ? most : rho), 0),
  };
}
