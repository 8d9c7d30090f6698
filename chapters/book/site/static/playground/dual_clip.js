// dual_clip: the objective of a bad action is bounded from below, too, so that no finite ratio makes it explode.

import { share } from "./reductions.js";

/** max(objective, c·A) where A < 0, to be maximized, with its slope by log π. Ye et al. 2020, eq. 5. */
export function boundedBelow({ value, slope }, advantage, limit) {
  const low = (r) => advantage[r] < 0 && value[r] < limit * advantage[r];
  return {
    value: value.map((least, r) => (low(r) ? limit * advantage[r] : least)),
    slope: slope.map((s, r) => (low(r) ? 0 : s)),
  };
}

/** Share of rows whose ratio exceeds c while A < 0: those without a gradient. */
export function boundedFraction(ratio, advantage, limit) {
  return share(ratio.length, (r) => ratio[r] > limit && advantage[r] < 0);
}
