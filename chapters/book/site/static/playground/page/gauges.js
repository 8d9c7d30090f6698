// Diagnostics of the watched agent: the histogram of its ratios, and a small curve for each number of an update.

import { ARMS } from "./picture.js";
import { element } from "./dom.js";

const BINS = 36;
const REACH = Math.log(4); // ratios from 1/4 to 4
const TINY = 1e-9; // a logarithm's smallest number
const log10 = (low, high) => {
  return { low, high, at: (y) => Math.log10(Math.max(TINY, y)), ends: [`10${sup(low)}`, `10${sup(high)}`] };
};
const RATIOS = "ratios π/π_old of the last minibatch (bars: √share)";
const GAUGES = [
  ["approx_kl", "KL to the old policy, nats", log10(-5, 0)],
  ["clip_fraction", "clip fraction", { low: 0, high: 1 }],
  ["entropy", "entropy of the policy, nats", { low: 0 }], // its highest is the world's
  ["explained_variance", "explained variance of V", { low: -1, high: 1 }],
  ["grad_norm", "gradient norm", log10(-3, 3)],
];

function sup(power) {
  return [...String(power)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
}

export class Gauges {
  constructor() {
    this.ratios = element("div", { class: "play-ratios" });
    this.said = element("div", { class: "play-ratios-said" });
    this.small = element("div", { class: "play-gauges" });
    const above = element("div", { class: "play-gauge-name" }, RATIOS);
    this.element = element("div", { class: "play-diagnostics" }, above, this.ratios, this.said, this.small);
  }

  /** For a world, over this budget. */
  begin(world, steps) {
    this.latest = []; // of each arm, { ratios, range }
    for (const place of [this.ratios, this.small]) place.replaceChildren();
    const xticks = [0.25, 0.5, 1, 2, 4].map((x) => [Math.log(x), x < 1 ? `1/${1 / x}` : String(x)]);
    this.histogram = Book.chart(this.ratios, {
      ...{ x: [-REACH, REACH], y: [0, 1], width: 330, height: 96, xticks, yticks: [] },
      label: "histogram of the ratios",
    });
    const highest = Math.log(Playground.WORLDS[world].actions);
    this.gauges = GAUGES.map(([name, title, { low, high = highest, at = (y) => y, ends }]) => {
      const value = element("output", {}, "–");
      const label = element("span", { class: "play-gauge-name" }, title);
      const place = element("div", { class: "play-gauge" }, label, value);
      this.small.append(place);
      const [lowest, top] = ends ?? [signed(low), signed(Number(high.toFixed(2)))];
      const chart = Book.chart(place, {
        ...{ x: [0, steps], y: [low, high], width: 330, height: 58, bare: true, label: title },
        yticks: [[low, lowest], [high, top]],
      });
      const inside = ({ step, [name]: y }) => [Math.min(step, steps), at(y)]; // the last update may pass the budget
      return { name, value, chart, inside };
    });
  }

  /** An arm's last minibatch: its ratios, or null, and ε where there is a clip. */
  take(arm, ratios, range) {
    this.latest[arm] = { ratios, range };
  }

  /** arms: see arm.js. watched: the agent, in each. k: the arm whose ratios and numbers are told. */
  draw(arms, watched, k) {
    for (const { name, chart, inside, value } of this.gauges) {
      const known = arms.map(({ rows }) => rows[watched].filter((row) => !Number.isNaN(row[name])));
      chart.clear();
      known.forEach((rows, which) => {
        chart.line(rows.map(inside), { class: `line ${ARMS[which]} ${which === k ? "" : "play-agent"}` });
      });
      const latest = known[k].at(-1)?.[name];
      value.textContent = latest === undefined ? "–" : signed(Number(latest.toPrecision(2)));
    }
    this.drawRatios(arms[k].tricks.includes("reuse"), this.latest[k] ?? {}, ARMS[k]);
  }

  drawRatios(reused, { ratios, range }, style) {
    const { histogram } = this;
    histogram.clear();
    this.said.textContent = reused ? "" : "Each batch is used once: no ratios.";
    if (!ratios) return;
    const bins = new Array(BINS).fill(0);
    for (const ratio of ratios) {
      const place = Math.floor(((Math.log(ratio) + REACH) / (2 * REACH)) * BINS);
      bins[Math.min(BINS - 1, Math.max(0, place))]++;
    }
    const within = (ratio) => Math.min(REACH, Math.max(-REACH, Math.log(Math.max(0, ratio))));
    if (range) histogram.bar(within(1 - range), within(1 + range), 1, { class: "band" });
    const edge = (k) => -REACH + (2 * REACH * k) / BINS;
    bins.forEach((count, k) => {
      if (count) histogram.bar(edge(k), edge(k + 1), Math.sqrt(count / ratios.length), { class: style });
    });
    const largest = `the largest ${Number(Math.max(...ratios).toPrecision(3))}`;
    const outside = ratios.filter((ratio) => Math.abs(ratio - 1) > range).length / ratios.length;
    const share = `${(100 * outside).toFixed(0)}% outside 1 ± ${Number(range?.toPrecision(2))}`;
    this.said.textContent = range ? `${share}; ${largest}` : `no range: ${largest}`;
  }
}

function signed(value) {
  return String(value).replaceAll("-", "−");
}
