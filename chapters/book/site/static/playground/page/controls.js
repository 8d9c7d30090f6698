// The left column: the world, the switches in ladder order, the sliders, and which of two settings they belong to.

import { SHOWN, place } from "./places.js";
import { button, element, offer, select } from "./dom.js";
import { ARMS } from "./picture.js";
import { Slider } from "./slider.js";
import { called } from "./names.js";
import { defaults } from "./address.js";

const SLIDERS = [
  ["lr", "learning rate", [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]],
  ["gamma", "discount γ", [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1]],
  ["epochs", "epochs", [1, 2, 3, 4, 6, 8, 10, 15, 20]],
  ["clip_range", "clip range ε", [0.05, 0.1, 0.2, 0.3, 0.5, 0.8]],
  ["gae_lambda", "GAE λ", [0, 0.5, 0.8, 0.9, 0.95, 0.98, 1]],
  ["entropy_coef", "entropy bonus", [0, 0.001, 0.003, 0.01, 0.03, 0.05, 0.1]],
  ["clip_high", "upper limit ε_high", [0.2, 0.28, 0.5, 1, 3]],
  ["kl_coef", "KL weight β", [0, 0.01, 0.03, 0.1, 0.3, 1]],
];
const CROWDS = [1, 5, 10, 20];
const { LADDER, LINES } = Playground;
const PRESETS = Object.entries(LADDER.presets);
const OF_REPLIES = LADDER.tricks.filter(({ replies }) => replies).map(({ name }) => name);

export class Controls {
  /** change(setting, trick, k) is called with a new setting, the trick that was switched, if any, and the arm. */
  constructor(change) {
    this.change = change;
    this.world = select("world", (id) => this.enter(id));
    this.about = element("p", { class: "play-about" });
    this.tabs = element("div", { class: "play-tabs", role: "group", "aria-label": "which setting to change" });
    this.preset = select("preset", (name) => this.choose(LADDER.presets[name] ?? this.draft));
    this.boxes = new Map();
    this.fault = element("div", { class: "play-fault", role: "alert" });
    const point = element("span", { class: "play-point" }, "Point at a trick to read what it is.");
    const tap = element("span", { class: "play-tap" }, "Tap a ? to read what a trick is.");
    this.telling = element("div", { class: "play-tells", role: "status" }, point, tap);
    this.sliders = SLIDERS.map(([name, label, stops]) => new Slider(name, label, stops, (x) => this.slide(name, x)));
    const [rate, ...numbers] = this.sliders.map((slider) => slider.element);
    const under = element("div", { class: "play-under" }, this.fault, this.telling);
    this.agents = select("agents per setting", (count) => this.put({ agents: Number(count), watch: 0 }));
    const next = () => this.put({ from: this.setting.from + this.setting.agents });
    const others = button("other seeds", next, { title: "the same setting, other luck" });
    this.element = element(
      "div",
      { class: "play-controls" },
      element("div", { class: "play-row" }, this.world),
      this.about,
      this.tabs,
      this.preset,
      element("div", { class: "play-sliders play-rate" }, rate),
      element("div", { class: "play-tricks" }, this.switches(), under),
      element("div", { class: "play-sliders" }, ...numbers),
      element("div", { class: "play-row" }, this.agents, others),
    );
  }

  /** In ladder order, those of replies only where there are any; those beyond the ladder below a line. */
  switches() {
    const all = { class: "play-switches", role: "group", "aria-label": "tricks" };
    const rest = element("div", { class: "play-beyond" });
    const made = element("div", all);
    for (const trick of LADDER.tricks) (trick.beyond ? rest : made).append(this.switch(trick));
    made.append(rest);
    return made;
  }

  switch({ name, color }) {
    const tell = () => this.tell(name);
    const flip = () => this.flip(name, box.checked);
    const box = element("input", { type: "checkbox", name, on: { change: flip, focus: tell } });
    this.boxes.set(name, box);
    const words = element("label", {}, box, element("span", {}, name));
    const asked = { class: "play-what", "aria-label": `what ${name} is`, tabindex: -1 }; // focus tells, too
    const what = button("?", tell, asked);
    return element("div", { class: "play-switch", style: `--color: ${color}`, on: { mouseenter: tell } }, words, what);
  }

  /** Show a setting. k: the arm that the switches belong to. */
  show(setting, k) {
    const { world, agents, arms } = setting;
    Object.assign(this, { setting, k, draft: arms[k].tricks });
    const ids = SHOWN.includes(world) ? SHOWN : [...SHOWN, world];
    offer(this.world, ids.map((id) => [id, place(id).name]), world);
    this.about.textContent = place(world).about;
    const counts = CROWDS.includes(agents) ? CROWDS : [...CROWDS, agents];
    offer(this.agents, counts.map((count) => [count, count === 1 ? "1 agent" : `${count} agents`]), agents);
    this.tabs.replaceChildren(...(arms.length === 1 ? [this.comparing()] : [this.tab(0), this.tab(1), this.keeping()]));
    this.showSwitches();
    const { kind } = Playground.WORLDS[world];
    for (const slider of this.sliders) {
      slider.show(arms[k].numbers[slider.name], missing(slider.name, arms[k].tricks));
      slider.element.hidden = OF_REPLIES.includes(owner(slider.name)?.name) && kind !== "reply";
    }
  }

