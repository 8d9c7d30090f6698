// The learning curves: one thin line per agent, their mean and its 95% interval, on axes that stay where they are.

import { POINTS } from "./curve.js";
import { element } from "./dom.js";

const [WIDE, NARROW] = [[560, 320], [400, 290]]; // sizes of the drawing, which is scaled to its column
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];
export const ARMS = ["arm-a", "arm-b"];

export class Picture {
  /** pick(agent) is called when a line is clicked. Without it, no agent is watched, and a click does nothing. */
  constructor(pick) {
    this.pick = pick;
    this.place = element("div", { class: "play-picture" });
    this.place.addEventListener("click", (event) => this.clicked(event));
    const watched = pick ? " Dashed: the one you watch." : "";
    const key = `Thin lines: single agents. Thick: their mean, with its 95% interval.${watched}`;
    this.element = element("figure", { class: "play-figure" }, this.place, element("figcaption", {}, key));
  }

  /** Axes for this budget and these returns. */
  begin({ steps, range }) {
    this.place.replaceChildren();
    this.size = this.place.clientWidth && this.place.clientWidth < NARROW[0] ? NARROW : WIDE;
    Object.assign(this, { steps, range, arms: [] });
    const [width, height] = this.size;
    const thousand = (x) => [x, x >= 1000 ? `${x / 1000}k` : String(x)];
    this.chart = Book.chart(this.place, {
      ...{ x: [0, steps], xlabel: "environment steps per agent", width },
      ...{ y: range, ylabel: "mean return per episode", height },
      xticks: QUARTERS.map((share) => thousand(share * steps)),
      yticks: QUARTERS.map((share) => short(range[0] + share * (range[1] - range[0]))),
    });
  }

  /** arms: `Arm`s. watched: which agent's line is thicker. */
  draw(arms, watched) {
    const { chart, steps } = this;
    this.arms = arms;
    const x = (k) => ((k + 1) / POINTS) * steps;
    const line = (values, style) => {
      const known = values.map((y, k) => [x(k), y]).filter(([, y]) => !Number.isNaN(y)); // of one that ended no episode
      chart.line(known, { class: `line ${style}` });
    };
    chart.clear();
    arms.forEach((arm, which) => {
      const style = ARMS[which];
      arm.curves.forEach(({ values }, agent) => {
        if (agent === watched) return;
        line(values, `thin play-agent ${style}`);
      });
      const bands = arm.bands.filter(([, low]) => !Number.isNaN(low));
      const high = bands.map((band, k) => [x(k), band[2]]);
      const low = bands.map((band, k) => [x(k), band[1]]).reverse();
      if (bands.length > 1) chart.line([...high, ...low], { class: `area ${style}` });
    });
    arms.forEach((arm, which) => {
      const style = ARMS[which];
      const { values } = arm.curves[watched];
      line(values, `play-watched ${style}`);
      line(arm.bands.map(([y]) => y), `play-mean ${style}`);
      const latest = values.at(-1) ?? NaN;
      if (!Number.isNaN(latest)) chart.dot(x(values.length - 1), latest, { class: style, r: 3.5 });
    });
    this.label(arms);
  }

  /** A and B at the ends of their means. */
  label(arms) {
    if (arms.length < 2) return;
    const ends = arms.map(({ bands }) => bands.at(-1)?.[0] ?? NaN);
    const apart = 0.055 * (this.range[1] - this.range[0]);
    const near = Math.abs(ends[0] - ends[1]) < apart;
    ends.forEach((y, k) => {
      if (Number.isNaN(y)) return;
      const moved = near ? (Math.max(...ends) === y && !(k && ends[0] === y) ? apart / 2 : -apart / 2) : 0;
      const inside = Math.min(this.range[1], Math.max(this.range[0], y + moved));
      const at = (arms[k].bands.length / POINTS) * this.steps;
      this.chart.label(at, inside, "AB"[k], { class: `play-end ${ARMS[k]}`, dx: 5, dy: 4 });
    });
  }

  /** The agent whose line is nearest to the place that was clicked. */
  clicked(event) {
    if (!this.pick) return;
    const svg = this.place.querySelector("svg");
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const [left, right, top, bottom] = Book.MARGINS;
    const [width, height] = this.size;
    const share = (at.x - left) / (width - left - right);
    const k = Math.min(POINTS - 1, Math.max(0, Math.round(share * POINTS) - 1));
    const [low, high] = this.range;
    const value = low + ((height - bottom - at.y) / (height - bottom - top)) * (high - low);
    let best = null;
    for (const { curves } of this.arms) {
      curves.forEach(({ values }, agent) => {
        const off = Math.abs(values[k] - value);
        if (off < (best?.off ?? Infinity)) best = { off, agent };
      });
    }
    if (best) this.pick(best.agent);
  }
}

function short(value) {
  const size = Math.abs(value);
  const text = size >= 10_000 ? `${Math.round(value / 1000)}k` : String(Number(value.toPrecision(3)));
  return [value, text.replace("-", "−")];
}
