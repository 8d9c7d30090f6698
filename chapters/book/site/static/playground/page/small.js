// A small playground in a chapter: two settings on the same seeds, trained at a click, and a link to the large one.

import { ARMS, Picture } from "./picture.js";
import { begun } from "./arm.js";
import { button, element } from "./dom.js";
import { colored } from "./colors.js";
import { judged } from "./verdict.js";
import { names } from "./names.js";
import { place } from "./places.js";
import { read, written } from "./address.js";

const PAUSE = 200; // milliseconds between two pictures
const SPREAD = 100; // seeds from one click to the next

export class Small {
  /** at: has what to train as an address in data-setting, and the large one's page in data-large. */
  constructor(at) {
    this.at = at;
    this.setting = read(at.dataset.setting).setting;
    this.arms = [];
    this.picture = new Picture();
    this.said = element("p", { class: "play-verdict", role: "status" });
    this.start = button("Train it here", () => this.begin(), { class: "play-main" });
    this.open = element("a", { href: this.link }, "open in the playground");
    const legend = names(this.setting.arms).map((name, k) => element("span", { class: `play-name ${ARMS[k]}` }, name));
    at.append(element("div", { class: "play-bar" }, this.start, ...legend, this.open), this.picture.element, this.said);
    colored(at, this.setting.arms);
    const { world, arms } = this.setting;
    this.picture.begin({ steps: arms[0].numbers.steps, range: place(world).range });
    addEventListener("pagehide", () => this.end());
  }

  get link() {
    return `${this.at.dataset.large}${written(this.setting)}`;
  }

  /** Train; every click has seeds of its own. */
  begin() {
    this.end();
    if (this.arms.length) this.setting.from += SPREAD;
    delete this.at.dataset.told;
    this.open.href = this.link;
    this.arms = begun(this.setting);
    this.start.textContent = "again, other seeds";
    this.id = setInterval(() => this.look(), PAUSE);
  }

  look() {
    const found = judged(this.arms, 0);
    const done = this.arms.every(({ ended }) => ended);
    this.picture.draw(this.arms, 0);
    this.said.textContent = found.text;
    this.at.dataset.told = JSON.stringify({ ...found, done, from: this.setting.from });
    if (done) clearInterval(this.id);
  }

  end() {
    clearInterval(this.id);
    for (const arm of this.arms) arm.stop();
  }
}
