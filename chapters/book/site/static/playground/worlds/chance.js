// Noise for worlds, from numbers that are uniform in [0, 1).

/** Uniform noise with mean 0 and standard deviation σ: √12 σ (u − ½). */
export function noise(uniform, deviation) {
  return deviation * Math.sqrt(12) * (uniform - 0.5);
}

/** 0 or 1, whichever is nearer; of a half, 0, as torch rounds it. */
export function rounded(uniform) {
  return uniform > 0.5 ? 1 : 0;
}
