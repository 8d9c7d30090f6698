// action_mask: illegal actions get probability 0, both when acting and when learning.

const ILLEGAL = -1e30; // exp gives exactly 0, and 0·log 0 is 0; with −∞ the entropy would be NaN

/** Replace the logits of illegal actions, in place. Huang & Ontañón 2020, arXiv:2006.14171, sec. 3. */
export function maskLogits(logits, legal, count) {
  for (let k = 0; k < count; k++) if (!legal[k]) logits[k] = ILLEGAL;
}
