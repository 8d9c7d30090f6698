// bootstrap: a time limit that the agent can't see. A row of one-hot cells. Walking on pays nothing, resting pays REST,
// and the last cell pays PAY at every step. Now and then a step ends in a random cell. Lanes keep their place when an
// episode ends, so that the way to the last cell leads through many episodes.

const [CELLS, REST, PAY, MOVED] = [21, 0.01, 0.1, 0.02];

const anywhere = (uniform) => Math.floor(uniform * CELLS);

/** A random cell, and from the second episode on the one where the last one ended. */
function initial(state, at, random) {
  const cell = anywhere(random());
  if (!state[at + 1]) state[at] = cell;
  state[at + 1] = 1;
}

/** Walk on to the next cell (1) or rest (0), and be paid for where one is; sometimes, be moved after that. */
function step(state, at, action, random, outcome) {
  const cell = Math.min(CELLS - 1, state[at] + action);
  outcome.reward = cell === CELLS - 1 ? PAY : action === 0 ? REST : 0;
  outcome.terminated = false;
  const [moved, place] = [random() < MOVED, anywhere(random())];
  state[at] = moved ? place : cell;
}

/** The cell, one-hot. */
function observe(state, at, obs, to) {
  obs.fill(0, to, to + CELLS);
  obs[to + state[at]] = 1;
}

/** The world with episodes of so many steps. */
function shuttle(limit) {
  const id = `tricks/Shuttle${limit}-v0`;
  const facts = { id, kind: "corridor", cells: CELLS, features: CELLS, actions: 2, size: 2, limit };
  return { ...facts, initial, step, observe };
}

export const SHUTTLES = [4, 16, 64].map(shuttle);
