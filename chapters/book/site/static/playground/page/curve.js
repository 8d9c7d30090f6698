// An agent's learning curve on a common grid of steps, as the library scores it, while it grows.

export const POINTS = 100;

/** Linear between updates in which an episode ended, constant before the first and after the last. */
export class Curve {
  constructor(budget) {
    Object.assign(this, { budget, values: [], step: 0, latest: NaN, first: NaN });
  }

  /** The step of the next point to come. */
  get next() {
    return ((this.values.length + 1) * this.budget) / POINTS;
  }

  /** An update: its step, its mean return or NaN, whether the agent goes on, and whether it diverged. */
  add({ step, return: score, active, diverged }) {
    if (!Number.isNaN(score)) {
      if (Number.isNaN(this.first)) [this.first, this.latest] = [score, score];
      const slope = (score - this.latest) / (step - this.step);
      while (this.values.length < POINTS && this.next <= step) {
        this.values.push(this.latest + slope * (this.next - this.step));
      }
      Object.assign(this, { step, latest: score });
    }
    if (active) return;
    if (diverged) this.values.length = Math.min(this.values.length, Math.ceil((step * POINTS) / this.budget) - 1);
    while (this.values.length < POINTS) {
      this.values.push(diverged && this.next >= step ? this.first : this.latest);
    }
  }
}
