// A few agents that take turns in one thread, an update each. The thread is a worker's, or the page's own.

import { Chance } from "./seeds.js";
import { Film, replies } from "./film.js";
import { Log } from "./log.js";
import { Player } from "./player.js";
import { WORLDS } from "./worlds/worlds.js";
import { beginning } from "./beginning.js";
import { train } from "./loop.js";
import { planted } from "./planted.js";

export const SLOW = 4; // updates a second, up to which the lines of the loop are shown one by one
const BREATH = 15; // milliseconds of work between two looks at what the page asks for

export class Crew {
  /** tell(message) is called with what the session is to know. Messages to the crew go to `hear`. */
  constructor(tell) {
    Object.assign(this, { tell, members: [], speed: Infinity, paused: false, stopped: false, watched: -1 });
    this.rounds = 0; // asked for while paused
    this.wake = () => {};
  }

  hear({ kind, ...message }) {
    this[kind](message);
    this.wake();
  }

  /** agents: [{ agent, seed }], `agent` being the number that the session knows it by. */
  begin({ agents, world: id, tricks, numbers, swaps }) {
    const [world, swapped] = [WORLDS[id], planted(swaps, Object.keys(tricks))];
    const rooms = {}; // one member learns at a time, so they all share these
    this.members = agents.map(({ agent: number, seed }) => {
      const chance = new Chance(seed);
      const [log, player] = [new Log(numbers), new Player(world, numbers, chance)];
      const agent = beginning(world, numbers, tricks, chance, rooms);
      const run = train(agent, player, chance, numbers, tricks, log, swapped);
      return { number, seed, log, player, run, lines: 50 }; // about so many in an update; later, as in the last one
    });
    this.work().catch(({ message }) => this.tell({ kind: "error", message }));
  }

  pause() { this.paused = true; }
  resume() { this.paused = false; }
  step() { this.rounds++; }
  setSpeed({ speed }) { this.speed = speed; }
  stop() { this.stopped = true; }

  watch({ agent }) {
    for (const { number, player } of this.members) player.film = number === agent ? new Film(player.world.size) : null;
    this.watched = agent;
  }

  get waiting() {
    return this.paused && this.rounds === 0 && !this.stopped;
  }

  /** Rounds of one update each, until all agents have ended. */
  async work() {
    while (!this.stopped && this.members.some(({ log }) => log.active)) {
      while (this.waiting) await this.pausing();
      await this.round();
      this.rounds = Math.max(0, this.rounds - 1);
    }
    if (!this.stopped) this.tell({ kind: "end" });
  }

  /** An update of each agent that goes on. Its rows are told together, unless that would keep the page waiting. */
  async round() {
    const start = performance.now();
    let [rows, rest] = [[], start];
    for (const member of this.members.filter(({ log }) => log.active)) {
      if (this.stopped) return;
      const row = await this.update(member);
      rows.push({ agent: member.number, seed: member.seed, ...row });
      if (performance.now() - rest < BREATH && this.speed === Infinity) continue;
      this.tell({ kind: "update", rows });
      [rows, rest] = [[], performance.now()];
      await breath();
    }
    if (rows.length) this.tell({ kind: "update", rows });
    await breath();
    while (!this.stopped && performance.now() < start + 1000 / this.speed) {
      await this.pausing(start + 1000 / this.speed - performance.now());
    }
  }

  /** One update of an agent. Of the one that is watched, its lines are told if they are slow enough to be seen. */
  async update(member) {
    const { number, log, player, run } = member;
    for (let lines = 0; ; lines++) {
      const { value } = run.next();
      if (typeof value === "object") {
        member.lines = lines;
        if (number === this.watched) {
          const film = player.world.words ? replies(player, log.advantage) : player.film.shown();
          this.tell({ kind: "watched", agent: number, row: value, film, ratios: log.ratios });
        }
        return value;
      }
      if (number !== this.watched || this.speed > SLOW || this.stopped) continue;
      const film = lines === 1 && !player.world.words ? player.film.shown() : null; // it has just been played
      this.tell({ kind: "phase", agent: number, phase: value, minibatch: log.minibatch, ...log.now, film });
      await this.pausing(1000 / this.speed / member.lines);
      while (this.waiting) await this.pausing();
    }
  }

  /** Wait until there is a message, or for so many milliseconds. */
  pausing(milliseconds = Infinity) {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (milliseconds < Infinity) setTimeout(resolve, milliseconds);
    });
  }
}

/** Let the page's other work, and its messages, come in between; `setTimeout` would wait for four milliseconds. */
function breath() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
