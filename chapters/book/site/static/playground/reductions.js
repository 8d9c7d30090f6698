// Means over the rows of a minibatch, 0 where there are no rows.

/** The mean of x [B]. */
export function mean(x) {
  let sum = 0;
  for (let r = 0; r < x.length; r++) sum += x[r];
  return sum / divisor(x.length);
}

/** What a mean over so many rows divides by. */
export function divisor(rows) {
  return Math.max(1, rows);
}

/** The share of rows for which `test(r)` holds. */
export function share(rows, test) {
  let count = 0;
  for (let r = 0; r < rows; r++) if (test(r)) count++;
  return count / divisor(rows);
}

/** The mean of (x − mean(x))². */
export function spread(x) {
  const center = mean(x);
  return mean(x.map((each) => (each - center) ** 2));
}
