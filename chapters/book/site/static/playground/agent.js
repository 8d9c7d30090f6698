// One agent: a policy net, a value net, and the units of its values. Both nets always exist; a rung without a value
// function never evaluates V(s). What a trick changes about an agent is a part that it sets.

import { Net } from "./nets.js";
import { denormalize } from "./return_norm.js";

export class Agent {
  /** What makes illegal actions impossible, in place: (logits, legal) [B, A] each. Without it, all are legal. */
  mask = null;
  /** What the nets see instead of an observation, obs [B, D] -> [B, D]. Without it, the observation itself. */
  obsStats = null;
  /** The units of the value net's output, mean and variance of the returns. */
  returnStats = { mean: 0, variance: 1 };

  /** rooms: what agents share that never learn at the same time, see `Net`. */
  constructor(world, config, chance, rooms) {
    this.world = world;
    const random = chance.stream("init");
    this.policyNet = new Net([world.features, ...config.hidden, world.actions], random, rooms);
    this.valueNet = new Net([world.features, ...config.hidden, 1], random, rooms);
  }

  /** The policy as it is now, which stays so. */
  reference() {
    const still = { policyNet: this.policyNet.copy(), obsStats: this.obsStats?.copy() ?? null };
    return Object.assign(Object.create(this), still);
  }

  get parameters() {
    return [...this.policyNet.parameters, ...this.valueNet.parameters];
  }

  /** Observations as the nets see them, [B, D]. */
  standardized(obs, rows) {
    return this.obsStats ? this.obsStats.standardized(obs, rows) : obs;
  }

  /** The logits [B, A] of π(·|s). */
  policy(obs, legal, rows) {
    const logits = this.policyNet.forward(this.standardized(obs, rows), rows);
    if (this.mask && legal) this.mask(logits, legal, rows * this.world.actions);
    return logits;
  }

  /** The value net's output [B], V(s) in the units of `returnStats`. */
  value(obs, rows) {
    return this.valueNet.forward(this.standardized(obs, rows), rows).subarray(0, rows);
  }

  /** V(s) and V(s') of each row in units of reward: [B] each. Behind a terminal state, V(s') says nothing. */
  values(rollout) {
    const { rows, lasts, last, lastObs, lane, lanes } = rollout;
    const inReward = (obs, count) => denormalize(this.value(obs, count), this.returnStats);
    const [value, lastValue] = [inReward(rollout.obs, rows), inReward(lastObs, lasts)];
    const [nextValue, following] = [new Float64Array(rows), new Float64Array(lanes)];
    for (let r = rows - 1; r >= 0; r--) {
      nextValue[r] = last[r] >= 0 ? lastValue[last[r]] : following[lane[r]];
      following[lane[r]] = value[r];
    }
    return { value, nextValue };
  }
}
