// Guess the fault: a number stands for one of the engine's faults and for three names to choose from. The words are
// those of the chapter on diagnostics. right, wrong: what stands on the line, and what is planted there.

export const WORDS = {
  unclipped: {
    name: "The clip is gone",
    gives: `The KL is an order of magnitude too high, and single ratios shoot up. That's how steps that are too large
      look, whatever the cause.`,
    right: /clipped_surrogate\([^#]*\)/,
    wrong: "ratio * advantage",
  },
  forgetful: {
    name: "The ratio forgets who played",
    gives: `A KL of exactly zero while the policy is learning: every ratio is 1, so nothing is ever clipped, and the
      entropy plunges. A number that looks too good is a symptom.`,
    right: "b.old_log_prob)",
    wrong: "log_prob.detach())",
  },
  malus: {
    name: "The entropy bonus has the wrong sign",
    gives: `The entropy falls to almost nothing, while the KL looks healthy. Explained variance rises, which isn't a
      good sign: a policy without surprises is easy to predict.`,
    right: "entropy_bonus(",
    wrong: "-20 * entropy_bonus(",
  },
  crossed: {
    name: "The value net sees crossed targets",
    gives: `Everything looks healthy but explained variance, which stays near 0: the net has found the best constant.`,
    right: /squared_error\(value, ([\w.]+)\)/,
    wrong: "squared_error(value.unsqueeze(2), $1.unsqueeze(1)).mean(2)",
  },
  summed: {
    name: "Sums instead of means",
    gives: `The gradient is hundreds of times too long. The logged entropy is a sum, too: with two actions, its mean
      can't exceed log 2 = 0.69.`,
    right: /\bmean\(/g,
    wrong: "summed(",
  },
};
const CHOICES = 3;
const PPO = Playground.LADDER.presets.ppo;

/** What is trained, as an address: that of the chapter, A as it should be, and B with the fault. */
export const GAME = `a=${PPO}&b=${PPO}&steps=20000&agents=5`;

/** The fault that a number stands for, and three names among which it is. */
export function riddle(number) {
  const random = Book.random(number);
  const order = Object.keys(WORDS).map((fault) => [random(), fault]).sort(([x], [y]) => x - y);
  const chosen = order.slice(0, CHOICES).map(([, fault]) => fault);
  return { fault: chosen[0], choices: Object.keys(WORDS).filter((fault) => chosen.includes(fault)) };
}

/** A number of a riddle that nobody knows. */
export function unknown() {
  return Math.floor(Math.random() * 1e6);
}
