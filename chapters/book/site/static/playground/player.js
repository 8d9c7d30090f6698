// Collecting experience: the lanes of a world, and what steps them with an agent.

import { sampled } from "./policies.js";
import { Rollout } from "./rollout.js";

/** Steps the lanes with an agent. An episode's end takes a step of its own, which resets the lane and is no row. */
export class Player {
  constructor(world, config, chance) {
    const { lanes } = config;
    Object.assign(this, { world, lanes, chance, rollouts: 0, rollout: new Rollout(world, lanes) });
    this.state = new Float32Array(lanes * world.size);
    this.obs = new Float64Array(lanes * world.features);
    this.legal = world.legal ? new Uint8Array(lanes * world.actions) : null;
    this.age = new Int32Array(lanes);
    this.over = new Uint8Array(lanes); // lanes to be reset
    this.score = new Float64Array(lanes);
    this.row = new Int32Array(lanes); // each lane's row of the latest step, or −1
    this.random = chance.stream("env");
    this.group = config.group ?? 1;
    this.episodes = new Int32Array(lanes); // that each lane has begun
    this.outcome = { reward: 0, terminated: false, score: undefined }; // without a score, it is the reward
    this.film = null; // keeps what lane 0 does, for whoever watches
    for (let lane = 0; lane < lanes; lane++) this.reset(lane);
  }

  reset(lane) {
    this.world.initial(this.state, lane * this.world.size, this.world.prompted ? this.prompt(lane) : this.random);
    this.over[lane] = this.age[lane] = this.score[lane] = 0;
    this.observe(lane);
  }

  /** What a lane's next prompt is drawn from: the same for the lanes of its group, whenever each begins. */
  prompt(lane) {
    return this.chance.stream("prompt", Math.floor(lane / this.group), this.episodes[lane]++);
  }

  observe(lane) {
    const { world } = this;
    world.observe(this.state, lane * world.size, this.obs, lane * world.features);
    if (this.legal) world.legal(this.state, lane * world.size, this.legal, lane * world.actions);
  }

  /** Begin a rollout. */
  begin() {
    this.actions = this.chance.stream("action", this.rollouts++);
    this.rollout.clear();
    this.film?.clear();
  }

  /** One step of the lanes that are `playing`. */
  step(agent, playing) {
    const { world, lanes, outcome } = this;
    const logits = agent.policy(this.obs, this.legal, lanes);
    for (let lane = 0; lane < lanes; lane++) {
      const uniform = this.actions(); // drawn in every lane, so that one lane's end shifts no other lane's numbers
      this.row[lane] = -1;
      if (!playing[lane]) continue;
      if (this.over[lane]) {
        this.reset(lane);
        continue;
      }
      const action = sampled(logits, lane, world.actions, uniform);
      const row = this.write(lane, action);
      if (lane === 0) this.film?.add(this.state, action, this.age[0]);
      world.step(this.state, lane * world.size, action, this.random, outcome);
      this.observe(lane);
      this.end(lane, row, outcome);
    }
  }

  /** A row with what the lane sees and does. */
  write(lane, action) {
    const { rollout, world } = this;
    const row = rollout.rows;
    const obs = rollout.column("obs", world.features, Float64Array);
    for (let k = 0; k < world.features; k++) obs[row * world.features + k] = this.obs[lane * world.features + k];
    if (this.legal) {
      const legal = rollout.column("legal", world.actions, Uint8Array);
      for (let a = 0; a < world.actions; a++) legal[row * world.actions + a] = this.legal[lane * world.actions + a];
    }
    rollout.column("action", 1, Int32Array)[row] = action;
    rollout.column("lane", 1, Int32Array)[row] = lane;
    rollout.column("last", 1, Int32Array)[row] = -1;
    rollout.column("reward", 1, Float64Array);
    rollout.column("terminated", 1, Uint8Array);
    rollout.column("truncated", 1, Uint8Array);
    rollout.rows++;
    return (this.row[lane] = row);
  }

  /** What came of a lane's step. */
  end(lane, row, { reward, terminated, score = reward }) {
    const { columns, games } = this.rollout;
    const truncated = ++this.age[lane] >= this.world.limit && !terminated;
    this.score[lane] += score;
    columns.reward[row] = reward;
    columns.terminated[row] = terminated ? 1 : 0;
    columns.truncated[row] = truncated ? 1 : 0;
    if (truncated) this.rollout.follow(row, this.obs, lane * this.world.features);
    if (!terminated && !truncated) return;
    games.push({ score: this.score[lane], length: this.age[lane] });
    this.over[lane] = 1;
  }

  /** Remember what every lane sees in whose episode the rollout ends. */
  cut() {
    for (let lane = 0; lane < this.lanes; lane++) {
      if (this.row[lane] >= 0 && !this.over[lane]) {
        this.rollout.follow(this.row[lane], this.obs, lane * this.world.features);
      }
    }
  }
}

/** Whole episodes, back to back, until there are at least `rows` rows; each lane then finishes its episode. */
export function playEpisodes(player, agent, rows) {
  const playing = new Uint8Array(player.lanes).fill(1);
  const before = new Uint8Array(player.lanes);
  player.begin();
  for (let lane = 0; lane < player.lanes; lane++) player.reset(lane);
  while (playing.includes(1)) {
    before.set(player.over);
    player.step(agent, playing);
    if (player.rollout.rows < rows) continue;
    for (let lane = 0; lane < player.lanes; lane++) if (before[lane] || player.over[lane]) playing[lane] = 0;
  }
  return player.rollout;
}
