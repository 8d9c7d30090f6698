// Random numbers: one independent stream per seed, purpose and index, such as the update. So switching a trick, adding
// an agent or playing a longer episode changes no other agent's numbers, and a run from a seed comes out the same.

const PURPOSES = ["init", "env", "action", "minibatch", "prompt"];

/** The streams of one seed. */
export class Chance {
  constructor(seed) {
    this.seed = seed;
  }

  /** Uniform numbers in [0, 1), as a function without arguments. sfc32 (Doty-Humphrey, PractRand). */
  stream(purpose, ...index) {
    let [a, b, c, d] = scrambled([this.seed, PURPOSES.indexOf(purpose), ...index]);
    const next = () => {
      const sum = (((a + b) | 0) + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + sum) | 0;
      return (sum >>> 0) / 2 ** 32;
    };
    for (let k = 0; k < 12; k++) next();
    return next;
  }

  /** 0 to count − 1 in random order, Int32Array. Fisher & Yates 1938. */
  shuffled(count, ...index) {
    const random = this.stream("minibatch", ...index);
    const order = new Int32Array(count).map((_, k) => k);
    for (let k = count - 1; k > 0; k--) {
      const j = Math.floor(random() * (k + 1));
      [order[k], order[j]] = [order[j], order[k]];
    }
    return order;
  }
}

/** Four words of 32 bits that depend on every word given, by MurmurHash3's mixing (Appleby 2011). */
function scrambled(words) {
  return [1, 2, 3, 4].map((salt) => {
    let hash = Math.imul(salt, 0x9e3779b9);
    for (const word of [...words, words.length]) {
      hash = Math.imul(hash ^ word, 0x85ebca6b);
      hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
      hash ^= hash >>> 16;
    }
    return hash;
  });
}

/** A standard normal number from two uniform ones. Box & Muller 1958. */
export function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
