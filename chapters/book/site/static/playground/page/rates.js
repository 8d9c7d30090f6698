// At every rate: groups of agents at seven learning rates, and each setting's mean return over training by rate.
// Whether a trick helps depends on the rate, and one rate alone does not show it.

import { ARMS, quarters, sized } from "./picture.js";
import { Arm, CORES } from "./arm.js";
import { button, element } from "./dom.js";
import { FEWEST, interval, mean, welch } from "./stats.js";
import { apart } from "./names.js";
import { colored } from "./colors.js";
import { place } from "./places.js";

export const RATES = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1];
const MOST = 10; // agents in a group
const PAUSE = 200; // milliseconds between two pictures
const APART = 0.05; // of a setting's points from the rate, in powers of ten
const EDGE = 0.2; // of the axis from its outer rates

export class Rates {
  /** usual: the rate of the first setting that one sees here. */
  constructor(usual) {
    Object.assign(this, { groups: [], waiting: [], failure: "", id: 0 });
    this.button = button("", () => (this.running ? this.end() : this.begin()));
    this.said = element("p", { role: "status" });
    this.place = element("div", { hidden: true });
    this.legend = element("div", { class: "play-legend" });
    this.usual = usual;
    this.asks = element("span");
    const head = element("p", {}, this.asks, " ", this.button);
    this.element = element("div", { class: "play-rates" }, head, this.legend, this.place, this.said);
  }

  /** The setting to train, with one arm or two; before: what its only arm was before the last change, or null. */
  show(setting, before) {
    const arms = (setting.arms[1] ? setting.arms : compared(setting.arms[0], before)).map(settled);
    const shown = { ...setting, watch: 0, agents: Math.min(MOST, setting.agents), arms };
    if (JSON.stringify(shown) === JSON.stringify(this.setting)) return;
    this.end();
    Object.assign(this, { setting: shown, names: arms.length > 1 ? apart(arms) : [], groups: [], failure: "" });
    this.place.hidden = true;
    this.legend.replaceChildren();
    const first = setting.world === "CartPole-v1" && arms[0].numbers.lr === this.usual;
    const chosen = `The first setting's rate, ${this.usual}, was chosen so that the clip decides. Is it so at others?`;
    this.asks.textContent = first ? chosen : "What one sees may depend on the learning rate. Is it so at others?";
    colored(this.element, arms);
    this.look();
  }

  /** How many groups have ended. */
  get progress() {
    const ended = this.groups.filter(({ arm }) => arm.ended).length;
    return `${ended} of ${RATES.length * this.setting.arms.length} groups have ended.`;
  }

  get running() {
    return this.waiting.length > 0 || this.groups.some(({ arm }) => !arm.ended);
  }

  /** Train all groups, those nearest to the setting's own rate first, on as many cores as the page's agents may use. */
  begin() {
    const { arms } = this.setting;
    const far = (lr) => Math.abs(Math.log(lr / arms[0].numbers.lr));
    const rates = [...RATES].sort((a, b) => far(a) - far(b));
    this.legend.replaceChildren(
      ...this.names.map((name, k) => element("span", { class: `play-name ${ARMS[k]}` }, name)),
    );
    Object.assign(this, { groups: [], failure: "" });
    this.waiting = rates.flatMap((lr) => arms.map((_, which) => ({ lr, which })));
    this.axes();
    this.fill();
    this.id = setInterval(() => this.look(), PAUSE);
    this.look();
  }

  fill() {
    while (this.waiting.length && this.groups.filter(({ arm }) => !arm.ended).length < CORES) {
      const group = this.waiting.shift();
      const arms = this.setting.arms.map((arm) => ({ ...arm, numbers: { ...arm.numbers, lr: group.lr } }));
      group.arm = new Arm({ ...this.setting, arms }, group.which, { workers: 1 });
      this.groups.push(group);
      group.arm.session.on("end", () => this.fill()).on("error", ({ message }) => {
        this.failure = message;
        this.end();
      });
    }
  }

  /** End all workers. */
  end() {
    clearInterval(this.id);
    this.waiting = [];
    for (const { arm } of this.groups) arm.stop();
    if (this.groups.length) this.look();
  }

