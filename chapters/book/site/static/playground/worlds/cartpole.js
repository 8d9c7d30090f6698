// CartPole. Barto, Sutton & Anderson 1983, 10.1109/TSMC.1983.6313077; Gymnasium's constants. And the same with
// other rewards: rescaled ones, and rare, huge ones of either sign that mean nothing, with or without being taken back
// one step later. And the same in badly chosen units.

const [GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU] = [9.8, 1.0, 0.1, 0.5, 10.0, 0.02]; // SI units
const MASS = CART + POLE;
const [X_LIMIT, ANGLE_LIMIT] = [2.4, (12 * Math.PI) / 180];
const [SIZE, SELDOM] = [1000, 4096]; // of shocks
const [WALL, TURN] = [5.0, 2 * Math.PI]; // m, rad per turn

/** Each of x, ẋ, θ, θ̇ uniform within ±0.05. */
function initial(state, at, random) {
  for (let k = 0; k < 4; k++) state[at + k] = 0.1 * random() - 0.05;
}

/** One Euler step of TAU seconds under a force to the left (0) or right (1); every step pays 1. */
function step(state, at, action, random, outcome) {
  const [xDot, theta, thetaDot] = [state[at + 1], state[at + 2], state[at + 3]];
  const [cos, sin] = [Math.cos(theta), Math.sin(theta)];
  const push = ((action === 1 ? FORCE : -FORCE) + POLE * HALF_LENGTH * thetaDot ** 2 * sin) / MASS;
  const thetaAcc = (GRAVITY * sin - push * cos) / (HALF_LENGTH * (4 / 3 - (POLE / MASS) * cos ** 2));
  const xAcc = push - (POLE / MASS) * HALF_LENGTH * thetaAcc * cos;
  state[at] += TAU * xDot;
  state[at + 1] += TAU * xAcc;
  state[at + 2] += TAU * thetaDot;
  state[at + 3] += TAU * thetaAcc;
  outcome.reward = 1;
  outcome.terminated = Math.abs(state[at]) > X_LIMIT || Math.abs(state[at + 2]) > ANGLE_LIMIT;
}

/** The full state: x [m], ẋ [m/s], θ [rad], θ̇ [rad/s]. */
function observe(state, at, obs, to) {
  for (let k = 0; k < 4; k++) obs[to + k] = state[at + k];
}

export const CARTPOLE = {
  id: "CartPole-v1",
  kind: "pole",
  features: 4,
  actions: 2,
  size: 4,
  limit: 500,
  initial,
  step,
  observe,
};

/** CartPole with this reward at every step. */
function paying(reward) {
  const paid = (state, at, action, random, outcome) => {
    step(state, at, action, random, outcome);
    outcome.reward = reward;
  };
  return { ...CARTPOLE, id: `tricks/CartPoleReward${reward}-v0`, step: paid };
}

/** CartPole's step, with an occasional shock: one step in SELDOM pays SIZE more or SIZE less. */
function shocked(state, at, action, random, outcome) {
  step(state, at, action, random, outcome);
  const chance = random();
  if (chance < 0.5 / SELDOM) outcome.reward += SIZE;
  if (chance >= 1 - 0.5 / SELDOM) outcome.reward -= SIZE;
}

export const REWARD_SCALES = [0.0001, 0.01, 0.1, 10, 100].map(paying);
export const SHOCKS = { ...CARTPOLE, id: "tricks/CartPoleShocks-v0", step: shocked };

/** CartPole with shocks of this size, each taken back one step later. The last number of a state is what is owed. */
function takenBack(size) {
  const begin = (state, at, random) => {
    initial(state, at, random);
    state[at + 4] = 0;
  };
  const paid = (state, at, action, random, outcome) => {
    const owed = state[at + 4];
    step(state, at, action, random, outcome);
    const chance = random();
    const shock = (chance < 0.5 / SELDOM) - (chance >= 1 - 0.5 / SELDOM);
    state[at + 4] = owed === 0 && !outcome.terminated ? shock : 0;
    outcome.reward += size * (state[at + 4] - owed);
  };
  return { ...CARTPOLE, id: `tricks/CartPoleShockPairs${size}-v0`, size: 5, initial: begin, step: paid };
}

/** CartPole with so many units of length to the meter, its position measured from a wall, and angles in turns. */
function measured(units) {
  const seen = (state, at, obs, to) => {
    obs[to] = units * (state[at] + WALL);
    obs[to + 1] = units * state[at + 1];
    for (let k = 2; k < 4; k++) obs[to + k] = state[at + k] / TURN;
  };
  return { ...CARTPOLE, id: `tricks/CartPoleOddUnits${units === 1000 ? "" : units}-v0`, observe: seen };
}

export const SHOCK_PAIRS = [1000, 10000, 100000].map(takenBack);
export const ODD_UNITS = [1, 10, 100, 1000].map(measured);
