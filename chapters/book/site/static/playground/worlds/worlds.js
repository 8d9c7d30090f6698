// The worlds by their ids, which are the library's. A world is plain functions on one lane's numbers:
// initial(state, at, random), step(state, at, action, random, outcome), observe(state, at, obs, to), and, where some
// actions are illegal, legal(state, at, legal, to). `random()` is uniform in [0, 1). size: numbers of a state; kind:
// how to draw it. outcome.score: what the curve reports, if it is not the reward.

import { CARTPOLE, ODD_UNITS, REWARD_SCALES, SHOCKS, SHOCK_PAIRS } from "./cartpole.js";
import { CORRIDORS } from "./corridor.js";
import { GRIDS } from "./grid.js";
import { LARGE_LOANS, LOANS } from "./loan.js";
import { LOTTERIES } from "./lottery.js";
import { MAILS } from "./mail.js";
import { MARATHONS } from "./marathon.js";
import { REPLIES } from "./replies.js";
import { SHUTTLES } from "./shuttle.js";
import { TIGHTROPES } from "./tightrope.js";

const POLES = [CARTPOLE, ...REWARD_SCALES, SHOCKS, ...SHOCK_PAIRS, ...ODD_UNITS];
const LINES = [...CORRIDORS, ...SHUTTLES, ...GRIDS];
const CUES = [...MAILS, ...LOANS, ...LARGE_LOANS, ...MARATHONS, ...TIGHTROPES];
const EVERY = [...POLES, ...LINES, ...CUES, ...LOTTERIES, ...REPLIES];

export const WORLDS = Object.fromEntries(EVERY.map((world) => [world.id, world]));
