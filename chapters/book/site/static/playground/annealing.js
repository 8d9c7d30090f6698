// lr_anneal, clip_anneal: linear decay from the initial value to 0 at the end of the budget.

/** x·(1 − progress), with the share of the budget used before this update. */
export function linearDecay(start, progress) {
  return start * (1 - progress);
}

/** `linearDecay` if it `follows`, else unchanged. */
export function followingDecay(start, progress, follows) {
  return follows ? linearDecay(start, progress) : start;
}
