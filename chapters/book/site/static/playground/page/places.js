// The worlds as the page shows them: their names, what counts as a return, and the numbers that suit them.

const SMALL = { lanes: 32, horizon: 32 };
const REPLYING = { lanes: 128, horizon: 1, gamma: 1, lr: 0.01, imitate_steps: 20_000 };
const FACTS = {
  "CartPole-v1": ["CartPole", "Keep the pole up. Each step pays 1; after 500 the episode ends.", [0, 500], {}],
  "tricks/Corridor1-v0": [
    "Corridor",
    "A little pay one step to the left, ten times as much far to the right.",
    [-1, 1],
    { ...SMALL, lr: 0.01, steps: 60_000 },
  ],
  "tricks/Mail1-v0": [
    "Mail",
    "Match the cue; pay comes a step late, under noise.",
    [-100, 200],
    { gamma: 0.995, gae_lambda: 0.9, steps: 30_000 },
  ],
  "tricks/Grid20-v0": ["Grid", "Cross the grid. 20 of 24 actions do nothing but cost.", [-1, 1], { steps: 30_000 }],
  "tricks/Tightrope50-v0": [
    "Tightrope",
    "Match the cue 50 times in a row; one error and you fall.",
    [0, 50],
    { ...SMALL, lr: 0.01, steps: 50_000 },
  ],
  "tricks/CartPoleReward100-v0": ["CartPole that pays 100", "The same pole, but each step pays 100.", [0, 50_000], {}],
  "tricks/CartPoleReward0.0001-v0": [
    "CartPole that pays 0.0001",
    "The same pole, but each step pays 0.0001.",
    [0, 0.05],
    {},
  ],
  "tricks/CartPoleOddUnits-v0": [
    "CartPole in odd units",
    "Millimeters and turns instead of meters and radians.",
    [0, 500],
    {},
  ],
  "tricks/CartPoleShockPairs100000-v0": [
    "CartPole with shocks",
    "Once in 4096 steps a huge reward, taken back one step later.",
    [0, 500],
    {},
  ],
  "tricks/Loan6Pay0.1-v0": [
    "Loan",
    "Match the cue for 0.1, while a loan of 6 comes and goes.",
    [0, 1],
    { horizon: 10, lr: 0.01, steps: 20_000 },
  ],
  "tricks/Lottery20-v0": [
    "Lottery",
    "0.5 for sure, or a ticket: one in twenty wins 20.",
    [0, 2],
    { ...SMALL, gae_lambda: 0, steps: 20_000 },
  ],
  "tricks/Marathon500-v0": [
    "Marathon",
    "Match the cue, in episodes of 500 steps.",
    [200, 500],
    { horizon: 64, steps: 20_000 },
  ],
  "tricks/Shuttle4-v0": [
    "Shuttle",
    "Walk to the far cell, under a time limit you can't see.",
    [0, 0.4],
    { ...SMALL, steps: 40_000 },
  ],
  "tricks/OddsPlus10-v0": [
    "Words: ten and one more",
    "A tiny language model. “yes” pays 11, “no” pays 10; at first, it says yes to half of the prompts.",
    [10, 11],
    { ...REPLYING, steps: 12_800 },
  ],
  "tricks/Stakes-v0": [
    "Words: high stakes",
    "“no” always pays 1; “yes” pays 20 one time in ten, so 2 on average, which is the score.",
    [1, 2],
    { ...REPLYING, steps: 40_000 },
  ],
  "tricks/Rare-v0": [
    "Words: a rare one",
    "One of 200 words pays 1, and at first none is likelier than another.",
    [0, 1],
    { ...REPLYING, imitate_steps: 0, lr: 0.001, steps: 6_400 },
  ],
  "tricks/Loophole-v0": [
    "Words: a loophole",
    "“good” is wanted and pays 1. “flattery” is not, and pays 1.2. The score is the truth: 1 and −1.",
    [-1, 1],
    { ...REPLYING, imitate_steps: 15_000, steps: 40_000 },
  ],
};
export const SHOWN = Object.keys(FACTS);
const BUDGET = 60_000; // environment steps per agent: enough for CartPole, and short enough to wait for

/** Name, description, the ends of the axis of returns, and numbers that differ from the defaults. */
export function place(id) {
  const [name, about, range, numbers] = FACTS[id] ?? [id.replace("tricks/", ""), "", guessed(id), {}];
  return { name, about, range, numbers: { lr: 0.003, steps: BUDGET, ...numbers } };
}

/** The axis of a world that only an address names. */
function guessed(id) {
  const { kind, limit } = Playground.WORLDS[id];
  const number = Number(id.match(/[A-Za-z]([\d.]+)-v/)?.[1] ?? 1);
  if (kind === "pole") return [0, /Reward/.test(id) ? 500 * number : 500];
  if (kind === "corridor" || kind === "grid") return [-1, 1];
  if (kind === "lottery") return [0, 2];
  if (kind === "reply") return [0, 1];
  if (kind === "cue") return [0, limit < Infinity ? limit : 3];
  return kind === "mail" ? [-limit / 2, limit] : [0, limit];
}
