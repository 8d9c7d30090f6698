// What is seen of a pair of arms while they train: the picture, the stages, the loop, the gauges, and what may be said.

import { ARMS, Picture } from "./picture.js";
import { Arm } from "./arm.js";
import { POINTS } from "./curve.js";
import { Code } from "./code.js";
import { Gauges } from "./gauges.js";
import { Stage } from "./stage.js";
import { alike } from "./names.js";
import { element } from "./dom.js";
import { ofOne, ofTwo } from "./verdict.js";
import { place } from "./places.js";

const PAUSE = 90; // milliseconds between two pictures

export class Watching {
  /** pick(agent): a line was clicked. */
  constructor(pick) {
    this.picture = new Picture(pick);
    this.stages = ARMS.map((name) => new Stage(name));
    this.code = new Code();
    this.gauges = new Gauges();
    this.verdict = element("p", { class: "play-verdict" });
    this.lone = element("p", { class: "play-lone" });
    this.progress = element("progress", { max: 1, value: 0, "aria-label": "share of the budget used" });
    Object.assign(this, { arms: [], drawn: 0, id: 0 });
  }

  /** Train the setting's arms from the beginning. k: the arm whose loop and ratios are shown. */
  begin(setting, k, { paused, speed, changed }) {
    this.end();
    const { range } = place(setting.world);
    const { tricks, numbers } = setting.arms[k];
    this.setting = setting;
    const cores = Math.max(1, (navigator.hardwareConcurrency ?? 2) - 1); // one is left for the page
    const workers = Math.max(1, Math.floor(cores / setting.arms.length));
    this.arms = setting.arms.map((_, which) => new Arm(setting, which, { workers, paused, speed }));
    this.picture.begin({ steps: numbers.steps, range });
    this.picture.arms = this.arms;
    this.stages.forEach((stage, which) => {
      stage.begin(setting.world);
      stage.element.hidden = which >= this.arms.length;
    });
    this.gauges.begin(this.arms, setting.world, numbers.steps);
    this.code.show(tricks, changed);
    Object.assign(this, { k, fast: speed > 4 });
    this.arms.forEach((arm, which) => this.listen(arm, which));
    this.watch(setting.watch);
    this.look();
  }

  listen({ session, tricks }, which) {
    session.on("update", () => this.soon());
    session.on("end", () => this.soon());
    session.on("error", ({ message }) => this.say(`Training stopped: ${message}`));
    session.on("watched", ({ film, row, ratios }) => {
      this.stages[which].show(film, row.update);
      const range = tricks.includes("clip") ? row.clip_range : null;
      if (which === this.k && this.fast) this.gauges.show(ratios, range, which);
    });
    session.on("phase", ({ phase, minibatch, ratios, notes, film }) => {
      if (film) this.stages[which].show(film, this.arms[which].rows[this.watched].length);
      if (which !== this.k || this.fast) return;
      this.code.mark(phase, minibatch);
      this.gauges.show(minibatch ? ratios : null, notes.clip_range ?? null, which);
    });
  }

  /** Follow this agent in every arm. */
  watch(agent) {
    this.watched = agent;
    for (const { session } of this.arms) session.watch(agent);
    this.soon();
  }

  setSpeed(speed) {
    this.fast = speed > 4;
    if (this.fast) this.code.rest();
    for (const { session } of this.arms) session.setSpeed(speed);
  }

  /** Every session, to pause, resume or step it. */
  all(what) {
    for (const { session } of this.arms) session[what]();
  }

  get done() {
    return this.arms.length > 0 && this.arms.every((arm) => arm.ended);
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
    this.drawn = performance.now();
    const { arms, watched } = this;
    this.picture.draw(arms, watched);
    this.gauges.draw(arms, watched, this.k);
    const found = arms.length > 1 ? ofTwo(arms, watched) : ofOne(arms[0], watched);
    const copied = arms.length > 1 && alike(arms);
    if (copied) Object.assign(found, { text: "B is a copy of A. Change something about B.", lone: "" });
    const lost = arms.reduce((sum, arm) => sum + arm.diverged, 0);
    const diverged = lost ? ` ${lost} diverged: a number was no longer finite.` : "";
    this.say(found.text + diverged, found.lone ?? "");
    const used = arms.map((arm) => arm.reached / POINTS);
    this.progress.value = Math.min(...used);
    if (this.done) for (const stage of this.stages) stage.element.classList.add("play-over");
    this.told?.(found);
  }

  say(text, lone = "") {
    this.verdict.textContent = text;
    this.lone.textContent = lone;
  }

  /** End all workers. */
  end() {
    clearTimeout(this.id);
    this.id = 0;
    for (const arm of this.arms) arm.stop();
    for (const stage of this.stages) stage.stop();
  }
}
