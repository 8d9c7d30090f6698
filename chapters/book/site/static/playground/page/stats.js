// Statistics as the library has them: the expanded bootstrap interval of a mean, and Welch's interval of a difference.
// PLAYED has Student's quantiles and the bootstrap's tails.

export const FEWEST = 5; // agents needed for an interval
const RESAMPLES = 2000;

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The unbiased variance. */
export function variance(values) {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** Student's quantile from a table of them by degrees of freedom; between whole ones, linear in their inverse. */
function student(freedom, table) {
  const quantile = (df) => table[Math.min(df, table.length - 1)]; // beyond the table, a little too wide
  const below = Math.max(1, Math.floor(freedom));
  const share = below === freedom ? 0 : (1 / below - 1 / freedom) / (1 / below - 1 / (below + 1));
  return quantile(below) + share * (quantile(below + 1) - quantile(below));
}

const drawn = new Map();

/** How often each of `count` agents is in each resample; the same on every visit. */
function counts(count) {
  if (!drawn.has(count)) {
    const [random, found] = [Book.random(count), []];
    for (let k = 0; k < RESAMPLES; k++) {
      const row = new Uint8Array(count);
      for (let n = 0; n < count; n++) row[Math.floor(random() * count)]++;
      found.push(row);
    }
    drawn.set(count, found);
  }
  return drawn.get(count);
}

/** The mean's 95% interval over agents, [low, high]; NaN with fewer than FEWEST, or with a NaN. */
export function interval(values) {
  const count = values.length;
  if (count < FEWEST || values.some(Number.isNaN)) return [NaN, NaN];
  const means = Float64Array.from(counts(count), (row) => {
    let sum = 0;
    for (let n = 0; n < count; n++) sum += row[n] * values[n];
    return sum / count;
  }).sort();
  const at = (share) => {
    const place = share * (RESAMPLES - 1);
    const below = Math.floor(place);
    return means[below] + (place - below) * (means[Math.min(RESAMPLES - 1, below + 1)] - means[below]);
  };
  return [at(PLAYED.tails[count]), at(1 - PLAYED.tails[count])];
}

/** The difference of two arms' means with its 95% interval, by Student's quantiles in this table. Welch 1947. */
export function welch(having, without, table = PLAYED.student) {
  const difference = mean(having) - mean(without);
  if (Math.min(having.length, without.length) < FEWEST) return { difference, low: NaN, high: NaN };
  const squared = (values) => variance(values) / values.length; // a mean's squared error
  const share = (values) => squared(values) ** 2 / (values.length - 1);
  const both = squared(having) + squared(without);
  if (both === 0) return { difference, low: difference, high: difference };
  const freedom = both ** 2 / (share(having) + share(without));
  const reach = student(freedom, table) * Math.sqrt(both);
  return { difference, low: difference - reach, high: difference + reach };
}
