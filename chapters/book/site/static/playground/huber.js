// huber: far from its target, the value loss grows linearly, so that no single error dominates the gradient.

/** Huber's loss of a squared error e = ½d²: e up to |d| = δ, then δ(|d| − ½δ). Huber 1964, 10.1214/aoms/1177703732. */
export function linearBeyond({ value, slope }, delta) {
  const distance = value.map((error) => Math.sqrt(2 * error));
  return {
    value: value.map((error, r) => (distance[r] > delta ? delta * (distance[r] - 0.5 * delta) : error)),
    slope: slope.map((s, r) => (distance[r] > delta ? (s * delta) / distance[r] : s)),
  };
}
