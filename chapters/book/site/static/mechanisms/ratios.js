// Chapters 2 and 3: the ratios of one batch, epoch by epoch, with and without the clip. The shares are stored by
// chapter 3, from a real run.
"use strict";

Book.mechanism("ratios", (place) => {
  const data = NUMBERS.ratios; // ranges, edges (log2 of the ratio), shares[range][epoch][bin], outside, largest
  const names = data.ranges.map((range) => (range === "none" ? "no clip" : `ε = ${range}`));
  const clip = Book.slider(
    place,
    { name: "the clip", min: 0, max: names.length - 1, step: 1, value: 0, show: (k) => names[k] },
    draw,
  );
  const epochs = data.shares[0].length;
  const epoch = Book.slider(place, { name: "epoch", min: 1, max: epochs, step: 1, value: epochs }, draw);
  const chart = Book.chart(place, {
    ...{ x: [-2, 2], y: [0, 0.5], width: 560, height: 240, xlabel: "ratio ρ", ylabel: "share of the batch" },
    xticks: [[-2, "≤¼"], [-1, "½"], [0, "1"], [1, "2"], [2, "≥4"]],
    yticks: [[0, "0"], [0.1, "1%"], [0.2236, "5%"], [0.3162, "10%"], [0.4472, "20%"]], // heights are square roots
  });
  const said = Book.caption(place);

  function draw() {
    const [k, n] = [clip.value, epoch.value - 1];
    const range = data.ranges[k] === "none" ? 0.2 : Number(data.ranges[k]);
    chart.clear();
    chart.bar(Math.log2(1 - range), Math.log2(1 + range), 0.5, { class: "band" });
    data.shares[k][n].forEach((share, i) => chart.bar(data.edges[i], data.edges[i + 1], Math.sqrt(share)));
    const [outside, largest] = [data.outside[k][n], data.largest[k][n]];
    said.textContent =
      `Epoch ${n + 1}, ${names[k]}: ${(100 * outside).toFixed(0)}% of the ratios are outside of ${(1 - range).toFixed(2)} ` +
      `to ${(1 + range).toFixed(2)}; the largest is ${largest.toFixed(2)}.`;
    Book.tell(place, { range: data.ranges[k], epoch: n + 1, outside, largest });
  }
  draw();
});
