// A canvas on which an agent's first lane plays its film again: a pole, a row of cells, a grid, a cue and an answer, or
// a choice. Or its first group's replies as text, each colored by its advantage.

const RATES = { pole: 50, corridor: 8, grid: 8, mail: 4, cue: 4, rope: 4, lottery: 2 }; // states a second
const [WIDTH, HEIGHT] = [300, 120]; // in CSS pixels, before the canvas is fitted to its column
const [COLUMNS, LINES] = [2, 4]; // of replies
const REST = 400; // milliseconds between two episodes
const QUIET = matchMedia("(prefers-reduced-motion: reduce)");

export class Stage {
  /** className: the arm's, whose color is used. name: what is on it. */
  constructor(className, name) {
    this.canvas = Object.assign(document.createElement("canvas"), { width: 2 * WIDTH, height: 2 * HEIGHT, className });
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", name);
    this.caption = document.createElement("figcaption");
    this.element = document.createElement("figure");
    this.element.className = "play-stage";
    this.element.append(this.canvas, this.caption);
    Object.assign(this, { film: null, next: null, began: 0, start: 0, id: 0, update: 0 });
  }

  /** Another agent, or another world. */
  begin(world) {
    Object.assign(this, { world: Playground.WORLDS[world], film: null, next: null });
    this.say("");
    this.clear();
  }

  /** What an agent did in an update's rollout; it is shown when the episode on the stage is over. */
  show(film, update) {
    if (film.replies) this.write(film, update);
    if (!film.states?.length) return;
    this.next = { film, update };
    if (QUIET.matches || !this.film) this.roll();
    if (QUIET.matches) this.draw(this.end - 1);
    else if (!this.id) this.id = requestAnimationFrame((now) => this.frame(now));
  }

  /** Take the newest film, from the beginning of its first episode. */
  roll() {
    const { film, update } = this.next;
    Object.assign(this, { film, update, start: film.starts[0] ?? 0, began: performance.now() });
  }

  /** Where the episode on the stage ends. */
  get end() {
    const { film, start } = this;
    return film.starts.find((other) => other > start) ?? film.states.length;
  }

  stop() {
    cancelAnimationFrame(this.id);
    this.id = 0;
  }

  frame(now) {
    const { start, end } = this;
    const rate = RATES[this.world.kind] / 1000; // states a millisecond
    const passed = Math.max(0, now - this.began); // a frame may be older than the film
    const at = start + Math.floor(passed * rate);
    if (at < end) this.draw(at);
    else if (passed > REST + (end - start) / rate) this.roll();
    this.id = requestAnimationFrame((later) => this.frame(later));
  }

  say(text) {
    this.caption.textContent = text || "\u00a0"; // so that an empty line is as high as any
    this.canvas.setAttribute("aria-label", `an agent in its world: ${text || "nothing yet"}`);
  }

  clear() {
    this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** The canvas, empty, and its colors. */
  blank() {
    const style = getComputedStyle(this.canvas);
    const pen = this.canvas.getContext("2d");
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, WIDTH, HEIGHT);
    return [pen, { main: style.getPropertyValue("--trick"), soft: style.color }];
  }

  /** A prompt, and a group's replies to it: what will be likelier in color, what will be rarer in red. */
  write({ asked, replies }, update) {
    const [pen, { main, soft }] = this.blank();
    pen.font = "20px sans-serif";
    replies.slice(0, COLUMNS * LINES).forEach(({ text, advantage }, k) => {
      const [x, y] = [4 + (WIDTH / COLUMNS) * (k % COLUMNS), 22 + (HEIGHT / LINES) * Math.floor(k / COLUMNS)];
      pen.fillStyle = advantage > 0 ? main : advantage < 0 ? "#cf222e" : soft;
      pen.fillText(text, x, y);
      pen.fillText(signed(advantage), x + 88, y);
    });
    this.say(`update ${update + 1}, replies to “${asked}”, and their advantages`);
  }

  draw(at) {
    const { film, world, start, end } = this;
    const [pen, colors] = this.blank();
    DRAWN[world.kind](pen, film.states[at], film.actions[at], world, colors);
    this.say(`update ${this.update + 1}, step ${at - start + 1} of ${end - start}`);
  }
}

