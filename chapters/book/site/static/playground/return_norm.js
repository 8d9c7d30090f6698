// return_norm: the value net learns standardized returns (ART), and running statistics follow the rewards' scale.

import { mean, spread } from "./reductions.js";

/** σ, clamped to [1e-4, 1e6]. */
export function std({ variance }) {
  return Math.min(1e6, Math.max(1e-4, Math.sqrt(variance)));
}

/** (G − μ)/σ. [B]. */
export function normalize(value, stats) {
  const sigma = std(stats);
  return value.map((g) => (g - stats.mean) / sigma);
}

/** σ·n + μ: the value net's output in units of reward. [B]. */
export function denormalize(output, stats) {
  const sigma = std(stats);
  return output.map((n) => sigma * n + stats.mean);
}

/** Where the statistics start: μ = 0 and σ² = 1, or σ² = 0, which leaves it to the first batch. */
export function unmoved(firstBatch) {
  return { mean: 0, variance: firstBatch ? 0 : 1 };
}

/** Move the agent's statistics toward those of the targets [B]; returned as they were, and as they are now. */
export function followReturns(agent, target, beta) {
  const before = agent.returnStats;
  agent.returnStats = moveStats(before, target, beta);
  return [before, agent.returnStats];
}

/** μ ← (1 − β)μ + β·E[G], and the same for E[G²]. target [B]. van Hasselt et al. 2016, arXiv:1602.07714. */
function moveStats(stats, target, beta) {
  const weight = stats.variance === 0 ? 1 : beta;
  const center = mean(target);
  const between = weight * (1 - weight) * (center - stats.mean) ** 2;
  return {
    mean: (1 - weight) * stats.mean + weight * center,
    variance: (1 - weight) * stats.variance + weight * spread(target) + between,
  };
}
