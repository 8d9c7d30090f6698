// orthogonal_init: weights that preserve norms, zero bias, and a policy head so small that π starts near uniform.

import { normal } from "./seeds.js";

/** W ← gain·Q with QᵀQ = I or QQᵀ = I, b ← 0; the last layer takes headGain. Saxe et al. 2013, arXiv:1312.6120. */
export function orthogonal(net, random, gain, headGain) {
  for (const layer of net.layers) {
    const { inputs, outputs, weight, bias } = layer;
    const [long, short] = [Math.max(inputs, outputs), Math.min(inputs, outputs)];
    const columns = orthonormal(long, short, random);
    const scale = layer === net.head ? headGain : gain;
    for (let j = 0; j < outputs; j++) {
      for (let i = 0; i < inputs; i++) {
        weight.value[j * inputs + i] = scale * (outputs <= inputs ? columns[j][i] : columns[i][j]);
      }
    }
    bias.value.fill(0);
  }
}

/** Random orthonormal vectors, `count` of this length: Gaussian ones, made orthogonal one after the other. */
function orthonormal(length, count, random) {
  const found = [];
  while (found.length < count) {
    const vector = Float64Array.from({ length }, () => normal(random));
    for (const other of found) {
      const along = vector.reduce((sum, x, k) => sum + x * other[k], 0);
      other.forEach((x, k) => (vector[k] -= along * x));
    }
    const size = Math.hypot(...vector);
    found.push(vector.map((x) => x / size));
  }
  return found;
}
