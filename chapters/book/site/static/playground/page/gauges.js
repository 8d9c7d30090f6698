// Diagnostics of the watched agent: the histogram of its ratios, and a small curve for each number of an update.

import { ARMS } from "./picture.js";
import { element } from "./dom.js";

const BINS = 36;
const REACH = Math.log(4); // ratios from 1/4 to 4
const log10 = (low, high) => ({ low, high, at: Math.log10, ends: [`10${sup(low)}`, `10${sup(high)}`] });
const GAUGES = [
  ["approx_kl", "KL to the old policy, nats", log10(-5, 0)],
  ["clip_fraction", "clip fraction", { low: 0, high: 1 }],
  ["entropy", "entropy of the policy, nats", { low: 0, high: null }],
  ["explained_variance", "explained variance of V", { low: -1, high: 1 }],
  ["grad_norm", "gradient norm", log10(-3, 3)],
];

function sup(power) {
  return [...String(power)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
}

export class Gauges {
  constructor() {
    this.ratios = element("div", { class: "play-ratios" });
    this.said = element("div", { class: "play-ratios-said" }, " ");
    this.small = element("div", { class: "play-gauges" });
    const title = element("div", { class: "play-gauge-name" }, "ratios π/π_old of the last minibatch (bars: √share)");
    this.element = element("div", { class: "play-diagnostics" }, title, this.ratios, this.said, this.small);
  }

  /** For a world with so many actions, of arms with these tricks, over this budget. */
  begin(arms, world, steps) {
    for (const place of [this.ratios, this.small]) place.replaceChildren();
    const ticks = [0.25, 0.5, 1, 2, 4].map((x) => [Math.log(x), x < 1 ? `1/${1 / x}` : String(x)]);
    this.histogram = Book.chart(this.ratios, {
      ...{ x: [-REACH, REACH], y: [0, 1], width: 330, height: 96, xticks: ticks, yticks: [] },
      title: "",
    });
    this.said.textContent = arms.some(({ tricks }) => tricks.includes("reuse")) ? " " : "Each batch is used once: no ratios.";
    const highest = Math.log(Playground.WORLDS[world].actions);
    this.gauges = GAUGES.map(([name, title, scale]) => {
      const high = scale.high ?? highest;
      const value = element("output", {}, "–");
      const place = element("div", { class: "play-gauge" }, element("span", { class: "play-gauge-name" }, title), value);
      this.small.append(place);
      const ends = scale.ends ?? [scale.low, Number(high.toFixed(2))].map((x) => String(x).replace("-", "−"));
      const chart = Book.chart(place, {
        ...{ x: [0, steps], y: [scale.low, high], width: 330, height: 58, bare: true },
        yticks: [[scale.low, ends[0]], [high, ends[1]]],
      });
      return { name, value, chart, at: scale.at ?? ((y) => y) };
    });
  }

  /** arms: `Arm`s, the watched agent in each; k: the arm whose numbers are told. */
  draw(arms, watched, k) {
    for (const { name, chart, at, value } of this.gauges) {
      chart.clear();
      arms.forEach((arm, which) => {
        const rows = arm.rows[watched].filter((row) => !Number.isNaN(row[name]));
        chart.line(rows.map((row) => [row.step, at(Math.max(row[name], at === Math.log10 ? 1e-9 : -1e9))]), {
          class: `line ${ARMS[which]} ${which === k ? "" : "play-agent"}`,
        });
      });
      const rows = arms[k].rows[watched];
      const latest = rows.length ? rows[rows.length - 1][name] : NaN;
      value.textContent = Number.isNaN(latest) ? "–" : String(Number(latest.toPrecision(2))).replace("-", "−");
    }
  }

  /** ratios of a minibatch, or null. range: ε where there is a clip, or null. */
  show(ratios, range, which) {
    const { histogram } = this;
    if (!ratios) return;
    const bins = new Array(BINS).fill(0);
    for (const ratio of ratios) {
      const place = Math.floor(((Math.log(ratio) + REACH) / (2 * REACH)) * BINS);
      bins[Math.min(BINS - 1, Math.max(0, place))]++;
    }
    histogram.clear();
    if (range) histogram.bar(Math.log(Math.max(0.25, 1 - range)), Math.min(REACH, Math.log(1 + range)), 1, { class: "band" });
    const edge = (k) => -REACH + (2 * REACH * k) / BINS;
    bins.forEach((count, k) => {
      if (count) histogram.bar(edge(k), edge(k + 1), Math.sqrt(count / ratios.length), { class: ARMS[which] });
    });
    const outside = range && ratios.filter((ratio) => Math.abs(ratio - 1) > range).length / ratios.length;
    const widest = Math.max(...ratios);
    const share = range ? `${(100 * outside).toFixed(0)}% outside 1 ± ${Number(range.toPrecision(2))}; ` : "no range: ";
    this.said.textContent = `${share}the largest ${Number(widest.toPrecision(3))}`;
  }
}
