// Chapter 1: the baseline's height, and the cloud of gradients. Payouts 101, 102, 104, each with a noise of 1, and a
// policy that pulls each machine equally often.
"use strict";

Book.mechanism("baseline", (place) => {
  const [pays, pi, noise, pulls, dots] = [[101, 102, 104], 1 / 3, 1, 25, 400];
  const score = pays.map((_, a) => pays.map((_, k) => (a === k) - pi)); // ∇ log π(a), three numbers
  const flat = ([p, q, r]) => [(p - q) / Math.SQRT2, (2 * r - p - q) / Math.sqrt(6)]; // scores lie in a plane
  const uniform = Book.random(1);
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const batches = Array.from({ length: dots }, () =>
    Array.from({ length: pulls }, () => [Math.floor(3 * uniform()), noise * normal()]),
  );
  const squared = (v) => v.reduce((sum, x) => sum + x * x, 0);
  const gradient = pays.map((_, k) => pays.reduce((sum, r, a) => sum + pi * r * score[a][k], 0));

  /** The variance of a single pull's gradient, summed over its three components: E[|u|²(r − b)²] − |∇J|². */
  function variance(b) {
    const second = pays.reduce((sum, r, a) => sum + pi * squared(score[a]) * ((r - b) ** 2 + noise ** 2), 0);
    return second - squared(gradient);
  }

  const height = Book.slider(
    place,
    { name: "baseline b", min: 92, max: 112, step: 0.1, value: 92, show: (b) => b.toFixed(1) },
    draw,
  );
  const row = Object.assign(document.createElement("div"), { className: "charts" });
  place.append(row);
  const cloud = Book.chart(row, {
    ...{ x: [-4, 4], y: [-4, 4], width: 300, height: 300, title: "400 gradients of 25 pulls each" },
    ...{ xticks: [-4, 0, 4], yticks: [-4, 0, 4] },
  });
  const valley = Book.chart(row, {
    ...{ x: [92, 112], y: [0, 11], width: 300, height: 300, title: "standard deviation of one pull" },
    xlabel: "baseline b",
  });
  const said = Book.caption(place);

  function draw() {
    const b = height.value;
    cloud.clear();
    for (const batch of batches) {
      const sum = [0, 0, 0];
      for (const [a, luck] of batch) score[a].forEach((u, k) => { sum[k] += ((pays[a] + luck - b) * u) / pulls; });
      cloud.dot(...flat(sum), { r: 2, class: "cloud" });
    }
    cloud.line([[0, 0], flat(gradient)], { class: "line truth" });
    cloud.label(...flat(gradient), " ∇J", { class: "truth" });
    valley.clear();
    valley.line(Array.from({ length: 81 }, (_, k) => 92 + k / 4).map((x) => [x, Math.sqrt(variance(x))]));
    valley.dot(b, Math.sqrt(variance(b)), { r: 5 });
    said.textContent =
      `At b = ${b.toFixed(1)} one pull's gradient has a standard deviation of ${Math.sqrt(variance(b)).toFixed(2)}. ` +
      `Its mean, ∇J, has length ${Math.sqrt(squared(gradient)).toFixed(2)} at every b.`;
    Book.tell(place, { b, deviation: Math.sqrt(variance(b)), gradient });
  }
  draw();
});
