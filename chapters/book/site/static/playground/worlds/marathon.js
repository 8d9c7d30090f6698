// segments: episodes so long that only a few fit into the budget. A cue is drawn at every step; the action that matches
// it pays 1.

import { rounded } from "./chance.js";

/** The first cue, 0 or 1. */
function initial(state, at, random) {
  state[at] = rounded(random());
}

/** Pay for a match, then draw the next cue. */
function step(state, at, action, random, outcome) {
  outcome.reward = action === state[at] ? 1 : 0;
  outcome.terminated = false;
  state[at] = rounded(random());
}

/** The cue as −1 or 1. */
function observe(state, at, obs, to) {
  obs[to] = 2 * state[at] - 1;
}

/** The world with episodes of so many steps. */
function marathon(id, limit) {
  return { id, kind: "cue", features: 1, actions: 2, size: 1, limit, initial, step, observe };
}

export const MARATHONS = [
  marathon("tricks/Marathon100-v0", 100),
  marathon("tricks/Marathon500-v0", 500),
  marathon("tricks/Marathon-v0", 2000),
];
