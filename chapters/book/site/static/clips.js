// The films of agents: each has a button that stops it. Who asks for less motion sees the first frame.
"use strict";

for (const clip of document.querySelectorAll(".clip")) {
  const [film, still] = [clip.querySelector("img"), document.createElement("canvas")];
  const button = Object.assign(document.createElement("button"), { type: "button", className: "clip-play" });
  still.setAttribute("role", "img");
  still.setAttribute("aria-label", film.alt);

  function play(moves) {
    if (!moves) {
      [still.width, still.height] = [film.naturalWidth, film.naturalHeight];
      still.getContext("2d").drawImage(film, 0, 0); // of a moving picture, its first frame
    }
    [film.hidden, still.hidden] = [!moves, moves];
    button.textContent = moves ? "Pause" : "Play";
  }

  button.addEventListener("click", () => play(film.hidden));
  film.after(still);
  clip.querySelector("figcaption").append(button);
  play(true);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) film.decode().then(() => play(false));
}
