// Functions of the loop that are swapped for others: for an objective that a reader wrote, or for a fault to be found.

import { expression } from "./expression.js";
import { mean, spread } from "./reductions.js";
import { surrogate } from "./reuse.js";

export const NAMES = ["ratio", "log_ratio", "advantage", "eps"]; // what an objective may be written with

/** The objective of each row, to be maximized, as an expression has it, with its slope by log π. */
export function writtenObjective(text) {
  const found = expression(text, NAMES);
  return (ratio, advantage, range) => {
    const still = (value) => ({ value, slope: new Float64Array(value.length) });
    return found({
      ratio: { value: ratio, slope: ratio }, // ∂ρ/∂log π = ρ
      log_ratio: { value: ratio.map(Math.log), slope: ratio.map(() => 1) },
      advantage: still(advantage),
      eps: still(ratio.map(() => range)),
    });
  };
}

/** The error of every prediction with every target: all of them pull toward the targets' mean. */
function crossedError(value, target) {
  const [center, around] = [mean(target), spread(target)];
  return {
    value: value.map((v) => 0.5 * ((v - center) ** 2 + around)),
    slope: value.map((v) => v - center),
  };
}

/** Those of chapters/exercises/diagnostics.py. */
export const FAULTS = {
  unclipped: { clippedSurrogate: surrogate },
  forgetful: { importanceRatio: (logProb) => logProb.map(() => 1) },
  malus: { entropyBonus: (coef, rows) => (-20 * coef) / Math.max(1, rows) },
  crossed: { squaredError: crossedError, clippedError: (value, old, target) => crossedError(value, target) },
  summed: { mean: (x) => x.reduce((sum, each) => sum + each, 0), divisor: () => 1 },
};

/** The loop's functions that an arm with these tricks swaps, by name. Throws an Error for a swap that can't be. */
export function planted({ objective, fault }, tricks) {
  if (objective !== undefined && !tricks.includes("clip")) {
    throw new Error("an objective of your own takes the place of clip's, so it needs clip");
  }
  if (fault !== undefined && !Object.hasOwn(FAULTS, fault)) {
    throw new Error(`unknown fault ${fault}; there are ${Object.keys(FAULTS).join(", ")}`);
  }
  const own = objective !== undefined ? { clippedSurrogate: writtenObjective(objective) } : {};
  return { ...own, ...FAULTS[fault] };
}
