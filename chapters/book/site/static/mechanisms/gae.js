// Chapter 4: λ between two valleys. The belt of 30 cells: rewards with a noise of 1, γ = 1, and a V that is off by
// `off` in each cell, independently. GAE's estimate of the first cell is a weighted sum of both, so its error is exact.
"use strict";

Book.mechanism("gae", (place) => {
  const CELLS = 30;
  const sum = (count, term) => Array.from({ length: count }, (_, k) => term(k)).reduce((total, x) => total + x, 0);

  /** Σ λ^2j over the rewards that are seen. */
  const variance = (lambda) => sum(CELLS, (j) => lambda ** (2 * j));

  /** off²(1 − λ)² Σ λ^2k over the cells whose V is believed. */
  const bias = (lambda, off) => off ** 2 * (1 - lambda) ** 2 * sum(CELLS - 1, (k) => lambda ** (2 * k));

  const dial = Book.slider(place, { name: "λ", min: 0, max: 1, step: 0.01, value: 0.95, show: (l) => l.toFixed(2) }, draw);
  const wrong = Book.slider(
    place,
    { name: "V is off by", min: 0, max: 5, step: 0.1, value: 2, show: (off) => off.toFixed(1) },
    draw,
  );
  const chart = Book.chart(place, { x: [0, 1], y: [0, 17], xlabel: "λ", ylabel: "squared error", width: 560, height: 260 });
  const said = Book.caption(place);

  function draw() {
    const [lambda, off] = [dial.value, wrong.value];
    const grid = Array.from({ length: 201 }, (_, k) => k / 200);
    const total = (l) => bias(l, off) + variance(l);
    const best = grid.reduce((found, l) => (total(l) < total(found) ? l : found));
    chart.clear();
    chart.line(grid.map((l) => [l, variance(l)]), { class: "line soft" });
    chart.line(grid.map((l) => [l, bias(l, off)]), { class: "line soft dashed" });
    chart.line(grid.map((l) => [l, total(l)]));
    chart.label(0.94, 14, "variance, of the rewards", { class: "soft", "text-anchor": "end" });
    chart.label(0.03, Math.min(15.5, Math.max(0.4, 0.75 * bias(0, off) - 1.2)), "bias², of V", { class: "soft" });
    chart.dot(best, total(best), { r: 4, class: "truth" });
    chart.dot(lambda, total(lambda), { r: 6 });
    said.textContent =
      `λ = ${lambda.toFixed(2)}: bias² ${bias(lambda, off).toFixed(2)} + variance ${variance(lambda).toFixed(2)} = ` +
      `${total(lambda).toFixed(2)}. The best λ is ${best.toFixed(2)}, with ${total(best).toFixed(2)}.`;
    Book.tell(place, { lambda, off, bias: bias(lambda, off), variance: variance(lambda), best });
  }
  draw();
});
