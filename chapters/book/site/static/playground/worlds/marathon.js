// segments: episodes so long that only a few fit into the budget. A cue is drawn at every step; the action that matches
// it pays 1.

import { rounded } from "./chance.js";
import { worldOfCues } from "./cues.js";

const LENGTH = 2000;

/** Cue 0 or 1. */
function initial(state, at, random) {
  state[at] = rounded(random());
}

/** Pay 1 if the action matches the cue, then draw the next cue. */
function step(state, at, action, random, outcome) {
  outcome.reward = action === state[at] ? 1 : 0;
  outcome.terminated = false;
  state[at] = rounded(random());
}

/** The world with episodes of so many steps. */
function marathon(length) {
  return worldOfCues(`tricks/Marathon${length === LENGTH ? "" : length}-v0`, "cue", initial, step, length);
}

export const MARATHONS = [100, 500, LENGTH].map(marathon);
