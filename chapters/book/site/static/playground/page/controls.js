// The left column: the world, the switches in ladder order, the sliders, and which of two settings they belong to.

import { SHOWN, place } from "./places.js";
import { button, element } from "./dom.js";
import { defaults } from "./address.js";
import { Slider } from "./slider.js";

const SLIDERS = [
  ["lr", "learning rate", [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]],
  ["gamma", "discount γ", [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1]],
  ["epochs", "epochs", [1, 2, 3, 4, 6, 8, 10, 15, 20]],
  ["clip_range", "clip range ε", [0.05, 0.1, 0.2, 0.3, 0.5, 0.8]],
  ["gae_lambda", "GAE λ", [0, 0.5, 0.8, 0.9, 0.95, 0.98, 1]],
  ["entropy_coef", "entropy bonus", [0, 0.001, 0.003, 0.01, 0.03, 0.05, 0.1]],
];
const CROWDS = [1, 5, 10, 20];

export class Controls {
  /** change(setting, trick) is called with a new setting, and the trick that was switched, if it was one. */
  constructor(change) {
    this.change = change;
    this.world = element("select", { "aria-label": "world", on: { change: () => this.enter(this.world.value) } });
    this.about = element("p", { class: "play-about" });
    this.tabs = element("div", { class: "play-tabs", role: "group", "aria-label": "which setting to change" });
    const names = Object.keys(Playground.LADDER.presets);
    this.preset = element("select", { "aria-label": "preset" }, element("option", { value: "" }, "presets ..."));
    this.preset.append(...names.map((name) => element("option", { value: name }, name)));
    this.preset.addEventListener("change", () => this.choose(Playground.LADDER.presets[this.preset.value] ?? this.draft));
    this.boxes = new Map();
    this.fault = element("div", { class: "play-fault", role: "alert" });
    this.telling = element("div", { class: "play-tells" });
    this.sliders = SLIDERS.map(([name, label, stops]) => new Slider(name, label, stops, (value) => this.slide(name, value)));
    this.agents = element("select", { "aria-label": "agents per setting" });
    this.agents.append(...CROWDS.map((count) => element("option", { value: count }, count === 1 ? "1 agent" : `${count} agents`)));
    this.agents.addEventListener("change", () => this.put({ agents: Number(this.agents.value), watch: 0 }));
    const others = () => this.put({ from: this.setting.from + this.setting.agents });
    this.element = element(
      "div",
      { class: "play-controls" },
      element("div", { class: "play-row" }, this.world),
      this.about,
      this.tabs,
      this.preset,
      this.switches(),
      element("div", { class: "play-under" }, this.fault, this.telling),
      element("div", { class: "play-sliders" }, ...this.sliders.map((slider) => slider.element)),
      element("div", { class: "play-row" }, this.agents, button("other seeds", others, { title: "the same setting, other luck" })),
    );
  }

  switches() {
    const list = (beyond) =>
      Playground.LADDER.tricks.filter((trick) => trick.beyond === beyond).map(({ name, color }) => {
        const tell = () => this.tell(name);
        const box = element("input", { type: "checkbox", name, on: { change: () => this.flip(name, box.checked), focus: tell } });
        this.boxes.set(name, box);
        return element("label", { style: `--color: ${color}`, on: { mouseenter: tell } }, box, element("span", {}, name));
      });
    const rest = element("div", { class: "play-beyond" }, ...list(true));
    return element("div", { class: "play-switches", role: "group", "aria-label": "tricks" }, ...list(false), rest);
  }

  /** Show a setting. k: the arm that the switches belong to. */
  show(setting, k) {
    Object.assign(this, { setting, k, draft: setting.arms[k].tricks });
    const ids = SHOWN.includes(setting.world) ? SHOWN : [...SHOWN, setting.world];
    this.world.replaceChildren(...ids.map((id) => element("option", { value: id }, place(id).name)));
    this.world.value = setting.world;
    this.about.textContent = place(setting.world).about;
    if (!CROWDS.includes(setting.agents) && ![...this.agents.options].some((o) => o.value === String(setting.agents))) {
      this.agents.append(element("option", { value: setting.agents }, `${setting.agents} agents`));
    }
    this.agents.value = setting.agents;
    this.showTabs();
    this.showSwitches();
    const own = setting.arms[k];
    for (const slider of this.sliders) slider.show(own.numbers[slider.name], missing(slider.name, own.tricks));
  }

