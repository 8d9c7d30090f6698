// A training as a page runs it: agents spread over workers, one for each core.

import { Crew } from "./crew.js";
import { LADDER } from "./ladder.js";
import { WORLDS } from "./worlds/worlds.js";
import { faults } from "./faults.js";
import { unfit } from "./group_baseline.js";
import { planted } from "./planted.js";

export class Session {
  /** The engine's own text, from which workers start: a page in a folder may not load a script into one. */
  static source = null;

  /**
   * world: an id in WORLDS. tricks: names. numbers: those that differ from LADDER.numbers. seeds: a count or a list.
   * hidden: widths of the layers. workers: how many threads; 0 for the page's own. swaps: lines and a fault, see
   * planted.js. Throws an Error for any other.
   */
  constructor({
    world,
    tricks = [],
    numbers = {},
    seeds = 10,
    hidden = [32, 32],
    swaps = {},
    paused = false,
    workers = cores(),
  }) {
    if (!WORLDS[world]) throw new Error(`unknown world ${world}; there are ${Object.keys(WORLDS).join(", ")}`);
    const wrong = faults(tricks);
    if (wrong.length) throw new Error(wrong.map(({ text }) => text).join("; "));
    planted(swaps, tricks);
    const defaults = Object.fromEntries(LADDER.numbers.map(({ name, value }) => [name, value]));
    const unknown = Object.keys(numbers).filter((name) => !(name in defaults));
    if (unknown.length) throw new Error(`unknown number ${unknown[0]}; there are ${Object.keys(defaults).join(", ")}`);
    const chosen = { ...defaults, ...numbers };
    const misfit = misfits(world, chosen, tricks);
    if (misfit) throw new Error(misfit);
    this.seeds = Array.isArray(seeds) ? seeds : Array.from({ length: seeds }, (_, k) => k);
    this.listeners = {};
    const count = Session.source ? Math.min(workers, this.seeds.length) : 0;
    this.hands = Array.from({ length: Math.max(1, count) }, () => (count ? this.worker() : this.local()));
    this.working = this.hands.length;
    const setting = {
      world,
      swaps,
      tricks: Object.fromEntries(tricks.map((name) => [name, true])),
      numbers: { ...chosen, hidden },
    };
    if (paused) this.pause();
    this.hands.forEach((hand, k) => {
      const agents = this.seeds.map((seed, agent) => ({ agent, seed }));
      hand.post({ kind: "begin", agents: agents.filter((_, n) => n % this.hands.length === k), ...setting });
    });
  }

  /** Call `listener` with each message of a kind: update, watched, phase, end, error. Returns the session. */
  on(kind, listener) {
    (this.listeners[kind] ??= []).push(listener);
    return this;
  }

  pause() { this.say({ kind: "pause" }); }
  resume() { this.say({ kind: "resume" }); }
  /** While paused: one update of every agent. */
  stepOneUpdate() { this.say({ kind: "step" }); }
  /** Updates a second, of each agent; Infinity for as many as there can be. */
  setSpeed(speed) { this.say({ kind: "setSpeed", speed }); }
  /** Which agent's `watched` and, at up to 4 updates a second, `phase` messages are sent; −1 for none. */
  watch(agent) { this.say({ kind: "watch", agent }); }

  /** End the workers. */
  stop() {
    this.listeners = {};
    for (const hand of this.hands) hand.end();
    this.hands = [];
  }

  say(message) {
    for (const hand of this.hands) hand.post(message);
  }

  tell({ kind, ...message }) {
    if (kind === "end" && --this.working > 0) return;
    for (const listener of this.listeners[kind] ?? []) listener(kind === "update" ? message.rows : message);
  }

  worker() {
    const url = URL.createObjectURL(new Blob([Session.source], { type: "text/javascript" }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }) => this.tell(data);
    worker.onerror = ({ message }) => this.tell({ kind: "error", message });
    return {
      post: (message) => worker.postMessage(message),
      end: () => {
        worker.terminate();
        URL.revokeObjectURL(url);
      },
    };
  }

  local() {
    const crew = new Crew((message) => this.tell(message));
    return { post: (message) => queueMicrotask(() => crew.hear(message)), end: () => crew.hear({ kind: "stop" }) };
  }
}

/** Why this world or these numbers are not for these tricks, or nothing. */
export function misfits(world, numbers, tricks) {
  const lacking = !WORLDS[world].demonstrate && (tricks.includes("imitate") || numbers.imitate_steps > 0);
  if (lacking) return `${world} has no demonstrations to imitate, as tricks/Odds-v0 has`;
  return tricks.includes("group_baseline") ? unfit(numbers, tricks) : "";
}

/** How many threads run at once on this machine. */
function cores() {
  return globalThis.navigator?.hardwareConcurrency ?? 1;
}

/** What a worker does: it hears the session, and tells it. */
export function serve(self) {
  const crew = new Crew((message) => self.postMessage(message));
  self.onmessage = ({ data }) => crew.hear(data);
}
