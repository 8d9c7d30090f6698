// Guess the fault: a button, three names to choose from, and what gave the fault away.

import { WORDS, riddle } from "./riddle.js";
import { button, element } from "./dom.js";

const IDLE = "One line of a sound loop is swapped for a wrong one. Can you tell which, from the diagnostics alone?";
const ASKED = `A is sound; in B, one line of the loop is wrong. Compare the diagnostics below, and don't trust the
  curve. Which fault is it?`;

export class Game {
  /** begin() starts another riddle. reveal() lights the line up. */
  constructor(begin, reveal) {
    Object.assign(this, { begin, reveal, found: 0, tried: 0 });
    this.says = element("p", { role: "status" });
    this.row = element("div", { class: "play-row" });
    this.element = element("div", { class: "play-riddle" }, this.says, this.row);
  }

  /** Show what is to be guessed in a setting, or what there was. */
  show({ guess, arms }) {
    const fault = arms.map(({ swaps }) => swaps?.fault).find(Boolean);
    const again = button(fault ? "another one" : "Guess the fault", () => this.begin());
    if (fault && guess !== undefined) {
      this.says.textContent = ASKED;
      const choices = riddle(guess).choices.map((name) => button(WORDS[name].name, () => this.choose(name, fault)));
      this.row.replaceChildren(...choices);
      return;
    }
    this.says.textContent = fault ? `${WORDS[fault].name}. ${WORDS[fault].gives}` : IDLE;
    this.row.replaceChildren(again);
  }

  choose(name, fault) {
    this.tried++;
    this.found += name === fault ? 1 : 0;
    this.reveal();
    const answer = element("b", {}, name === fault ? "Right: " : "No: ");
    this.says.prepend(answer);
    if (this.tried > 1) this.says.append(` You have found ${this.found} of ${this.tried}.`);
  }
}
