// state_norm: observations are standardized by running statistics, which are frozen while a rollout lasts.

import { buffer } from "./buffers.js";

const LIMIT = 10; // standard deviations

/** Let the agent see observations through the statistics of those before. */
export function addObsStats(agent) {
  agent.obsStats = new ObsStats(agent.world.features);
}

/** Merge the observations of a rollout into the agent's statistics. */
export function followObservations(agent, { obs, rows }, decay) {
  agent.obsStats.merge(obs, rows, decay);
}

/** Running moments of observations: their weight, and each feature's mean and sum of squared deviations. */
class ObsStats {
  constructor(features) {
    Object.assign(this, { features, weight: 0, mean: new Float64Array(features), squares: new Float64Array(features) });
  }

  copy() {
    const { weight, mean, squares } = this;
    return Object.assign(new ObsStats(this.features), { weight, mean: mean.slice(), squares: squares.slice() });
  }

  /** clip((s − mean)/√(variance + 1e-8), ±10), or s before the first batch. obs [B, D]. arXiv:2006.05990, C64. */
  standardized(obs, rows) {
    if (this.weight === 0) return obs;
    this.seen = buffer(this.seen, rows * this.features);
    for (let d = 0; d < this.features; d++) {
      const scale = 1 / Math.sqrt(this.squares[d] / this.weight + 1e-8);
      for (let k = d; k < rows * this.features; k += this.features) {
        this.seen[k] = Math.min(LIMIT, Math.max(-LIMIT, (obs[k] - this.mean[d]) * scale));
      }
    }
    return this.seen;
  }

  /** Merge a batch, after all earlier ones have lost the share `decay` of their weight. Chan et al. 1979. */
  merge(obs, rows, decay) {
    const before = (1 - decay) * this.weight;
    this.weight = before + rows;
    for (let d = 0; d < this.features; d++) {
      let [center, squares] = [0, 0];
      for (let r = 0; r < rows; r++) center += obs[r * this.features + d] / rows;
      for (let r = 0; r < rows; r++) squares += (obs[r * this.features + d] - center) ** 2;
      const delta = center - this.mean[d];
      this.mean[d] += (delta * rows) / this.weight;
      this.squares[d] = (1 - decay) * this.squares[d] + squares + (delta ** 2 * before * rows) / this.weight;
    }
  }
}
