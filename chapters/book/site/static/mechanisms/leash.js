// Chapter 18: the leash of PPG. After an auxiliary phase with each β: the policy in every state, what the body
// explains of the returns, and how far the policy went. All of it is stored by the chapter.
"use strict";

Book.mechanism("leash", (place) => {
  const data = NUMBERS.leash; // betas, x, before, after[beta], explained, kl
  const beta = Book.slider(
    place,
    { name: "β", min: 0, max: data.betas.length - 1, step: 1, value: 0, show: (k) => String(data.betas[k]) },
    draw,
  );
  const row = Object.assign(document.createElement("div"), { className: "charts" });
  place.append(row);
  const panels = ["before the phase", "after it"].map((title) =>
    Book.chart(row, {
      ...{ x: [-1, 1], y: [0, 1], width: 300, height: 240, title },
      ...{ xlabel: "what the policy looks at", ylabel: "π(right | s)" },
    }),
  );
  const said = Book.caption(place);

  function draw() {
    const k = beta.value;
    panels.forEach((panel) => panel.clear());
    data.x.forEach((x, i) => {
      panels[0].dot(x, data.before[i], { r: 2, class: "truth cloud" });
      panels[1].dot(x, data.after[k][i], { r: 2, class: "cloud" });
    });
    said.textContent =
      `β = ${data.betas[k]}: the body explains ${(100 * data.explained[k]).toFixed(1)}% of the returns, and the policy ` +
      `went ${data.kl[k].toFixed(4)} nats.`;
    Book.tell(place, { beta: data.betas[k], explained: data.explained[k], kl: data.kl[k] });
  }
  draw();
});
