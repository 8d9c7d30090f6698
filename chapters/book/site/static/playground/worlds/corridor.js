// entropy: a small reward nearby and a large one far away. A corridor of one-hot cells, entered near its left end. The
// left end pays NEAR, the right end FAR, and either ends the episode; every step costs COST.

const [CELLS, NEAR, FAR, COST] = [16, 0.1, 1.0, 0.03];

/** Move one cell left (0) or right (1). */
function step(state, at, action, random, outcome) {
  state[at] = Math.min(CELLS - 1, Math.max(0, state[at] + 2 * action - 1));
  const [left, right] = [state[at] === 0, state[at] === CELLS - 1];
  outcome.reward = (left ? NEAR : 0) + (right ? FAR : 0) - COST;
  outcome.terminated = left || right;
}

/** The cell, one-hot. */
function observe(state, at, obs, to) {
  obs.fill(0, to, to + CELLS);
  obs[to + state[at]] = 1;
}

/** The corridor, entered at this cell. */
function entered(id, start) {
  const initial = (state, at) => {
    state[at] = start;
  };
  const facts = { id, kind: "corridor", cells: CELLS, features: CELLS, actions: 2, size: 1, limit: 200 };
  return { ...facts, initial, step, observe };
}

export const CORRIDORS = [entered("tricks/Corridor-v0", 2), entered("tricks/Corridor1-v0", 1)];