  /** A button that trains a second setting on the same seeds: the preset that one would take, or nothing at all. */
  comparing() {
    const [arm] = this.setting.arms;
    const { ppo, reinforce } = LADDER.presets;
    const tricks = String(arm.tricks) === String(ppo) ? reinforce : ppo;
    const compare = () => this.change({ ...this.setting, arms: [arm, { ...arm, tricks }] }, "", 1);
    return button("Compare A with B", compare, { class: "play-compare" });
  }

  /** A button that turns to an arm, to change it. */
  tab(k) {
    const turn = () => {
      this.show(this.setting, k);
      this.change(this.setting, "", k);
    };
    const pressed = String(k === this.k);
    return button("AB"[k], turn, { title: `change ${"AB"[k]}`, class: `play-tab ${ARMS[k]}`, "aria-pressed": pressed });
  }

  /** A button that drops the other arm. */
  keeping() {
    const { setting, k } = this;
    const title = `keep only ${"AB"[k]}`;
    const keep = () => this.change({ ...setting, arms: [setting.arms[k]] }, "", 0);
    return button("×", keep, { title, "aria-label": title });
  }

  showSwitches() {
    const others = this.setting.arms[1 - this.k]?.tricks;
    const { kind } = Playground.WORLDS[this.setting.world];
    for (const [name, box] of this.boxes) {
      box.checked = this.draft.includes(name);
      box.closest(".play-switch").hidden = OF_REPLIES.includes(name) && kind !== "reply" && !box.checked;
      const differs = Boolean(others) && box.checked !== others.includes(name);
      box.closest(".play-switch").classList.toggle("play-differs", differs);
    }
    const [match] = PRESETS.find(([, on]) => String(on) === String(this.draft)) ?? [""];
    offer(this.preset, [["", "a set of your own"], ...PRESETS.map(([name]) => [name, called(name)])], match);
    this.fault.replaceChildren(...Playground.faults(this.draft).map((fault) => this.mending(fault)));
  }

  /** What a trick of the draft lacks or excludes, and a button that switches it on or off. */
  mending({ trick, needs, excludes, text }) {
    const kept = this.draft.filter((name) => !Playground.closed([name]).some((each) => excludes.includes(each)));
    const mend = () => this.choose(Playground.closed([...kept, ...needs]), trick);
    const done = needs.length ? `switch on ${needs.join(", ")}` : `switch off ${excludes.join(", ")}`;
    return element("div", {}, `${text}. `, button(done, mend));
  }

  /** What a trick is, and where to read about it. */
  tell(name) {
    const { adds } = LADDER.tricks.find((trick) => trick.name === name);
    const link = element("a", { href: `chapters/${PLAYED.chapters[name]}.html` }, "Its chapter");
    this.telling.replaceChildren(element("b", {}, name), `: ${adds}. `, link);
  }

  flip(name, on) {
    this.tell(name); // a tap gives no focus everywhere
    const names = on ? [...this.draft, name] : this.draft.filter((other) => other !== name);
    this.choose([...this.boxes.keys()].filter((each) => names.includes(each)), name);
  }

  /** Give the arm these tricks. If one of them lacks another, only say so. */
  choose(tricks, changed = "") {
    this.draft = tricks;
    this.showSwitches();
    const before = Object.entries(this.setting.arms[this.k].swaps ?? {});
    const swaps = Object.fromEntries(before.filter(([kind]) => kind === "fault" || tricks.includes(LINES[kind].trick)));
    if (!Playground.faults(tricks).length) this.put({ arms: this.with({ tricks, swaps }) }, changed);
  }

  slide(name, value) {
    this.put({ arms: this.with({ numbers: { ...this.setting.arms[this.k].numbers, [name]: value } }) });
  }

  /** The arms, the one that is being changed with these parts. */
  with(parts) {
    return this.setting.arms.map((arm, which) => (which === this.k ? { ...arm, ...parts } : arm));
  }

  /** Another world, with the numbers that suit it, and without the flags of replies if it has none. */
  enter(world) {
    const kept = (name) => Playground.WORLDS[world].kind === "reply" || !OF_REPLIES.includes(name);
    const fitting = ({ tricks }) => ({ tricks: tricks.filter(kept), numbers: defaults(world) });
    const arms = this.setting.arms.map((arm) => ({ ...arm, ...fitting(arm) }));
    this.put({ world, arms });
  }

  put(parts, changed = "") {
    this.change({ ...this.setting, ...parts }, changed, this.k);
  }
}

/** The trick that a number belongs to, if any. */
function owner(number) {
  return LADDER.tricks.find(({ numbers }) => numbers.includes(number));
}

/** The trick without which a number does nothing, or nothing. */
function missing(number, on) {
  const trick = owner(number);
  return trick && !on.includes(trick.name) ? trick.name : "";
}
