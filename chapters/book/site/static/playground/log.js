// What is known about one agent's training: its steps, whether it goes on, and a row of diagnostics per update.

import { OF_POLICY, reached } from "./kl_stop.js";
import { mean } from "./reductions.js";

const NAMES = [
  ...["policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "max_ratio", "explained_variance"],
  ...["grad_norm", "learning_rate", "clip_range", "return_mean", "return_std", "steps_taken", "bounded_fraction"],
  ...["clip_high_fraction", "reference_kl"],
];
const WATCHED = ["policy_loss", "grad_norm"]; // an agent ends if one of them is not finite

export class Log {
  constructor(config) {
    Object.assign(this, { budget: config.steps, steps: 0, update: 0, active: true, diverged: false, notes: {} });
    Object.assign(this, { minibatch: 0, ratios: null, advantage: null }); // the latest ones, for whoever watches
  }

  /** Share of its budget that the agent has used, on which all schedules run. */
  get progress() {
    return this.steps / this.budget;
  }

  /** Record diagnostics of one minibatch. A row has their mean over the update, of max_ratio the maximum. */
  note(diagnostics) {
    for (const [name, value] of Object.entries(diagnostics)) (this.notes[name] ??= []).push(value);
  }

  /** The update's row: steps so far, the episodes that ended, and the diagnostics, NaN where the rung has none. */
  endUpdate(rollout) {
    this.steps += rollout.rows;
    const { games } = rollout;
    const average = (key) => (games.length ? mean(games.map((game) => game[key])) : NaN);
    const row = { update: this.update++, step: this.steps, episodes: games.length };
    Object.assign(row, { return: average("score"), length: average("length") });
    for (const name of NAMES) row[name] = this.summary(name);
    this.diverged = WATCHED.some((name) => this.notes[name].some((value) => !Number.isFinite(value)));
    this.active = !this.diverged && this.steps < this.budget;
    Object.assign(this, { notes: {}, minibatch: 0 });
    return { ...row, active: this.active, diverged: this.diverged };
  }

  /** The diagnostics of the latest minibatch, and its ratios. */
  get now() {
    const latest = Object.entries(this.notes).map(([name, notes]) => [name, notes[notes.length - 1]]);
    return { ratios: this.ratios, notes: Object.fromEntries(latest) };
  }

  summary(name) {
    let notes = this.notes[name];
    if (!notes) return NaN;
    const taken = this.notes.steps_taken;
    if (taken && OF_POLICY.includes(name)) notes = notes.filter((_, k) => reached(taken, k));
    return name === "max_ratio" ? Math.max(...notes) : mean(notes);
  }
}
