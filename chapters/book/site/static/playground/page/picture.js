// The learning curves: one thin line per agent, their mean and its 95% interval, on axes that stay where they are. What
// an arm was before the last change is a faded mean behind them.

import { POINTS } from "./curve.js";
import { element } from "./dom.js";

const [WIDE, NARROW, PHONE] = [[560, 320], [400, 290], [400, 250]]; // sizes of the drawing, scaled to its column
const SMALL = matchMedia("(max-width: 639px)");
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];
const LINE = 16; // height of a label
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
    this.size = sized(this.place);
    Object.assign(this, { steps, range, arms: [] });
    const [width, height] = this.size;
    const thousand = (x) => [x, x >= 1000 ? `${x / 1000}k` : String(x)];
    this.chart = Book.chart(this.place, {
      label: "learning curves: mean return per episode by environment steps",
      ...{ x: [0, steps], xlabel: "environment steps per agent", width },
      ...{ y: range, ylabel: "mean return per episode", height },
      xticks: QUARTERS.map((share) => thousand(share * steps)),
      yticks: quarters(range),
    });
  }

  /** arms: `Arm`s. watched: which agent's line is thicker. before: { arm, which }, an arm's agents as they were. */
  draw(arms, watched, before = null) {
    const { chart } = this;
    this.arms = arms;
    chart.clear();
    if (before) this.drawBand(before.arm, `play-before ${ARMS[before.which]}`);
    if (before) this.line(before.arm.bands.map(([y]) => y), `play-mean play-before ${ARMS[before.which]}`);
    arms.forEach((arm, which) => {
      arm.curves.forEach(({ values }, agent) => {
        if (agent !== watched) this.line(values, `thin play-agent ${ARMS[which]}`);
      });
      this.drawBand(arm, ARMS[which]);
    });
    arms.forEach((arm, which) => {
      const { values } = arm.curves[watched];
      this.line(values, `play-watched ${ARMS[which]}`);
      this.line(arm.bands.map(([y]) => y), `play-mean ${ARMS[which]}`);
      const latest = values.at(-1) ?? NaN;
      if (!Number.isNaN(latest)) chart.dot(this.x(values.length - 1), latest, { class: ARMS[which], r: 3.5 });
    });
    this.label(arms, before);
  }

  /** The environment steps at a point of the grid. */
  x(k) {
    return ((k + 1) / POINTS) * this.steps;
  }

  line(values, style) {
    const known = values.map((y, k) => [this.x(k), y]).filter(([, y]) => !Number.isNaN(y)); // no episode had ended
    this.chart.line(known, { class: `line ${style}` });
  }

  drawBand(arm, style) {
    const bands = arm.bands.filter(([, low]) => !Number.isNaN(low));
    const high = bands.map((band, k) => [this.x(k), band[2]]);
    const low = bands.map((band, k) => [this.x(k), band[1]]).reverse();
    if (bands.length > 1) this.chart.line([...high, ...low], { class: `area ${style}` });
  }

  /** What is what, at the ends of the means: A and B, now and before. */
  label(arms, before) {
    const names = arms.length > 1 ? ["A", "B"] : before ? ["now"] : [];
    const ends = names.map((text, k) => ({ text, arm: arms[k], style: ARMS[k] }));
    if (before) ends.push({ text: "before", arm: before.arm, style: `play-before ${ARMS[before.which]}` });
    const [low, high] = this.range;
    const shown = ends.filter(({ arm }) => Number.isFinite(arm.bands.at(-1)?.[0]));
    const [, , top, bottom] = Book.MARGINS;
    const line = LINE / (this.size[1] - top - bottom);
    const heights = apart(shown.map(({ arm }) => (arm.bands.at(-1)[0] - low) / (high - low)), line);
    shown.forEach(({ text, arm, style }, k) => {
      const at = this.x(arm.bands.length - 1);
      const anchor = text.length > 1 && at > 0.88 * this.steps ? "end" : "start"; // a word has no room in the margin
      const place = { dx: anchor === "end" ? -3 : 5, dy: 4, "text-anchor": anchor };
      this.chart.label(at, low + heights[k] * (high - low), text, { class: `play-end ${style}`, ...place });
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

/** The size of a drawing in this place. */
export function sized({ clientWidth }) {
  if (SMALL.matches) return PHONE;
  return clientWidth && clientWidth < NARROW[0] ? NARROW : WIDE;
}

/** Five ticks from end to end. */
export function quarters([low, high]) {
  return QUARTERS.map((share) => short(low + share * (high - low)));
}

/** These heights in [0, 1], moved until neighbors are so far apart, in the same order. */
function apart(heights, least) {
  const order = heights.map((_, k) => k).sort((a, b) => heights[a] - heights[b]);
  const moved = heights.map((y) => Math.min(1, Math.max(0, y)));
  order.forEach((k, n) => (moved[k] = Math.max(moved[k], n ? moved[order[n - 1]] + least : 0)));
  order.reverse().forEach((k, n) => (moved[k] = Math.min(moved[k], n ? moved[order[n - 1]] - least : 1)));
  return moved;
}
