// Experience: every step of a lane is a row.

import { buffer } from "./buffers.js";

/** Rows of experience in the order of time and lane, in columns that the next rollout writes over. */
export class Rollout {
  constructor(world, lanes) {
    Object.assign(this, { world, lanes, columns: {} });
    this.clear();
  }

  clear() {
    Object.assign(this, { rows: 0, lasts: 0, games: [] }); // games: the score and length of each that ended
  }

  /** A column's array, long enough for one more row. */
  column(name, width, Kind, rows = this.rows) {
    return (this.columns[name] = buffer(this.columns[name], (rows + 1) * width, Kind));
  }

  get obs() { return this.columns.obs.subarray(0, this.rows * this.world.features); } // [B, D]
  get legal() { return this.columns.legal?.subarray(0, this.rows * this.world.actions); } // [B, A], 1 or 0
  get action() { return this.columns.action.subarray(0, this.rows); }
  get reward() { return this.columns.reward.subarray(0, this.rows); }
  get terminated() { return this.columns.terminated.subarray(0, this.rows); } // the episode reached a terminal state
  get truncated() { return this.columns.truncated.subarray(0, this.rows); } // only a time limit ended it
  get lane() { return this.columns.lane.subarray(0, this.rows); }
  /** Where in `lastObs` the observation after the row is, if it is in no row of its own and not terminal; else −1. */
  get last() { return this.columns.last.subarray(0, this.rows); }
  get lastObs() { return (this.columns.lastObs ?? new Float64Array()).subarray(0, this.lasts * this.world.features); }

  /** Rows that end an episode, in whatever way. */
  get done() {
    const { terminated, truncated } = this;
    return terminated.map((ended, r) => ended | truncated[r]);
  }

  /** Rows whose episode would go on, but no reward was collected beyond them: where a segment ends. */
  get cut() {
    const { last, truncated } = this;
    return truncated.map((ended, r) => (last[r] >= 0 && !ended ? 1 : 0));
  }

  /** The same rollout with some of its columns replaced. */
  having(columns) {
    return Object.create(this, Object.getOwnPropertyDescriptors(columns));
  }

  /** Remember the observation after a row. */
  follow(row, obs, at) {
    const width = this.world.features;
    const kept = this.column("lastObs", width, Float64Array, this.lasts);
    for (let k = 0; k < width; k++) kept[this.lasts * width + k] = obs[at + k];
    this.columns.last[row] = this.lasts++;
  }
}
