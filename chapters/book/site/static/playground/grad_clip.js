// grad_clip: a gradient whose norm is too large is scaled down; its direction stays the same.

/** min(1, max_norm/‖g‖). Pascanu et al. 2012, arXiv:1211.5063; the 1e-6 is that of torch's clip_grad_norm_. */
export function shorten(norm, maxNorm) {
  return Math.min(1, maxNorm / (norm + 1e-6));
}
