// Chapter 5: the gain of the head, and the walk of a fresh policy. The logits of nets with a head gain of 1 are stored
// by the chapter; a head with gain g makes them g times as large. How often a walk is paid follows exactly.
"use strict";

Book.mechanism("walk", (place) => {
  const [data, STEPS] = [NUMBERS.walk, 1000]; // data.tilt[net][touched][cell]: logit of right minus logit of left
  const cells = data.tilt[0][0].length;
  const gain = Book.slider(
    place,
    { name: "gain of the head", min: -2, max: 0.3, step: 0.05, value: 0.15, show: (k) => (10 ** k).toFixed(2) },
    draw,
  );
  const row = Object.assign(document.createElement("div"), { className: "charts" });
  place.append(row);
  const walks = Book.chart(row, {
    ...{ x: [0, STEPS], y: [0, cells - 1], width: 300, height: 240, title: "walks of three nets", xlabel: "step" },
    yticks: [[0, "left"], [(cells - 1) / 2, "start"], [cells - 1, "right"]],
  });
  const shares = Book.chart(row, {
    ...{ x: [0, 1], y: [0, data.tilt.length], width: 300, height: 240, title: "each net's share of paid walks" },
    yticks: [],
  });
  const said = Book.caption(place);
  const right = (tilt, g) => 1 / (1 + Math.exp(-g * tilt));

  /** The probability that a walk is paid: it touches the left end, then the right end, in STEPS steps. */
  function paid(net, g) {
    let [at, done] = [[new Float64Array(cells), new Float64Array(cells)], 0];
    at[0][(cells - 1) / 2] = 1;
    for (let step = 0; step < STEPS; step++) {
      const next = [new Float64Array(cells), new Float64Array(cells)];
      for (const touched of [0, 1]) {
        for (let cell = 0; cell < cells; cell++) {
          const p = at[touched][cell];
          if (p === 0) continue;
          const up = right(net[touched][cell], g);
          const [low, high] = [Math.max(0, cell - 1), Math.min(cells - 1, cell + 1)];
          next[low === 0 ? 1 : touched][low] += p * (1 - up);
          if (touched && high === cells - 1) done += p * up;
          else next[touched][high] += p * up;
        }
      }
      at = next;
    }
    return done;
  }

  function walk(net, g, seed) {
    const uniform = Book.random(seed);
    let [cell, touched] = [(cells - 1) / 2, 0];
    const path = [[0, cell]];
    for (let step = 1; step <= STEPS; step++) {
      cell += uniform() < right(net[touched][cell], g) ? 1 : -1;
      cell = Math.min(cells - 1, Math.max(0, cell));
      if (cell === 0) touched = 1;
      path.push([step, cell]);
      if (touched && cell === cells - 1) break;
    }
    return path;
  }

  function draw() {
    const g = 10 ** gain.value;
    walks.clear();
    data.tilt.slice(0, 3).forEach((net, k) => walks.line(walk(net, g, k + 1), { class: `line thin shade${k}` }));
    const found = data.tilt.map((net) => paid(net, g));
    shares.clear();
    [...found].sort((p, q) => p - q).forEach((share, k) => shares.dot(share, k + 0.5));
    const mean = found.reduce((sum, share) => sum + share, 0) / found.length;
    const never = found.filter((share) => share < 0.01).length;
    said.textContent =
      `Gain ${g.toFixed(2)}: ${(100 * mean).toFixed(0)}% of all walks are paid; ${never} of ${found.length} nets are ` +
      "paid in less than one walk of a hundred.";
    Book.tell(place, { gain: g, mean, never });
  }
  draw();
});
