// The playground: a setting on the left, its agents beside it, and their loop and diagnostics below them.

import { GAME, unknown } from "./riddle.js";
import { Game } from "./game.js";
import { Own } from "./own.js";
import { button, element, offer, select } from "./dom.js";
import { Controls } from "./controls.js";
import { ARMS } from "./picture.js";
import { Rates } from "./rates.js";
import { Watching } from "./watching.js";
import { colored } from "./colors.js";
import { apart, names } from "./names.js";
import { read, written } from "./address.js";

const SPEEDS = [
  [0.1, "line by line"],
  [0.5, "an update in 2 s"],
  [4, "4 updates a second"],
  [20, "20 updates a second"],
  [Infinity, "full speed"],
];
const BOLD = "lr=0.03&steps=30000&hidden=16,16"; // a rate at which the clip decides
const PPO = Playground.LADDER.presets.ppo;
const CLIP = "baseline,reuse,clip";
const IDEAS = [
  ["the clip, on and off", `a=baseline,reuse&b=baseline,reuse,clip&${BOLD}`],
  [
    "naive reuse against the ratio",
    `a=${CLIP}&a.objective=log_ratio*advantage&b=${CLIP}&b.objective=ratio*advantage&${BOLD}`,
  ],
  ["plain REINFORCE: how far apart are ten seeds?", "a=&lr=0.01"],
  ["PPO with and without value_clip", `a=${PPO}&b=${PPO},value_clip`],
  ["PPO's core against REINFORCE", "a=&b=baseline,reuse,clip,gae,advantage_norm&lr=0.01"],
  [
    "twenty useless actions, with and without a mask",
    "world=tricks/Grid20-v0&a=baseline,reuse,clip,gae&b=baseline,reuse,clip,gae,action_mask",
  ],
  ["GRPO's σ, where it learns the wrong word", "world=tricks/Stakes-v0&a=group_baseline&b=group_baseline,group_norm&hidden=8"],
  ["flattery, with and without a leash", "world=tricks/Loophole-v0&a=&b=kl_penalty&kl_coef=0.3&kl_estimator=k2&hidden=8"],
  ["guess the fault", "guess=random"],
];
const QUIET = matchMedia("(prefers-reduced-motion: reduce)");

export class Page {
  constructor(place) {
    this.place = place;
    this.own = new Own((kind, text) => this.write(kind, text));
    this.game = new Game(() => this.riddle(), () => this.reveal());
    this.speed = SPEEDS.length - 1;
    this.paused = QUIET.matches;
    this.watching = new Watching((agent) => this.pick(agent), (found) => this.tell(found));
    this.controls = new Controls((setting, changed, k) => this.put(setting, changed, k));
    this.rates = new Rates(read(place.dataset.start ?? "").setting.arms[0].numbers.lr);
    this.problem = element("p", { class: "play-problem", role: "alert", hidden: true });
    this.build();
    addEventListener("hashchange", () => this.enter());
    addEventListener("pagehide", () => [this.watching, this.rates].forEach((each) => each.end()));
    addEventListener("pageshow", ({ persisted }) => persisted && this.begin());
    this.enter();
  }

  build() {
    const { watching, controls } = this;
    const act = (method) => () => this[method]();
    this.play = button("", act("toggle"), { class: "play-main" });
    this.one = button("one update", act("step"), { title: "one update of every agent" });
    this.range = element("input", { type: "range", min: 0, max: SPEEDS.length - 1, "aria-label": "speed" });
    this.pace = element("output");
    this.range.addEventListener("input", () => this.hurry(Number(this.range.value)));
    this.agent = select("agent to watch", (agent) => this.pick(Number(agent)));
    this.shared = button("copy link", act("share"), { title: "the address holds this setting" });
    const bar = [this.play, this.one, button("restart", act("begin"))];
    const top = element("div", { class: "play-bar" }, ...bar, element("label", {}, this.range, this.pace), this.shared);
    const stages = element("div", { class: "play-stages" }, ...watching.stages.map((stage) => stage.element));
    const follow = element("label", { class: "play-follow" }, "Watching ", this.agent, " (or click a line)");
    this.legend = element("div", { class: "play-legend" });
    const says = element("div", { class: "play-says" }, watching.verdict, watching.lone);
    const beside = element("div", { class: "play-beside" }, says, follow, stages);
    const parts = {
      left: [controls.element],
      agents: [top, watching.progress, this.legend, watching.picture.element, beside, this.rates.element, this.ideas()],
      below: [watching.code.element, watching.gauges.element],
    };
    const made = Object.entries(parts).map(([name, inside]) => element("div", { class: `play-${name}` }, ...inside));
    this.place.append(this.problem, element("div", { class: "play-grid" }, ...made));
    watching.code.element.before(this.own.element);
    watching.gauges.element.before(this.game.element);
    this.hurry(this.speed);
  }

  /** There is a new verdict. Tests read it from the page. */
  tell(found) {
    const { done, arms } = this.watching;
    this.place.dataset.told = JSON.stringify({ ...found, done, reached: arms.map(({ reached }) => reached) });
    if (done) this.showPlay();
  }

  /** Settings worth a look, one click away. */
  ideas() {
    const links = IDEAS.map(([text, address]) => element("a", { href: `#${address}` }, text));
    return element("p", { class: "play-ideas" }, "Try: ", ...links);
  }

