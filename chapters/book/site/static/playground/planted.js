// Functions of the loop that are swapped for others: for a line that a reader wrote, or for a fault to be found.

import { deviation } from "./advantage_norm.js";
import { expression } from "./expression.js";
import { mean, spread } from "./reductions.js";
import { surrogate } from "./reuse.js";

const still = (value) => ({ value, slope: new Float64Array(value.length) });

/** The objective of each row, to be maximized, as an expression has it, with its slope by log π. */
export function writtenObjective(text) {
  const found = expression(text, ["ratio", "log_ratio", "advantage", "eps"]);
  return (ratio, advantage, range) => {
    return found({
      ratio: { value: ratio, slope: ratio }, // ∂ρ/∂log π = ρ
      log_ratio: { value: ratio.map(Math.log), slope: ratio.map(() => 1) },
      advantage: still(advantage),
      eps: still(ratio.map(() => range)),
    });
  };
}

/** What takes the place of each advantage of a minibatch, as an expression has it. */
export function writtenAdvantage(text) {
  const found = expression(text, ["advantage", "mean", "std"]);
  return (advantage, center = mean(advantage), std = deviation(advantage)) => {
    const all = (number) => still(advantage.map(() => number));
    return found({ advantage: still(advantage), mean: all(center), std: all(std) }).value;
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

/** The lines that a reader may write: the trick whose line each takes the place of, and the function on it. */
export const LINES = {
  objective: { trick: "clip", swapped: "clippedSurrogate", made: writtenObjective },
  advantage: { trick: "advantage_norm", swapped: "standardize", made: writtenAdvantage },
};

/** The loop's functions that an arm with these tricks swaps, by name. Throws an Error for a swap that can't be. */
export function planted({ fault, ...lines }, tricks) {
  const own = {};
  for (const [kind, text] of Object.entries(lines)) {
    const { trick, swapped, made } = LINES[kind];
    if (!tricks.includes(trick)) {
      throw new Error(`an ${kind} of your own takes the place of ${trick}'s, so it needs ${trick}`);
    }
    own[swapped] = made(text);
  }
  if (fault !== undefined && !Object.hasOwn(FAULTS, fault)) {
    throw new Error(`unknown fault ${fault}; there are ${Object.keys(FAULTS).join(", ")}`);
  }
  return { ...own, ...FAULTS[fault] };
}
