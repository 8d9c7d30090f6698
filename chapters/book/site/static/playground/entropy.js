// entropy: a bonus for staying random, so that the policy does not commit too early.

/** The slope of c₂·mean(H(π(·|s))), to be maximized, by each row's entropy. Mnih et al. 2016, arXiv:1602.01783. */
export function entropyBonus(coef, rows) {
  return coef / Math.max(1, rows);
}
