// huber: a ticket that rarely wins, but so much that it is worth twice the sure pay. An episode has two steps. In the
// first, the agent takes the sure pay or a ticket; in the second, with nothing left to decide, it is paid, or draws.

const SURE = 0.5;
const TICKET = 1; // the action; the other one takes the sure pay

/** Whether the choice is made, and whether there is a ticket. */
function observe(state, at, obs, to) {
  obs[to] = state[at];
  obs[to + 1] = state[at + 1];
}

/** Before the choice. */
function initial(state, at) {
  state[at] = state[at + 1] = 0;
}

/** The world with this prize, which a ticket wins with probability 1 / prize. */
function drawing(prize) {
  const step = (state, at, action, random, outcome) => {
    const [chosen, ticket, won] = [state[at], state[at + 1], random() < 1 / prize];
    outcome.reward = chosen ? (ticket ? (won ? prize : 0) : SURE) : 0;
    outcome.terminated = Boolean(chosen);
    if (!chosen) state[at + 1] = action === TICKET ? 1 : 0;
    state[at] = 1;
  };
  const id = `tricks/Lottery${prize}-v0`;
  return { id, kind: "lottery", features: 2, actions: 2, size: 2, limit: Infinity, initial, step, observe };
}

export const LOTTERIES = [2, 5, 20].map(drawing);
