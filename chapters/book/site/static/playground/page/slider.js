// A slider over a few values.

import { element } from "./dom.js";

export class Slider {
  /** change(value) is called when it is let go. */
  constructor(name, label, stops, change) {
    Object.assign(this, { name, usual: stops, stops });
    this.said = element("output");
    this.input = element("input", { type: "range", min: 0, step: 1, name, "aria-label": label });
    this.input.addEventListener("input", () => this.say());
    this.input.addEventListener("change", () => change(this.value));
    this.needs = element("i");
    this.element = element("label", {}, element("span", {}, label, this.needs), this.said, this.input);
  }

  get value() {
    return this.stops[Number(this.input.value)];
  }

  say() {
    this.said.textContent = String(this.value);
    this.input.setAttribute("aria-valuetext", this.said.textContent);
  }

  /** needs: the trick without which the number does nothing. */
  show(value, needs) {
    this.stops = this.usual.includes(value) ? this.usual : [...this.usual, value].sort((a, b) => a - b);
    this.input.max = this.stops.length - 1;
    this.input.value = this.stops.indexOf(value);
    this.input.disabled = Boolean(needs);
    this.say();
    this.needs.textContent = needs ? ` needs ${needs}` : "";
  }
}