function signed(x) {
  return x === 0 ? "0" : `${x > 0 ? "+" : "−"}${Math.abs(x).toPrecision(2)}`;
}

function line(pen, color, width, ...points) {
  Object.assign(pen, { strokeStyle: color, lineWidth: width, lineCap: "round" });
  pen.beginPath();
  points.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
}

function box(pen, color, x, y, width, height, alpha = 1) {
  Object.assign(pen, { fillStyle: color, globalAlpha: alpha });
  pen.fillRect(x, y, width, height);
  pen.globalAlpha = 1;
}

function dot(pen, color, x, y, radius) {
  pen.fillStyle = color;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

/** state: x [m], ẋ, θ [rad], θ̇. The rails reach as far as the cart may go. */
function pole(pen, [x, , angle], action, world, { main, soft }) {
  const [ground, scale] = [HEIGHT - 22, (WIDTH - 40) / 4.8];
  const at = WIDTH / 2 + x * scale;
  line(pen, soft, 1, [20, ground], [WIDTH - 20, ground]);
  for (const end of [20, WIDTH - 20]) line(pen, soft, 1, [end, ground - 5], [end, ground + 5]);
  box(pen, soft, at - 18, ground - 14, 36, 14);
  line(pen, main, 6, [at, ground - 14], [at + 78 * Math.sin(angle), ground - 14 - 78 * Math.cos(angle)]);
  const side = action ? 1 : -1;
  line(pen, soft, 2, [at + side * 24, ground - 7], [at + side * 34, ground - 7]);
}

/** state: the cell. Both ends are darker. */
function corridor(pen, [cell], action, { cells }, { main, soft }) {
  const size = (WIDTH - 20) / cells;
  for (let k = 0; k < cells; k++) {
    const shade = k === 0 || k === cells - 1 ? 0.45 : 0.15;
    box(pen, soft, 10 + k * size + 1, 50, size - 2, size - 2, shade);
  }
  dot(pen, main, 10 + (cell + 0.5) * size, 49 + size / 2, size * 0.36);
}

/** state: row and column. The goal is the last corner. */
function grid(pen, [row, column], action, { cells }, { main, soft }) {
  const [size, left] = [(HEIGHT - 12) / cells, WIDTH / 2 - (HEIGHT - 12) / 2];
  for (let k = 0; k < cells * cells; k++) {
    const [i, j] = [Math.floor(k / cells), k % cells];
    box(pen, soft, left + j * size + 1, 6 + i * size + 1, size - 2, size - 2, k === cells * cells - 1 ? 0.5 : 0.15);
  }
  dot(pen, main, left + (column + 0.5) * size, 6 + (row + 0.5) * size, size * 0.34);
}

/** The cue as an arrow on top, the answer below it: in color where it is right. */
function cue(pen, [shown], action, world, { main, soft }) {
  const wanted = world.kind === "rope" ? Number(shown > 0.5) : shown;
  const arrow = (y, right, color) => {
    const [from, to] = right ? [115, 185] : [185, 115];
    line(pen, color, 5, [from, y], [to, y]);
    line(pen, color, 5, [to + (right ? -14 : 14), y - 12], [to, y], [to + (right ? -14 : 14), y + 12]);
  };
  arrow(36, wanted, soft);
  arrow(84, action, action === wanted ? main : "#cf222e");
  Object.assign(pen, { fillStyle: soft, font: "11px sans-serif" });
  pen.fillText("cue", 40, 40);
  pen.fillText("action", 40, 88);
}

/** state: whether the choice is made, and for the ticket. What is or was chosen is in color. */
function lottery(pen, [made, ticket], action, world, { main, soft }) {
  const chosen = made ? ticket : action;
  ["the sure pay", "a ticket"].forEach((name, k) => {
    box(pen, k === chosen ? main : soft, 30 + 130 * k, 30, 110, 50, k === chosen ? 1 : 0.15);
    Object.assign(pen, { fillStyle: soft, font: "11px sans-serif" });
    pen.fillText(name, 30 + 130 * k, 96);
  });
}

const DRAWN = { pole, corridor, grid, mail: cue, cue, rope: cue, lottery };
