// The policy over a few actions: π(a) = softmax(logits)ₐ.

/** π of B rows, from logits [B, A]. */
export class Categorical {
  constructor(logits, rows, actions) {
    Object.assign(this, { rows, actions, logs: new Float64Array(rows * actions) });
    for (let r = 0; r < rows; r++) {
      const start = r * actions;
      let [most, sum] = [-Infinity, 0];
      for (let k = start; k < start + actions; k++) if (!(logits[k] <= most)) most = logits[k];
      for (let k = start; k < start + actions; k++) sum += Math.exp(logits[k] - most);
      const total = most + Math.log(sum);
      for (let k = start; k < start + actions; k++) this.logs[k] = logits[k] - total;
    }
  }

  /** log π(a) of each row's action: [B]. */
  logProb(action) {
    return Float64Array.from(action, (a, r) => this.logs[r * this.actions + a]);
  }

  /** −Σₐ π(a)·log π(a), in nats: [B]. */
  entropy() {
    const found = new Float64Array(this.rows);
    for (let k = 0; k < this.logs.length; k++) found[(k / this.actions) | 0] -= Math.exp(this.logs[k]) * this.logs[k];
    return found;
  }

  /**
   * The gradient by the logits [B, A], given those by each row's log π(a) and by each row's entropy, [B] each:
   * ∂log π(a)/∂zₖ = 1[k = a] − πₖ and ∂H/∂zₖ = −πₖ(log πₖ + H).
   */
  backward(action, byLogProb, entropy, byEntropy) {
    const found = new Float64Array(this.rows * this.actions);
    for (let r = 0; r < this.rows; r++) {
      for (let a = 0; a < this.actions; a++) {
        const k = r * this.actions + a;
        const chosen = a === action[r] ? 1 : 0;
        const p = Math.exp(this.logs[k]);
        found[k] = byLogProb[r] * (chosen - p) - (p > 0 ? byEntropy * p * (this.logs[k] + entropy[r]) : 0);
      }
    }
    return found;
  }
}

/** An action from the logits of row r, [B, A], and a uniform number: the first whose cumulated π exceeds it. */
export function sampled(logits, r, actions, uniform) {
  const start = r * actions;
  let [most, sum] = [-Infinity, 0];
  for (let k = start; k < start + actions; k++) if (logits[k] > most) most = logits[k];
  for (let k = start; k < start + actions; k++) sum += Math.exp(logits[k] - most);
  let left = uniform * sum;
  let last = 0;
  for (let a = 0; a < actions; a++) {
    const weight = Math.exp(logits[start + a] - most);
    if (weight > 0) last = a;
    left -= weight;
    if (left < 0) return a;
  }
  return last; // rounding left a little over
}
