// baseline: subtract a learned V(s) from the return. It lowers the variance of the gradient and keeps its mean.

import { spread } from "./reductions.js";

/** ½(V − G)² of each row, with its slope by V. value, target [B] -> value, slope [B] each. */
export function squaredError(value, target) {
  return {
    value: value.map((v, r) => 0.5 * (v - target[r]) ** 2),
    slope: value.map((v, r) => v - target[r]),
  };
}

/** 1 − Var(G − V)/Var(G): 1 is perfect, 0 is no better than a constant; NaN if the targets are constant. */
export function explainedVariance(value, target) {
  return 1 - spread(target.map((g, r) => g - value[r])) / (spread(target) || NaN);
}
