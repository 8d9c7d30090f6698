// clip: PPO's surrogate, which gives no credit for moving the ratio beyond [1 − ε, 1 + ε].

import { share } from "./reductions.js";

/** min(ρ·A, clip(ρ, 1 − ε, 1 + ε)·A), to be maximized, with its slope by log π. Schulman et al. 2017, eq. 7. */
export function clippedSurrogate(ratio, advantage, range) {
  return limited(ratio, advantage, range, range);
}

/** The same with a lower and an upper ε. */
export function limited(ratio, advantage, low, high) {
  const value = ratio.map((rho, r) => {
    const near = Math.min(1 + high, Math.max(1 - low, rho));
    return Math.min(rho * advantage[r], near * advantage[r]);
  });
  const slope = value.map((least, r) => (ratio[r] * advantage[r] === least ? least : 0)); // flat where it was clipped
  return { value, slope };
}

/** Fraction of rows whose ratio is outside [1 − ε, 1 + ε]. */
export function clipFraction(ratio, range) {
  return share(ratio.length, (r) => Math.abs(ratio[r] - 1) > range);
}
