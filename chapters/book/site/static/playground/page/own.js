// Write your own trick: the objective's line as a field, its picture and its slope, and a button that trains it.

import { button, element } from "./dom.js";

export const PRESETS = {
  "naive": "log_ratio * advantage",
  "ratio": "ratio * advantage",
  "clip": "min(ratio * advantage, clamp(ratio, 1 - eps, 1 + eps) * advantage)",
  "dual clip": "where(advantage < 0, clamp(ratio, 1 - eps, 3), min(ratio, 1 + eps)) * advantage",
  "rollback": "min(ratio * advantage, (1.3 * clamp(ratio, 1 - eps, 1 + eps) - 0.3 * ratio) * advantage)",
  "min left out": "clamp(ratio, 1 - eps, 1 + eps) * advantage",
};
const ABOUT = `Maximized, on average over a minibatch. ratio is π/π_old, log_ratio its logarithm, eps the clip range.
  There are + - * / ^, min, max, clamp(x, low, high), exp, log, abs, sign, and where(a < b, x, y).`;
const KEY = `Solid: advantage +1. Dashed: −1. Gray: the clip. Shaded: its range. Where both sides of a min or max are
  equal, each gives half of its slope, as in PyTorch.`;
const [REACH, COUNT] = [4, 401]; // the largest ratio in the picture, and how many are computed
const RATIOS = Float64Array.from({ length: COUNT }, (_, k) => Math.max(1e-6, (k * REACH) / (COUNT - 1)));
const PICTURES = { objective: 4, slope: 2 }; // how far each axis reaches

export class Own {
  /** train(objective) is called with what is written. */
  constructor(train) {
    const attributes = { rows: 2, spellcheck: "false", autocapitalize: "off", "aria-label": "the objective of a row" };
    this.field = element("textarea", { ...attributes, on: { input: () => this.look() } });
    this.said = element("p", { class: "play-own-says", role: "status" });
    this.start = button("", () => train(this.field.value.trim()), { class: "play-main" });
    this.pictures = element("div", { class: "play-own-pictures arm-b" });
    const presets = Object.entries(PRESETS).map(([name, text]) => button(name, () => this.write(text)));
    this.element = element(
      "details",
      { class: "play-own" },
      element("summary", {}, "Write your own trick"),
      element("p", {}, ABOUT),
      element("div", { class: "play-row" }, "Begin from ", ...presets),
      element("label", {}, element("code", {}, "objective ="), this.field),
      element("div", { class: "play-row" }, this.start, this.said),
      this.pictures,
      element("p", {}, KEY),
    );
    this.range = 0.2;
    this.write(PRESETS["min left out"]);
  }

  write(text) {
    this.field.value = text;
    this.look();
  }

  /** Show the setting's own line, if it has one. */
  show({ agents, arms }, k) {
    const objective = [arms[k], ...arms].map(({ swaps }) => swaps?.objective).find(Boolean);
    this.range = arms[k].numbers.clip_range;
    this.start.textContent = `Train ${agents} agent${agents === 1 ? "" : "s"} against the clip`;
    if (objective) this.element.open = true;
    this.write(objective ?? this.field.value);
  }

  /** Draw what is written, or say what is wrong with it. */
  look() {
    let [found, wrong] = [null, ""];
    try {
      found = Playground.writtenObjective(this.field.value);
    } catch ({ message }) {
      wrong = `${message[0].toUpperCase()}${message.slice(1)}.`;
    }
    this.start.disabled = Boolean(wrong);
    this.said.classList.toggle("play-problem", Boolean(wrong));
    this.said.textContent = wrong || (flat(found, this.range) ? "It is flat: nothing would be learned." : "");
    this.draw(found);
  }

  draw(found) {
    const clip = Playground.writtenObjective(PRESETS.clip);
    this.pictures.replaceChildren();
    for (const [name, reach] of Object.entries(PICTURES)) {
      const place = element("div");
      const axes = { x: [0, REACH], y: [-reach, reach], xlabel: "ratio", title: name, width: 330, height: 200 };
      const chart = Book.chart(place, axes);
      chart.bar(Math.max(0, 1 - this.range), Math.min(REACH, 1 + this.range), reach, { class: "band" });
      for (const advantage of [1, -1]) {
        const dashed = advantage < 0 ? "play-dashed" : "";
        trace(chart, values(clip, advantage, this.range)[name], reach, `line play-clip ${dashed}`);
        if (found) trace(chart, values(found, advantage, this.range)[name], reach, `line ${dashed}`);
      }
      this.pictures.append(place);
    }
  }
}

/** An objective and its slope by the ratio, over RATIOS. */
function values(objective, advantage, range) {
  const { value, slope } = objective(RATIOS, RATIOS.map(() => advantage), range);
  return { objective: value, slope: slope.map((each, k) => each / RATIOS[k]) };
}

function flat(objective, range) {
  return [1, -1].every((advantage) => values(objective, advantage, range).slope.every((each) => each === 0));
}

/** A line where it is within the axis. */
function trace(chart, ys, reach, style) {
  let piece = [];
  const end = () => {
    if (piece.length > 1) chart.line(piece, { class: style });
    piece = [];
  };
  ys.forEach((y, k) => (Math.abs(y) <= reach ? piece.push([RATIOS[k], y]) : end()));
  end();
}
