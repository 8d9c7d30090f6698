// bootstrap: a time limit is a cut, not a death, because the episode would have gone on.

/** Rows that are cut, those among them where a time limit ended the episode. Pardo et al. 2018, arXiv:1712.00378. */
export function limitsCut({ cut, truncated }) {
  return cut.map((here, r) => here | truncated[r]);
}

/** The rewards, with γ·V(s') added at each cut: their reward-to-go goes on behind it. Pardo et al. 2018, sec. 3. */
export function valueAtCut(reward, cut, nextValue, gamma) {
  return reward.map((paid, r) => paid + (cut[r] ? gamma * nextValue[r] : 0));
}
