// The loop with these flags, its lines decided as in the atlas. The line that is worked on is marked.

import { element } from "./dom.js";

const PARTS = { play: /^play_/, judge: /^(values|reward_to_go|gae|follow_returns_|preserve_outputs_)$/ };

export class Code {
  constructor() {
    this.lines = element("pre");
    const scrolls = { class: "highlight", tabindex: 0, role: "region", "aria-label": "the loop" };
    this.box = element("div", scrolls, this.lines);
    this.says = element("div", { class: "play-phase" });
    this.element = element("div", { class: "play-code" }, this.says, this.box);
    this.shown = [];
    this.rest();
  }

  /** Show the loop. Lines that the last one did not have are tinted in the color of `changed`, a trick's name. */
  show(on, changed) {
    const before = new Set(this.shown.map((line) => line.textContent));
    this.shown = Book.loopLines(on).map(([blank, html]) => {
      const line = element("span", { class: "loop-line" });
      line.innerHTML = html;
      if (blank) line.style.marginTop = `${blank * 0.6}em`;
      return line;
    });
    this.lines.replaceChildren(...this.shown);
    this.element.dataset.lines = this.shown.length;
    if (!before.size || !changed) return;
    const fresh = this.shown.filter((line) => !before.has(line.textContent));
    fresh.forEach((line) => line.classList.add("play-fresh"));
    this.box.style.setProperty("--color", Playground.LADDER.tricks.find(({ name }) => name === changed).color);
    if (fresh.length) this.reveal(fresh[0]);
  }

  /** Mark the line that calls this function. */
  mark(phase, minibatch) {
    const call = new RegExp(`\\b${phase}\\(`);
    const line = this.shown.find(({ textContent }) => call.test(textContent) && !/^\s*def /.test(textContent));
    for (const other of this.shown) other.classList.toggle("play-now", other === line);
    if (line) this.reveal(line);
    const part = Object.keys(PARTS).find((name) => PARTS[name].test(phase)) ?? "learn";
    const which = part === "learn" && minibatch ? `minibatch ${minibatch}, ` : "";
    this.says.textContent = `${part}: ${which}${phase}`;
  }

  /** No line: it goes too fast to see. */
  rest() {
    for (const line of this.shown) line.classList.remove("play-now");
    this.says.textContent = "Slow down to watch it run, line by line.";
  }

  /** Scroll within the box only: the page stays where it is. */
  reveal(line) {
    this.box.scrollTop = line.offsetTop - this.box.clientHeight / 2;
  }
}
