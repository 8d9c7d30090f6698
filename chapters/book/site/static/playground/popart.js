// popart: the value net's outputs are preserved when the return statistics move (POP).

import { denormalize, normalize, std } from "./return_norm.js";

/** W ← W·σ/σ′,  b ← (σb + μ − μ′)/σ′, in place. van Hasselt et al. 2016, arXiv:1602.07714, proposition 1. */
export function preserveOutputs({ weight, bias }, before, stats) {
  const old = withAScale(before, stats);
  weight.value.forEach((w, k) => (weight.value[k] = (w * std(old)) / std(stats)));
  bias.value.forEach((b, k) => (bias.value[k] = (std(old) * b + old.mean - stats.mean) / std(stats)));
}

/** The same predictions in the new units: (σn + μ − μ′)/σ′. [B]. */
export function renormalize(output, before, stats) {
  return normalize(denormalize(output, withAScale(before, stats)), stats);
}

/** `before`, or the new statistics where σ² = 0: then there is only what an untrained net says to preserve. */
function withAScale(before, stats) {
  return before.variance === 0 ? stats : before;
}
