// A small playground in a chapter: two settings on the same seeds, trained at a click, and a link to the large one.

import { Arm } from "./arm.js";
import { ARMS, Picture } from "./picture.js";
import { button, element } from "./dom.js";
import { colored } from "./colors.js";
import { names } from "./names.js";
import { ofOne, ofTwo } from "./verdict.js";
import { place } from "./places.js";
import { read, written } from "./address.js";

const PAUSE = 120; // milliseconds between two pictures
const SPREAD = 100; // seeds from one click to the next

export class Small {
  /** place: has what to train as an address in data-setting, the arms' names, and the large one's page. */
  constructor(at) {
    const { setting, large } = at.dataset;
    this.at = at;
    this.setting = read(setting).setting;
    this.large = large;
    this.picture = new Picture();
    this.said = element("p", { class: "play-verdict", role: "status" });
    this.start = button("Train it here", () => this.begin(), { class: "play-main" });
    this.open = element("a", { href: this.link }, "open in the playground");
    const legend = names(this.setting.arms).map((name, k) => element("span", { class: `play-name ${ARMS[k]}` }, name));
    const bar = element("div", { class: "play-bar" }, this.start, ...legend, this.open);
    at.append(bar, element("figure", { class: "play-figure" }, this.picture.element), this.said);
    colored(at, this.setting.arms);
    this.axes();
    addEventListener("pagehide", () => this.end());
    this.arms = [];
  }

  get link() {
    return `${this.large}${written(this.setting)}`;
  }

  axes() {
    this.picture.begin({ steps: this.setting.arms[0].numbers.steps, range: place(this.setting.world).range });
  }

  /** Train; every click has seeds of its own. */
  begin() {
    this.end();
    if (this.arms.length) this.setting.from += SPREAD;
    delete this.at.dataset.told;
    this.open.href = this.link;
    const cores = Math.max(1, (navigator.hardwareConcurrency ?? 2) - 1);
    const workers = Math.max(1, Math.floor(cores / this.setting.arms.length));
    this.arms = this.setting.arms.map((_, k) => new Arm(this.setting, k, { workers, paused: false, speed: Infinity }));
    this.start.textContent = "again, other seeds";
    for (const { session } of this.arms) session.on("error", ({ message }) => (this.said.textContent = message));
    this.id = setInterval(() => this.look(), PAUSE);
  }

  look() {
    this.picture.draw(this.arms, 0);
    const found = this.arms.length > 1 ? ofTwo(this.arms, 0) : ofOne(this.arms[0], 0);
    this.said.textContent = found.text;
    const done = this.arms.every((arm) => arm.ended);
    this.at.dataset.told = JSON.stringify({ ...found, done, from: this.setting.from });
    if (done) clearInterval(this.id);
  }

  end() {
    clearInterval(this.id);
    for (const arm of this.arms) arm.stop();
  }
}
