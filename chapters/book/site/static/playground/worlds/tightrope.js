// lr_anneal, clip_anneal: one wrong step ends the episode. A number is drawn at every step; the action that matches its
// sign pays 1 plus noise, and the other one falls.

import { noise, rounded } from "./chance.js";

const NOISE = 3.0;

/** The first cue's number in [0, 1). */
function initial(state, at, random) {
  state[at] = random();
}

/** Continue if the action matches the cue, fall otherwise; then draw the next cue. */
function step(state, at, action, random, outcome) {
  const right = action === rounded(state[at]);
  state[at] = random();
  outcome.reward = (right ? 1 : 0) + noise(random(), NOISE);
  outcome.terminated = !right;
}

/** The cue, rescaled to [−1, 1]. */
function observe(state, at, obs, to) {
  obs[to] = 2 * state[at] - 1;
}

/** The world with a rope of so many steps. */
function ofLength(id, limit) {
  return { id, kind: "rope", features: 1, actions: 2, size: 1, limit, initial, step, observe };
}

export const TIGHTROPES = [
  ofLength("tricks/Tightrope12-v0", 12),
  ofLength("tricks/Tightrope50-v0", 50),
  ofLength("tricks/Tightrope-v0", 200),
];
