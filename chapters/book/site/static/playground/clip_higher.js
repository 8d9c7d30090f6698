// clip_higher: the ratio's upper limit is a number of its own, so that rare actions have room to grow.

import { limited } from "./clip.js";
import { share } from "./reductions.js";

/** min(ρ·A, clip(ρ, 1 − ε_low, 1 + ε_high)·A), with its slope by log π. Yu et al. 2025, arXiv:2503.14476, eq. 10. */
export const clippedApart = limited;

/** The share of rows above 1 + ε_high. */
export function clipHighFraction(ratio, high) {
  return share(ratio.length, (r) => ratio[r] > 1 + high);
}
