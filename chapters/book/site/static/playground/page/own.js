// Write your own trick: the objective's line and the advantage's as fields, what they make of a row in pictures, and
// buttons that train them.

import { button, element } from "./dom.js";

export const PRESETS = {
  "naive": "log_ratio * advantage",
  "ratio": "ratio * advantage",
  "clip": "min(ratio * advantage, clamp(ratio, 1 - eps, 1 + eps) * advantage)",
  "dual clip": "where(advantage < 0, clamp(ratio, 1 - eps, 3), min(ratio, 1 + eps)) * advantage",
  "rollback": "min(ratio * advantage, (1.3 * clamp(ratio, 1 - eps, 1 + eps) - 0.3 * ratio) * advantage)",
  "min left out": "clamp(ratio, 1 - eps, 1 + eps) * advantage",
};
const ADVANTAGES = {
  "as it is": "advantage",
  "centered": "advantage - mean",
  "signed": "sign(advantage - mean)",
  "clamped": "clamp((advantage - mean) / (std + 1e-8), -1, 1)",
  "only the good": "max(advantage - mean, 0) / (std + 1e-8)",
};
const STANDARDIZED = "(advantage - mean) / (std + 1e-8)";
const ABOUT = `Both are expressions of a row: + - * / ^, min, max, clamp(x, low, high), exp, log, abs, sign, and
  where(a < b, x, y). The objective is maximized, on average over a minibatch: ratio is π/π_old, log_ratio its
  logarithm, eps the clip range. The advantage is what it is made from: mean and std are the minibatch's. A
  line that you have trained stays while you train the other.`;
const KEY = `Solid: advantage +1. Dashed: −1. Gray: the clip. Shaded: its range. Where both sides of a min or max are
  equal, each gives half of its slope, as in PyTorch. Right: advantages of a minibatch with mean 1 and std 2. Gray:
  standardized.`;
const [REACH, COUNT] = [4, 401]; // the largest ratio in the picture, and how many are computed
const RATIOS = Float64Array.from({ length: COUNT }, (_, k) => Math.max(1e-6, (k * REACH) / (COUNT - 1)));
const ADVANTAGES_SHOWN = Float64Array.from(RATIOS, (_, k) => 2 * REACH * (k / (COUNT - 1) - 0.5));
const PICTURES = { objective: 4, slope: 2 }; // how far each axis reaches
const { LINES } = Playground;

/** A line that is written in a field, with presets to begin from, and a button that trains it. */
class Line {
  /** train(text) is called with what is written, look() after each change. */
  constructor(kind, presets, { start, versus, train, look }) {
    Object.assign(this, { kind, versus, look });
    const label = `the ${kind} of a row`;
    const attributes = { rows: 2, spellcheck: "false", autocapitalize: "off", "aria-label": label };
    this.field = element("textarea", { ...attributes, on: { input: () => this.look() } });
    this.said = element("p", { class: "play-own-says", role: "status" });
    this.start = button("", () => train(this.field.value.trim()), { class: "play-main" });
    const choices = Object.entries(presets).map(([name, text]) => button(name, () => this.write(text)));
    this.element = element(
      "div",
      { class: `play-own-${kind}` },
      element("label", {}, element("code", {}, `${kind} =`), this.field),
      element("div", { class: "play-row" }, "Begin from ", ...choices),
      element("div", { class: "play-row" }, this.start, this.said),
    );
    this.field.value = start;
  }

  write(text) {
    this.field.value = text;
    this.look();
  }

  /** What is written as a function, or null; then it says what is wrong. idle(f): what is vain about it, if anything. */
  made(idle) {
    let [found, wrong] = [null, ""];
    try {
      found = LINES[this.kind].made(this.field.value);
    } catch ({ message }) {
      wrong = `${message[0].toUpperCase()}${message.slice(1)}.`;
    }
    this.start.disabled = Boolean(wrong);
    this.said.classList.toggle("play-problem", Boolean(wrong));
    this.said.textContent = wrong || idle(found);
    return found;
  }