  showTabs() {
    const { setting, k } = this;
    if (setting.arms.length === 1) {
      const [arm] = setting.arms; // compared with what was before the last change
      const compare = () => this.change({ ...setting, arms: [this.before ?? arm, arm] }, "", 1);
      this.tabs.replaceChildren(button("Compare A with B", compare, { class: "play-compare" }));
      return;
    }
    const tab = (which) =>
      button("AB"[which], () => this.show(setting, which) ?? this.change(setting, "", which), {
        title: `change ${"AB"[which]}`,
        class: `play-tab ${["arm-a", "arm-b"][which]}`,
        "aria-pressed": String(which === k),
      });
    const keep = () => this.change({ ...setting, arms: [setting.arms[k]] }, "", 0);
    this.tabs.replaceChildren(tab(0), tab(1), button("×", keep, { "aria-label": `keep only ${"AB"[k]}`, title: `keep only ${"AB"[k]}` }));
  }

  showSwitches() {
    const others = this.setting.arms[1 - this.k]?.tricks;
    for (const [name, box] of this.boxes) {
      box.checked = this.draft.includes(name);
      box.parentElement.classList.toggle("play-differs", Boolean(others) && box.checked !== others.includes(name));
    }
    const match = Object.entries(Playground.LADDER.presets).find(([, on]) => String(on) === String(this.draft));
    this.preset.value = match ? match[0] : "";
    this.fault.replaceChildren(
      ...Playground.faults(this.draft).map(({ trick, needs, text }) => {
        const mended = needs.length ? Playground.closed([...this.draft, ...needs]) : this.draft.filter((x) => x !== trick);
        const what = needs.length ? `switch on ${needs.join(", ")}` : `switch off ${trick}`;
        return element("div", {}, `${text}. `, button(what, () => this.choose(mended, trick)));
      }),
    );
  }

  /** What a trick is, and where to read about it. */
  tell(name) {
    const { adds } = Playground.LADDER.tricks.find((trick) => trick.name === name);
    const link = element("a", { href: `chapters/${PLAYED.chapters[name]}.html` }, "Its chapter");
    this.telling.replaceChildren(element("b", {}, name), `: ${adds}. `, link);
  }

  flip(name, on) {
    const names = on ? [...this.draft, name] : this.draft.filter((other) => other !== name);
    this.choose([...this.boxes.keys()].filter((each) => names.includes(each)), name);
  }

  /** These tricks for the arm, if they go together; otherwise it is said what is missing, and nothing else happens. */
  choose(tricks, changed = "") {
    this.draft = tricks;
    this.showSwitches();
    if (!Playground.faults(tricks).length) this.put({ arms: this.with({ tricks }) }, changed);
  }

  slide(name, value) {
    this.put({ arms: this.with({ numbers: { ...this.setting.arms[this.k].numbers, [name]: value } }) });
  }

  /** The arms, the one that is being changed with these parts. */
  with(parts) {
    return this.setting.arms.map((arm, which) => (which === this.k ? { ...arm, ...parts } : arm));
  }

  /** Another world, with the numbers that suit it. */
  enter(world) {
    const arms = this.setting.arms.map(({ tricks }) => ({ tricks, numbers: defaults(world) }));
    this.put({ world, arms });
  }

  put(parts, changed = "") {
    const other = parts.world ?? this.setting.world;
    this.before = parts.arms && other === this.setting.world ? this.setting.arms[0] : null;
    this.change({ ...this.setting, ...parts }, changed, this.k);
  }
}

/** The trick without which a number does nothing, or nothing. */
function missing(number, on) {
  const owner = Playground.LADDER.tricks.find(({ numbers }) => numbers.includes(number));
  return owner && !on.includes(owner.name) ? owner.name : "";
}
