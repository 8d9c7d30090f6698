// Statistics as the library has them: the expanded bootstrap interval of a mean, Welch's interval of a difference, and
// how many agents would detect it. PLAYED has Student's quantiles and the bootstrap's tails.

export const FEWEST = 5; // agents needed for an interval
const RESAMPLES = 2000;
const [Z, POWER] = [1.959964, 0.841621]; // the normal distribution's 97.5% and 80% quantiles

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The unbiased variance. */
export function variance(values) {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** Student's 97.5% quantile; between whole degrees of freedom, linear in their inverse. */
export function student(freedom) {
  const quantile = (df) => (df < PLAYED.student.length ? PLAYED.student[df] : Z + 2.4 / df);
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

/** The difference of two arms' means with its 95% interval. Welch 1947. */
export function welch(having, without) {
  const difference = mean(having) - mean(without);
  if (Math.min(having.length, without.length) < FEWEST) return { difference, low: NaN, high: NaN };
  const squared = (values) => variance(values) / values.length; // a mean's squared error
  const share = (values) => squared(values) ** 2 / (values.length - 1);
  const both = squared(having) + squared(without);
  if (both === 0) return { difference, low: difference, high: difference };
  const freedom = both ** 2 / (share(having) + share(without));
  const reach = student(freedom) * Math.sqrt(both);
  return { difference, low: difference - reach, high: difference + reach };
}

/** How many agents per arm would detect such a difference in four of five tries; NaN if there is none. Cohen 1988. */
export function wouldDo(having, without) {
  const difference = mean(having) - mean(without);
  const spread = variance(having) + variance(without);
  if (!(spread > 0) || !(Math.abs(difference) > 0)) return NaN;
  return Math.max(FEWEST, Math.ceil(((Z + POWER) ** 2 * spread) / difference ** 2));
}
