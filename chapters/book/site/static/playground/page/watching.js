// One or two arms while they train: their curves, stages, loop, gauges, and the verdict.

import { ARMS, Picture } from "./picture.js";
import { Code } from "./code.js";
import { Gauges } from "./gauges.js";
import { POINTS } from "./curve.js";
import { Stage } from "./stage.js";
import { alike } from "./names.js";
import { begun } from "./arm.js";
import { element } from "./dom.js";
import { judged } from "./verdict.js";
import { place } from "./places.js";

const PAUSE = 90; // milliseconds between two pictures

export class Watching {
  /** pick(agent): a line was clicked. told(found): there is a new verdict. */
  constructor(pick, told) {
    this.picture = new Picture(pick);
    this.stages = ARMS.map((name, k) => new Stage(name, `${"AB"[k]}'s watched agent at play`));
    this.code = new Code();
    this.gauges = new Gauges();
    this.verdict = element("p", { class: "play-verdict" });
    this.lone = element("p", { class: "play-lone" });
    this.progress = element("progress", { max: 1, value: 0, "aria-label": "share of the budget used" });
    Object.assign(this, { told, arms: [], before: null, drawn: 0, id: 0 });
  }

  /** Arm k is about to change: what it was goes on to its end, as the faded line; unless it never began. */
  leave(k, paused) {
    const arm = this.arms[k];
    if (paused && !arm.begun) return;
    this.forget();
    arm.session.watch(-1);
    this.before = { arm, which: k };
  }

  /** No faded line. */
  forget() {
    this.before?.arm.stop();
    this.before = null;
  }

  /** Train the setting's arms from the beginning. k: the arm whose loop and ratios are shown. */
  begin(setting, k, { paused, speed, changed }) {
    this.rest();
    if (this.before && alike([this.before.arm, setting.arms[this.before.which]])) this.forget();
    const { range } = place(setting.world);
    const { steps } = setting.arms[k].numbers;
    this.fast = speed > Playground.SLOW;
    this.secret = setting.guess !== undefined;
    this.arms = begun(setting, { paused, speed });
    this.picture.begin({ steps, range });
    this.stages.forEach((stage, which) => {
      stage.begin(setting.world);
      stage.element.hidden = which >= this.arms.length;
    });
    this.gauges.begin(setting.world, steps);
    this.turn(k, changed);
    this.arms.forEach((arm, which) => this.listen(arm, which));
    this.watch(setting.watch);
    this.look();
  }

  listen(arm, which) {
    const { session, rows } = arm;
    for (const kind of ["update", "end", "error"]) session.on(kind, () => this.soon());
    session.on("watched", ({ film, row, ratios }) => {
      if (this.arms[which] !== arm) return; // it has become the faded line
      this.stages[which].show(film, row.update);
      this.gauges.take(which, ratios, row.clip_range);
    });
    session.on("phase", ({ phase, minibatch, ratios, notes, film }) => {
      if (this.arms[which] !== arm) return;
      if (film) this.stages[which].show(film, rows[this.watched].length);
      if (this.fast) return;
      if (minibatch) this.gauges.take(which, ratios, notes.clip_range);
      if (which === this.k) this.code.mark(phase, minibatch);
      this.soon();
    });
  }

  /** Show this arm's loop and ratios, its lines that are new tinted for the trick that was `changed`. */
  turn(k, changed = "") {
    this.k = k;
    const { tricks, swaps } = this.arms[k];
    this.code.show(tricks, changed, this.secret ? {} : swaps);
    this.soon();
  }

  /** Follow this agent in every arm. */
  watch(agent) {
    this.watched = agent;
    for (const { session } of this.arms) session.watch(agent);
    this.soon();
  }

  setSpeed(speed) {
    this.fast = speed > Playground.SLOW;
    if (this.fast) this.code.rest();
    for (const { session } of this.everyone) session.setSpeed(speed);
  }

  /** Every session, to pause, resume or step it. */
  all(what) {
    for (const { session } of this.everyone) session[what]();
  }

  get everyone() {
    return this.before ? [...this.arms, this.before.arm] : this.arms;
  }

  get done() {
    return this.arms.length > 0 && this.arms.every(({ ended }) => ended);
  }

  soon() {
    if (this.id) return;
    const wait = Math.max(0, this.drawn + PAUSE - performance.now());
    this.id = setTimeout(() => {
      this.id = 0;
      this.look();
    }, wait);
  }

  look() {
    const { arms, watched, k } = this;
    const before = this.before?.arm.failure ? null : this.before;
    this.drawn = performance.now();
    this.picture.draw(arms, watched, before);
    this.gauges.draw(arms, watched, k);
    const found = judged(arms, watched, before?.arm);
    this.verdict.textContent = found.text;
    this.lone.textContent = found.lone;
    this.progress.value = Math.min(...arms.map(({ reached }) => reached)) / POINTS;
    this.told(found);
  }

  /** End all workers. */
  end() {
    this.forget();
    this.rest();
  }

  /** End the workers of all but the faded line. */
  rest() {
    clearTimeout(this.id);
    this.id = 0;
    for (const arm of this.arms) if (arm !== this.before?.arm) arm.stop();
    for (const stage of this.stages) stage.stop();
  }
}