  /** Show an arm's own line, if it has one, and how many agents would train. */
  show(text, agents) {
    this.start.textContent = `Train ${agents} agent${agents === 1 ? "" : "s"} against ${this.versus}`;
    if (text) this.field.value = text;
  }
}

export class Own {
  /** train(kind, text) is called with the line that is to be trained. */
  constructor(train) {
    const line = (kind, presets, start, versus) =>
      new Line(kind, presets, { start, versus, train: (text) => train(kind, text), look: () => this.look() });
    this.objective = line("objective", PRESETS, PRESETS["min left out"], "the clip");
    this.advantage = line("advantage", ADVANTAGES, ADVANTAGES.signed, "the standardized one");
    this.pictures = element("div", { class: "play-own-pictures arm-b" });
    this.element = element(
      "details",
      { class: "play-own" },
      element("summary", {}, "Write your own trick"),
      element("p", {}, ABOUT),
      this.objective.element,
      this.advantage.element,
      this.pictures,
      element("p", {}, KEY),
    );
    this.range = 0.2;
    this.look();
  }

  /** Show the setting's own lines, if it has any. */
  show({ agents, arms }, k) {
    const of = (kind) => [arms[k], ...arms].map(({ swaps }) => swaps?.[kind]).find(Boolean);
    this.range = arms[k].numbers.clip_range;
    for (const line of [this.objective, this.advantage]) {
      line.show(of(line.kind), agents);
      if (of(line.kind)) this.element.open = true;
    }
    this.look();
  }

  /** Draw what is written, or say what is wrong with it. */
  look() {
    const vain = (found) => (flat(found, this.range) ? "It is flat: nothing would be learned." : "");
    const nothing = (found) => (shown(found).every((x) => x === 0) ? "It is 0: nothing would be learned." : "");
    const [objective, advantage] = [this.objective.made(vain), this.advantage.made(nothing)];
    this.pictures.replaceChildren(...this.ofObjective(objective), this.ofAdvantage(advantage));
  }

  ofObjective(found) {
    const clip = Playground.writtenObjective(PRESETS.clip);
    return Object.entries(PICTURES).map(([name, reach]) => {
      const place = element("div");
      const axes = { x: [0, REACH], y: [-reach, reach], xlabel: "ratio", title: name, width: 330, height: 200 };
      const chart = Book.chart(place, axes);
      chart.bar(Math.max(0, 1 - this.range), Math.min(REACH, 1 + this.range), reach, { class: "band" });
      for (const advantage of [1, -1]) {
        const dashed = advantage < 0 ? "play-dashed" : "";
        trace(chart, RATIOS, values(clip, advantage, this.range)[name], reach, `line play-clip ${dashed}`);
        if (found) trace(chart, RATIOS, values(found, advantage, this.range)[name], reach, `line ${dashed}`);
      }
      return place;
    });
  }

  ofAdvantage(found) {
    const place = element("div");
    const axes = { x: [-REACH, REACH], y: [-REACH, REACH], xlabel: "advantage", title: "what it becomes" };
    const chart = Book.chart(place, { ...axes, width: 330, height: 200 });
    const usual = shown(Playground.writtenAdvantage(STANDARDIZED));
    trace(chart, ADVANTAGES_SHOWN, usual, REACH, "line play-clip");
    if (found) trace(chart, ADVANTAGES_SHOWN, shown(found), REACH, "line");
    return place;
  }
}

/** What becomes of advantages in a minibatch with mean 1 and std 2. */
function shown(advantage) {
  return advantage(ADVANTAGES_SHOWN, 1, 2);
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
function trace(chart, xs, ys, reach, style) {
  let piece = [];
  const end = () => {
    if (piece.length > 1) chart.line(piece, { class: style });
    piece = [];
  };
  ys.forEach((y, k) => (Math.abs(y) <= reach ? piece.push([xs[k], y]) : end()));
  end();
}
