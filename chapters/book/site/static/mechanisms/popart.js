// Chapter 12: the ruler moves. A value net with a head n = W·h + b, read as V = σ·n + μ; new statistics, and the head
// left alone or repaired.
"use strict";

Book.mechanism("popart", (place) => {
  const [mu, sigma, w, b] = [10, 2, 3, 1]; // small numbers, easy to check by hand
  const grid = Array.from({ length: 61 }, (_, k) => -1.5 + k / 20);
  const mean = Book.slider(place, { name: "new μ", min: -20, max: 60, step: 1, value: 40 }, draw);
  const spread = Book.slider(
    place,
    { name: "new σ", min: 0.5, max: 12, step: 0.5, value: 8, show: (s) => s.toFixed(1) },
    draw,
  );
  const chart = Book.chart(place, {
    ...{ x: [-1.5, 1.5], y: [-40, 90], width: 560, height: 260 },
    ...{ xlabel: "what the last hidden layer says, h", ylabel: "V, in units of reward" },
  });
  const said = Book.caption(place);

  function draw() {
    const [newMean, newSpread] = [mean.value, spread.value];
    const weight = (sigma / newSpread) * w;
    const bias = (sigma * b + mu - newMean) / newSpread;
    const before = (h) => sigma * (w * h + b) + mu;
    const alone = (h) => newSpread * (w * h + b) + newMean;
    const repaired = (h) => newSpread * (weight * h + bias) + newMean;
    chart.clear();
    chart.line(grid.map((h) => [h, before(h)]), { class: "line before" });
    chart.line(grid.map((h) => [h, alone(h)]), { class: "line soft" });
    chart.line(grid.map((h) => [h, repaired(h)]), { class: "line dashed" });
    chart.label(-1.4, before(-1.4) - 16, "before, and after with POP", {});
    chart.label(0.4, Math.min(84, Math.max(-36, alone(0.4) + 8)), "after, head left alone", { class: "soft", "text-anchor": "end" });
    const most = Math.max(...grid.map((h) => Math.abs(alone(h) - before(h))));
    const kept = Math.max(...grid.map((h) => Math.abs(repaired(h) - before(h))));
    said.textContent =
      `W: ${w} → ${weight.toFixed(2)}, b: ${b} → ${bias.toFixed(2)}. The largest change of V: ` +
      `${most.toFixed(1)} if the head is left alone, ${kept.toFixed(1)} with POP.`;
    Book.tell(place, { mean: newMean, spread: newSpread, weight, bias, most, kept });
  }
  draw();
});