  axes() {
    this.place.replaceChildren();
    this.place.hidden = false;
    const [width, height] = sized(this.place);
    const { range } = place(this.setting.world);
    this.chart = Book.chart(this.place, {
      label: "mean return over training by learning rate",
      ...{ x: [Math.log10(RATES[0]) - EDGE, Math.log10(RATES.at(-1)) + EDGE], y: range, width, height },
      ...{ xlabel: "learning rate", ylabel: "mean return over training" },
      xticks: RATES.map((lr) => [Math.log10(lr), String(lr)]),
      yticks: quarters(range),
    });
  }

  look() {
    const { running, groups, names } = this;
    this.button.textContent = running ? "stop" : `At every rate${names.length ? `: ${names.join(" / ")}` : ""}`;
    this.said.textContent = this.failure ? `Training stopped: ${this.failure}` : running ? this.progress : this.verdict();
    if (!running) clearInterval(this.id);
    if (groups.length) this.draw();
    Book.tell(this.element, groups.map(({ lr, which, arm }) => ({ lr, which, areas: arm.areas(arm.reached) })));
  }

  /** Each setting's groups as they are: their mean and its interval, and a line through the means. */
  draw() {
    this.chart.clear();
    this.setting.arms.forEach((_, which) => {
      const own = this.groups.filter((group) => group.which === which && group.arm.reached);
      const shown = own.sort((a, b) => a.lr - b.lr);
      const at = shown.map(({ lr }) => Math.log10(lr) + APART * (which - 0.5) * (this.setting.arms.length - 1));
      const areas = shown.map(({ arm }) => arm.areas(arm.reached));
      this.chart.line(areas.map((each, k) => [at[k], mean(each)]), { class: `line thin ${ARMS[which]}` });
      shown.forEach(({ arm }, k) => {
        const style = `${ARMS[which]} ${arm.done ? "" : "play-agent"}`;
        const [low, high] = interval(areas[k]);
        if (low <= high) this.chart.line([[at[k], low], [at[k], high]], { class: `line ${style}` });
        this.chart.dot(at[k], mean(areas[k]), { class: style, r: 4 });
      });
    });
  }

  /** At which rates the two differ, by intervals that hold for all rates together; once all are trained. */
  verdict() {
    const done = this.groups.filter(({ arm }) => arm.done);
    if (this.names.length < 2 || done.length < 2 * RATES.length) return "";
    if (this.setting.agents < FEWEST) return `An interval needs ${FEWEST} agents.`;
    const found = RATES.map((lr) => {
      const [a, b] = [0, 1].map((which) => done.find((each) => each.lr === lr && each.which === which).arm);
      const { low, high } = welch(b.areas(b.reached), a.areas(a.reached), PLAYED.joint);
      return low > 0 ? 1 : high < 0 ? 0 : -1;
    });
    const better = this.names.map((name, which) => [name, RATES.filter((_, k) => found[k] === which)]);
    const some = better.filter(([, rates]) => rates.length);
    const parts = some.map(([name, rates]) => `${name} is better at ${listed(rates)}`);
    const open = `${this.setting.agents} agents leave it open`;
    if (!parts.length) return `With intervals that hold at all rates together (95%), ${open} at every rate.`;
    const rest = found.includes(-1) ? ` At the others, ${open}.` : "";
    return `With intervals that hold at all rates together (95%), ${parts.join("; ")}.${rest}`;
  }
}

/** A single arm and what it was before; else, what it is without its last trick that no other needs. */
function compared(arm, before) {
  if (before) return [before, arm];
  const free = arm.tricks.filter((name) => !Playground.faults(arm.tricks.filter((each) => each !== name)).length);
  return free.length ? [{ ...arm, tricks: arm.tricks.filter((name) => name !== free.at(-1)) }, arm] : [arm];
}

/** What an arm trains by. A line of one's own stands where the clip's does. */
function settled({ tricks, numbers, swaps }) {
  return swaps && tricks.includes("clip") ? { tricks, numbers, swaps } : { tricks, numbers };
}

function listed(rates) {
  return rates.length > 1 ? `${rates.slice(0, -1).join(", ")} and ${rates.at(-1)}` : String(rates[0]);
}
