// Chapter 16: a step size to drag. θ begins at 10, its gradient is θ plus a noise of 1, and 200 steps are taken: all of
// size α, or from α down to 0. Mean and variance of θ after each step are exact.
"use strict";

Book.mechanism("annealing", (place) => {
  const [STEPS, START] = [200, 10];
  const uniform = Book.random(1);
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const noise = Array.from({ length: STEPS }, normal);
  const sizes = { constant: (alpha) => alpha, falling: (alpha, i) => alpha * (1 - i / STEPS) };

  /** [step, θ] of a walker, and [step, log₁₀ E θ²] of all, under steps of this kind. */
  function walked(kind, alpha) {
    let [theta, mean, variance] = [START, START, 0];
    const [path, errors] = [[[0, theta]], [[0, Math.log10(START ** 2)]]];
    noise.forEach((luck, i) => {
      const size = sizes[kind](alpha, i);
      theta -= size * (theta + luck);
      mean *= 1 - size;
      variance = (1 - size) ** 2 * variance + size ** 2;
      path.push([i + 1, theta]);
      errors.push([i + 1, Math.log10(mean ** 2 + variance)]);
    });
    return { path, errors, end: mean ** 2 + variance };
  }

  const dial = Book.slider(
    place,
    { name: "α", min: -2, max: 0, step: 0.02, value: -0.3, show: (power) => (10 ** power).toFixed(3) },
    draw,
  );
  const row = Object.assign(document.createElement("div"), { className: "charts" });
  place.append(row);
  const walk = Book.chart(row, {
    ...{ x: [0, STEPS], y: [-6, 11], width: 300, height: 240, title: "one walker" },
    ...{ xlabel: "step", ylabel: "θ" },
  });
  const far = Book.chart(row, {
    ...{ x: [0, STEPS], y: [-3, 2], width: 300, height: 240, title: "all of them" },
    ...{ xlabel: "step", ylabel: "log₁₀ of the mean squared error" },
  });
  const said = Book.caption(place);

  function draw() {
    const alpha = 10 ** dial.value;
    const [constant, falling] = ["constant", "falling"].map((kind) => walked(kind, alpha));
    for (const chart of [walk, far]) chart.clear();
    walk.line(constant.path, { class: "line soft" });
    walk.line(falling.path);
    far.line(constant.errors, { class: "line soft" });
    far.line(falling.errors);
    far.label(STEPS, Math.min(1.6, constant.errors.at(-1)[1] + 0.35), "constant", { class: "soft", "text-anchor": "end" });
    far.label(STEPS, Math.max(-2.9, falling.errors.at(-1)[1] - 0.45), "falling", { "text-anchor": "end" });
    said.textContent =
      `α = ${alpha.toFixed(3)}: after ${STEPS} steps the mean squared error is ${constant.end.toPrecision(2)} with a ` +
      `constant step size and ${falling.end.toPrecision(2)} with one that falls to 0.`;
    Book.tell(place, { alpha, constant: constant.end, falling: falling.end });
  }
  draw();
});
