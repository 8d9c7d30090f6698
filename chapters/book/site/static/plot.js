// What the mechanisms share: a chart in SVG, sliders, and the place in the page. Every mechanism tells its numbers
// in `data-told`, so that tests can hold them against the library's.
"use strict";

const Book = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** A mechanism's place in the page: `draw(place)` is called once, if the page has one of this name. */
  function mechanism(name, draw) {
    const place = document.getElementById(`mechanism-${name}`);
    if (place) draw(place);
  }

  /**
   * A slider with its name and value, above what it moves. `show` turns its number into text; `change` is called when it
   * moves.
   */
  function slider(place, { name, min, max, step, value, show = String }, change) {
    let dials = place.querySelector(".dials");
    if (!dials) {
      dials = Object.assign(document.createElement("div"), { className: "dials" });
      place.append(dials);
    }
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "range", min, max, step, value });
    const said = document.createElement("output");
    label.append(name, input, said);
    const say = () => {
      said.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", said.textContent);
    };
    input.addEventListener("input", () => {
      say();
      change();
    });
    say();
    dials.append(label);
    return { get value() { return Number(input.value); }, input };
  }

  /** A line of text below the charts. */
  function caption(place) {
    const line = document.createElement("figcaption");
    line.setAttribute("aria-live", "polite");
    place.append(line);
    return line;
  }

  function node(tag, attributes, parent) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent.append(made);
    return made;
  }

  /** Round numbers between two ends, about `count` of them. */
  function ticks(low, high, count = 5) {
    const raw = (high - low) / count;
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((k) => k * size).find((k) => k >= raw);
    const found = [];
    for (let x = Math.ceil(low / step) * step; x <= high + step / 1e6; x += step) found.push(Number(x.toFixed(10)));
    return found;
  }

  const MARGINS = [52, 20, 10, 40]; // of a chart without a title: left, right, top, bottom

  /**
   * A chart with axes; a bare one has none for x. x, y: its ends. label: what it shows, for those who can't see it. Its
   * methods draw in these units; `clear` removes what they drew.
   */
  function chart(place, { x, y, width = 420, height = 220, bare, xticks, yticks, ...words }) {
    const { xlabel = "", ylabel = "", title = "", label = title || ylabel } = words;
    const [left, right, top, bottom] = [MARGINS[0], MARGINS[1], title ? 24 : MARGINS[2], bare ? 8 : xlabel ? 40 : 24];
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, place);
    const px = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (width - left - right);
    const py = (v) => height - bottom - ((v - y[0]) / (y[1] - y[0])) * (height - top - bottom);
    const text = (at, words, attributes = {}) => {
      node("text", { x: at[0], y: at[1], ...attributes }, svg).textContent = words;
    };
    const named = (v) => (Array.isArray(v) ? v : [v, String(v)]);
    for (const [v, words] of (bare ? [] : (xticks ?? ticks(...x))).map(named)) {
      node("line", { class: "tick", x1: px(v), x2: px(v), y1: py(y[0]), y2: py(y[0]) + 4 }, svg);
      text([px(v), py(y[0]) + 16], words, { "text-anchor": "middle" });
    }
    for (const [v, words] of (yticks ?? ticks(...y, 4)).map(named)) {
      node("line", { class: "tick", x1: px(x[0]) - 4, x2: px(x[0]), y1: py(v), y2: py(v) }, svg);
      text([px(x[0]) - 7, py(v) + 4], words, { "text-anchor": "end" });
    }
    node("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }, svg);
    text([(left + width - right) / 2, height - 6], xlabel, { "text-anchor": "middle" });
    text([0, 0], ylabel, { "text-anchor": "middle", transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)` });
    text([left, 14], title, { class: "title" });
    const drawn = node("g", {}, svg);
    const inside = (v, [low, high]) => Math.min(high, Math.max(low, v));
    return {
      clear() { drawn.replaceChildren(); },
      line(points, style = {}) {
        const d = points.map(([a, b], k) => `${k ? "L" : "M"}${px(a).toFixed(1)} ${py(inside(b, y)).toFixed(1)}`).join("");
        return node("path", { class: "line", d, ...style }, drawn);
      },
      dot(a, b, style = {}) {
        return node("circle", { cx: px(inside(a, x)).toFixed(1), cy: py(inside(b, y)).toFixed(1), r: 3, ...style }, drawn);
      },
      bar(a, b, top_, style = {}) {
        const [one, other] = [py(y[0]), py(inside(top_, y))];
        return node("rect", { x: px(a), width: px(b) - px(a), y: other, height: one - other, ...style }, drawn);
      },
      label(a, b, words, style = {}) {
        node("text", { x: px(a), y: py(b), ...style }, drawn).textContent = words;
      },
    };
  }

  /** Random numbers between 0 and 1 that are the same on every visit. (Mulberry32) */
  function random(seed) {
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  /** Say numbers where tests find them. */
  function tell(place, numbers) {
    place.dataset.told = JSON.stringify(numbers);
  }

  /** The loop's lines with these flags: [blank lines before it, HTML, when it is there]. LINES is in lines.js. */
  function loopLines(on) {
    const there = (when) => (Array.isArray(when) ? there(when[on.includes(when[0]) ? 2 : 1]) : when);
    return LINES.filter(([, , when]) => there(when));
  }

  return { mechanism, slider, caption, chart, random, tell, loopLines, MARGINS };
})();
