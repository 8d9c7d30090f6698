// The loop beside the text: as it is at this chapter's rung, with a slider over all rungs. LOOP and LETTERS are in data.js.
"use strict";

(() => {
  function explain(place) { // a comment such as # [S, T, N] says on hover what its letters mean
    for (const comment of place.querySelectorAll(".c1")) {
      const shapes = (comment.textContent.match(/\[[^\]]+\]/g) ?? []).join();
      const used = [...new Set(shapes.match(/\b[A-Z]\b/g))].filter((letter) => LETTERS[letter]);
      if (used.length) comment.title = used.map((letter) => `${letter}: ${LETTERS[letter]}`).join("\n");
    }
  }

  explain(document);
  const rungs = LOOP.rungs;
  const meta = document.querySelector("meta[name=rung]");
  const here = rungs.findIndex((rung) => rung.name === meta?.content);
  if (here < 0) return; // a page that is not a chapter

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const name = element("b");
  const title = element("span", { class: "loop-title" });
  const slider = element("input", { type: "range", min: 0, max: rungs.length - 1, "aria-label": "rung of the ladder" });
  const back = element("button", { type: "button" }, "back to this chapter");
  const close = element("button", { type: "button", class: "loop-close", "aria-label": "hide the loop" }, "×");
  const code = element("pre");
  const note = element("div", { class: "loop-note", role: "status" });
  const panel = element(
    "aside",
    { class: "loop-panel", "aria-label": "the training loop at this rung" },
    element("header", {}, element("div", { class: "loop-name" }, "The loop at ", name, close), title, slider, back),
    element("div", { class: "highlight" }, code),
    note,
  );
  const open = element("button", { type: "button", class: "loop-open" }, "The loop");

  function show(k) {
    const rung = rungs[k];
    slider.value = k;
    slider.setAttribute("aria-valuetext", rung.name);
    name.textContent = rung.name;
    title.textContent = rung.title;
    back.hidden = k === here;
    note.textContent = "Point at a line to see the shapes of its tensors.";
    code.replaceChildren(
      ...rung.lines.map(([text, kind, shapes]) => {
        const line = element("span", { class: `loop-line loop-${kind}`, tabindex: LOOP.notes[shapes] ? 0 : -1 });
        line.innerHTML = LOOP.texts[text] || " ";
        if (kind === "new") line.dataset.change = "+";
        if (kind === "gone") line.dataset.change = "−";
        line.dataset.shapes = LOOP.notes[shapes];
        return line;
      }),
    );
    explain(code);
    code.querySelector(".loop-new")?.scrollIntoView({ block: "center" });
  }

  function tell(event) {
    const line = event.target.closest(".loop-line");
    if (line) note.textContent = line.dataset.shapes || "No tensors on this line.";
  }

  function toggle(shown) {
    document.documentElement.classList.toggle("loop-shown", shown);
    try {
      localStorage.setItem("loop", shown ? "shown" : "hidden");
    } catch {} // a browser that stores nothing for files
  }

  function remembered() {
    try {
      return localStorage.getItem("loop");
    } catch {
      return null;
    }
  }

  slider.addEventListener("input", () => show(Number(slider.value)));
  back.addEventListener("click", () => show(here));
  close.addEventListener("click", () => toggle(false));
  open.addEventListener("click", () => toggle(true));
  for (const kind of ["mouseover", "focusin", "click"]) code.addEventListener(kind, tell);
  document.querySelector(".primary-toggle")?.addEventListener("click", () => toggle(false)); // both would not fit
  document.body.append(panel, open);
  const wide = window.matchMedia("(min-width: 1500px)");
  const about = meta.dataset.trick === "yes"; // elsewhere the loop is at hand, but closed
  function fit() {
    document.documentElement.classList.toggle("loop-shown", about && wide.matches && remembered() !== "hidden");
  }
  wide.addEventListener("change", fit); // a window grows and shrinks, a tablet turns
  fit();
  show(here);
})();