  /** Take the setting from the address. */
  enter() {
    const { hash } = location;
    const elsewhere = hash && !hash.includes("="); // another place on this page
    if (this.setting && (elsewhere || hash === written(this.setting))) return;
    this.watching.forget();
    const { setting, wrong } = read(hash && !elsewhere ? hash : (this.place.dataset.start ?? ""));
    Object.assign(this, { setting, k: setting.arms.length - 1 });
    this.begin();
    if (setting.guess !== undefined) {
      history.replaceState(null, "", written(setting)); // of all random ones, this one
      this.game.element.scrollIntoView();
    }
    this.problem.hidden = wrong.length === 0;
    this.problem.textContent = `This link asks for what can't be: ${wrong.join("; ")}.`;
  }

  /** Another setting, in which a trick was switched; k: the arm that is changed from now on. */
  put(setting, changed, k) {
    const old = this.setting;
    Object.assign(this, { setting, k });
    history.replaceState(null, "", written(setting));
    if (setting === old) {
      this.watching.turn(k);
      return;
    }
    if (comparable(old, setting)) this.watching.leave(k, this.paused);
    else this.watching.forget();
    this.begin(changed);
  }

  begin(changed = "") {
    const { setting, k, place } = this;
    this.own.show(setting, k);
    this.game.show(setting);
    this.problem.hidden = true;
    colored(place, setting.arms);
    this.controls.show(setting, k);
    const agents = Array.from({ length: setting.agents }, (_, agent) => [agent, `seed ${setting.from + agent}`]);
    offer(this.agent, agents, setting.watch);
    this.watching.begin(setting, k, { paused: this.paused, speed: SPEEDS[this.speed][0], changed });
    this.rates.show(setting, this.watching.before?.arm);
    this.showNames();
    this.showPlay();
  }

  /** What the lines are: the arms, and what one of them was before the last change. */
  showNames() {
    const { setting, watching } = this;
    const { arm, which } = watching.before ?? {};
    const own = names(setting.arms);
    const [old, now] = arm ? apart([arm, setting.arms[which]]) : [];
    if (arm && own.length === 1) own[0] = `now: ${now}`;
    const named = (name, style) => element("span", { class: `play-name ${style}` }, name);
    const before = arm ? [named(`before: ${old}`, `play-before ${ARMS[which]}`)] : [];
    this.legend.replaceChildren(...before, ...own.map((name, k) => named(name, ARMS[k])));
  }

  pick(agent) {
    this.setting = { ...this.setting, watch: agent };
    this.controls.setting = this.setting;
    this.agent.value = agent;
    history.replaceState(null, "", written(this.setting));
    this.watching.watch(agent);
  }

  toggle() {
    if (this.watching.done) {
      this.paused = false;
      this.begin();
      return;
    }
    this.paused = !this.paused;
    this.watching.all(this.paused ? "pause" : "resume");
    this.showPlay();
  }

  step() {
    if (!this.paused) this.toggle();
    this.watching.all("stepOneUpdate");
  }

  /** Train a line that the reader wrote, and what else was written before, against the usual ones. */
  write(kind, text) {
    const { tricks, numbers, swaps: { fault, ...lines } = {} } = this.setting.arms[this.k];
    const arm = { tricks: Playground.closed([...tricks, Playground.LINES[kind].trick]), numbers };
    const { guess, ...setting } = this.setting;
    this.put({ ...setting, arms: [arm, { ...arm, swaps: { ...lines, [kind]: text } }] }, "", 1);
    this.watching.picture.element.scrollIntoView({ block: "nearest" });
  }

  /** Another fault to guess. */
  riddle() {
    const { setting } = read(`${GAME}&guess=${unknown()}`);
    this.put(setting, "", 1);
  }

  /** Light up the line of the fault that was to be guessed. */
  reveal() {
    const { guess, ...setting } = this.setting;
    Object.assign(this, { setting, k: setting.arms.findIndex(({ swaps }) => swaps?.fault) });
    history.replaceState(null, "", written(setting));
    this.controls.show(setting, this.k);
    this.watching.secret = false;
    this.watching.turn(this.k);
    this.watching.code.element.scrollIntoView({ block: "nearest" });
    this.game.show(setting);
  }

  hurry(k) {
    this.speed = k;
    this.range.value = k;
    this.pace.textContent = SPEEDS[k][1];
    this.range.setAttribute("aria-valuetext", SPEEDS[k][1]);
    this.watching.setSpeed(SPEEDS[k][0]);
  }

  showPlay() {
    this.play.textContent = this.watching.done ? "train again" : this.paused ? "train" : "pause";
  }

  /** Put the address, with the setting, where it can be pasted. */
  async share() {
    history.replaceState(null, "", written(this.setting));
    try {
      await navigator.clipboard.writeText(location.href);
      this.shared.textContent = "copied";
    } catch {
      this.shared.textContent = "see the address"; // a browser that lets no page write to the clipboard
    }
    setTimeout(() => (this.shared.textContent = "copy link"), 2000);
  }
}

/** Whether two settings differ in their arms' tricks and numbers alone, so that both have a place in one picture. */
function comparable({ arms, ...rest }, { arms: others, ...other }) {
  const budget = (some) => String(some.map(({ numbers }) => numbers.steps));
  const same = arms.length === others.length && budget(arms) === budget(others);
  return same && JSON.stringify({ ...rest, watch: 0 }) === JSON.stringify({ ...other, watch: 0 });
}
