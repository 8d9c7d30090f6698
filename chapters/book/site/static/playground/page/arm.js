// One setting's agents: their session, their rows and curves, and what is computed from these.

import { Curve, POINTS } from "./curve.js";
import { interval, mean } from "./stats.js";

export const CORES = Math.max(1, (navigator.hardwareConcurrency ?? 2) - 1); // one is left for the page

/** Train a setting's arms (see address.js), which share the cores. */
export function begun(setting, { paused = false, speed = Infinity } = {}) {
  const workers = Math.max(1, Math.floor(CORES / setting.arms.length));
  const arms = setting.arms.map((_, k) => new Arm(setting, k, { workers, paused, speed }));
  for (const arm of arms) {
    arm.session.on("error", ({ message }) => {
      arm.failure = message;
      arms.forEach((each) => each.stop());
    });
  }
  return arms;
}

export class Arm {
  constructor(setting, k, { workers, paused = false, speed = Infinity }) {
    const { tricks, numbers } = setting.arms[k];
    const seeds = Array.from({ length: setting.agents }, (_, agent) => setting.from + agent);
    Object.assign(this, { tricks, numbers, seeds, rows: seeds.map(() => []), ended: false, failure: "" });
    this.curves = seeds.map(() => new Curve(numbers.steps));
    this.bands = []; // the mean and its interval at each point that all agents have reached
    this.swaps = setting.arms[k].swaps;
    this.session = new Playground.Session({
      ...{ world: setting.world, tricks, numbers, seeds, hidden: setting.hidden, workers, paused, swaps: this.swaps },
    });
    if (speed < Infinity) this.session.setSpeed(speed);
    this.session.on("update", (rows) => rows.forEach((row) => this.take(row)));
    this.session.on("end", () => this.stop());
  }

  take(row) {
    this.rows[row.agent].push(row);
    this.curves[row.agent].add(row);
    while (this.bands.length < this.reached) {
      const here = this.curves.map(({ values }) => values[this.bands.length]);
      this.bands.push([mean(here), ...interval(here)]);
    }
  }

  /** How many points of the grid all agents have reached. */
  get reached() {
    return Math.min(...this.curves.map(({ values }) => values.length));
  }

  get done() {
    return this.reached === POINTS;
  }

  get begun() {
    return this.rows.some((rows) => rows.length);
  }

  get diverged() {
    return this.rows.filter((rows) => rows.at(-1)?.diverged).length;
  }

  /** Each agent's mean return over the first so many points. At the end it is the area under its curve. */
  areas(points) {
    return this.curves.map(({ values }) => mean(values.slice(0, points)));
  }

  stop() {
    this.ended = true;
    this.session.stop();
  }
}
