// The loop with these flags, its lines decided as in the atlas. The line that is worked on is marked.

import { element } from "./dom.js";
import { swappedLine } from "./swaps.js";

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

  /**
   * Show the loop. Lines that the last one did not have are tinted in the color of `changed`, a trick's name; those
   * that the arm's swaps change are lit up.
   */
  show(on, changed, swaps) {
    const before = new Set(this.shown.map((line) => line.textContent));
    this.shown = Book.loopLines(on).map(([blank, html]) => {
      const line = element("span", { class: "loop-line" });
      line.innerHTML = html;
      if (blank) line.style.marginTop = `${blank * 0.6}em`;
      return line;
    });
    this.calls = this.shown.map((line) => line.textContent); // also of the lines that are swapped
    this.lines.replaceChildren(...this.shown);
    this.swap(swaps);
    this.element.dataset.lines = this.shown.length;
    if (!before.size || !changed) return;
    const fresh = this.shown.filter((line) => !before.has(line.textContent));
    fresh.forEach((line) => line.classList.add("play-fresh"));
    this.box.style.setProperty("--color", Playground.LADDER.tricks.find(({ name }) => name === changed).color);
    if (fresh.length) this.reveal(fresh[0]);
  }

  swap(swaps) {
    const lit = this.shown.filter((line) => {
      const text = swappedLine(line.textContent, swaps);
      if (text === line.textContent) return false;
      line.textContent = text;
      line.classList.add("play-swapped", ...(swaps.fault ? ["play-faulty"] : []));
      return true;
    });
    if (lit.length) this.reveal(lit[0]);
  }

  /** Mark the line that calls this function. */
  mark(phase, minibatch) {
    const call = new RegExp(`\\b${phase}\\(`);
    const line = this.shown[this.calls.findIndex((text) => call.test(text) && !/^\s*def /.test(text))];
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
