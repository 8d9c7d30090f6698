// action_mask: a small grid with many actions that do nothing. The path leads from one corner to the opposite one,
// which pays 1 and ends the episode. Four actions move; the useless ones are illegal and cost PENALTY.

const [SIZE, PENALTY, MOVES] = [5, 0.01, 4];
const [RIGHT, DOWN, LEFT, UP] = [0, 1, 2, 3];

/** Row 0, column 0. */
function initial(state, at) {
  state[at] = state[at + 1] = 0;
}

/** Move one cell within the grid, or pay for an illegal action. */
function step(state, at, action, random, outcome) {
  const inside = (cell) => Math.min(SIZE - 1, Math.max(0, cell));
  state[at] = inside(state[at] + (action === DOWN) - (action === UP));
  state[at + 1] = inside(state[at + 1] + (action === RIGHT) - (action === LEFT));
  outcome.terminated = state[at] === SIZE - 1 && state[at + 1] === SIZE - 1;
  outcome.reward = (outcome.terminated ? 1 : 0) - (action >= MOVES ? PENALTY : 0);
}

/** Row and column, scaled to [−1, 1]. */
function observe(state, at, obs, to) {
  for (let k = 0; k < 2; k++) obs[to + k] = (2 * state[at + k]) / (SIZE - 1) - 1;
}

/** The grid with so many illegal actions. */
function having(useless) {
  const actions = MOVES + useless;
  const legal = (state, at, into, to) => {
    for (let a = 0; a < actions; a++) into[to + a] = a < MOVES ? 1 : 0;
  };
  const id = `tricks/Grid${useless}-v0`;
  return { id, kind: "grid", cells: SIZE, features: 2, actions, size: 2, limit: 100, initial, step, observe, legal };
}

export const GRIDS = [0, 10, 20, 40, 60].map(having);
