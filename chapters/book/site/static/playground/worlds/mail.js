// gae: pay that arrives by mail, late and under noise. A cue is drawn at every step; the action that matches it earns
// 1, the other one −1, and the pay arrives some steps later. What is in the mail can't be seen.

import { noise, rounded } from "./chance.js";
import { observe } from "./cues.js";

const [NOISE, LENGTH] = [3.0, 200];

/** The world in which pay takes so many steps to arrive. A state is the cue, 0 or 1, and the mail, the newest first. */
function lateBy(delay) {
  const initial = (state, at, random) => {
    state[at] = rounded(random());
    state.fill(0, at + 1, at + 1 + delay);
  };
  const step = (state, at, action, random, outcome) => {
    const earned = action === state[at] ? 1 : -1;
    const delivered = state[at + delay];
    state.copyWithin(at + 2, at + 1, at + delay);
    state[at + 1] = earned;
    state[at] = rounded(random());
    outcome.reward = delivered + noise(random(), NOISE);
    outcome.terminated = false;
  };
  const id = `tricks/Mail${delay}-v0`;
  return { id, kind: "mail", features: 1, actions: 2, size: 1 + delay, limit: LENGTH, initial, step, observe };
}

export const MAILS = [1, 3, 6].map(lateBy);
