// baseline, value_clip: a cue, with a loan that hides what an action earned. The action that matches the cue pays. A
// sign is drawn once per episode and shown; the first step lends the loan with that sign, and the last takes it back.

import { rounded } from "./chance.js";

const LENGTH = 10;

/** The cue as −1 or 1, the sign, and the fraction of time left. */
function observe(state, at, obs, to) {
  obs[to] = 2 * state[at] - 1;
  obs[to + 1] = state[at + 1];
  obs[to + 2] = 1 - state[at + 2] / LENGTH;
}

/** Cue 0 or 1, sign ±1, and time 0. */
function initial(state, at, random) {
  state[at] = rounded(random());
  state[at + 1] = 2 * rounded(random()) - 1;
  state[at + 2] = 0;
}

/** The world with this loan and this pay. */
function lending(loan, pay) {
  const step = (state, at, action, random, outcome) => {
    const [cue, sign, time] = [state[at], state[at + 1], state[at + 2]];
    outcome.reward = (action === cue ? pay : 0) + loan * sign * ((time === 0) - (time === LENGTH - 1));
    outcome.terminated = time + 1 >= LENGTH;
    state[at] = rounded(random());
    state[at + 2] = time + 1;
  };
  const id = `tricks/Loan${loan}Pay${pay}-v0`;
  return { id, kind: "cue", features: 3, actions: 2, size: 3, limit: Infinity, initial, step, observe };
}

export const LOANS = [0, 0.6, 6, 18].map((loan) => lending(loan, 0.1));
export const LARGE_LOANS = [0, 3, 30].map((loan) => lending(loan, 0.3));
