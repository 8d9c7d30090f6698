// lr_anneal, clip_anneal: one wrong step ends the episode. A number is drawn at every step; the action that matches its
// sign pays 1 plus noise, and the other one falls.

import { noise, rounded } from "./chance.js";
import { worldOfCues } from "./cues.js";

const [NOISE, LENGTH] = [3.0, 200];

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

/** The world with a rope of so many steps. */
function tightrope(length) {
  return worldOfCues(`tricks/Tightrope${length === LENGTH ? "" : length}-v0`, "rope", initial, step, length);
}

export const TIGHTROPES = [12, 50, LENGTH].map(tightrope);
