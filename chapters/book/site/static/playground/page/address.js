// A setting and the address after # that stands for it:
//
//   #world=CartPole-v1&a=baseline,reuse&b=baseline,reuse,clip&lr=0.01&b.lr=0.003&agents=10&from=0&watch=3
//
// A setting is { world, agents, from, watch, hidden, arms: [{ tricks, numbers, swaps }] } with one arm or two. `from`
// is the first seed; a number that B does not name is A's. What a world or the library has by default is left out.
// b.objective is what B has in place of clip's objective, b.advantage in place of the standardized one, b.fault its
// planted fault. With guess=7, B's fault is to be guessed; guess=random is another one each time.

import { GAME, riddle, unknown } from "./riddle.js";
import { place } from "./places.js";

const LIMITS = {
  ...{ agents: [1, 30], from: [0, 1e6], watch: [0, 29], steps: [1000, 1e6], lanes: [1, 64], horizon: [1, 2048] },
  ...{ epochs: [1, 50], minibatches: [1, 32], gamma: [0, 1], gae_lambda: [0, 1], group: [2, 64] },
};
const CHOICES = { kl_in: ["loss", "reward"], kl_estimator: ["k1", "k2", "k3"] };
const WHOLE = ["agents", "from", "watch", "steps", "epochs", "minibatches", "lanes", "horizon", "group"];
const LAYERS = [8, 128]; // at most so many, of at most such a width
const COUNTS = { agents: 10, from: 0, watch: 0 };
const [WORLD, HIDDEN] = ["CartPole-v1", [32, 32]];

/** The numbers of an arm by default: the library's, and those that suit the world. */
export function defaults(world) {
  const known = Playground.LADDER.numbers.map(({ name, value }) => [name, value]);
  return { ...Object.fromEntries(known), ...place(world).numbers };
}

/** What an address asks for, and a line for each thing in it that can't be. */
export function read(hash) {
  const asked = new Asked(/\bguess=/.test(hash) ? `${hash}&${GAME}` : hash);
  const world = asked.world(WORLD);
  const counts = asked.numbers("", COUNTS);
  counts.watch = Math.min(counts.agents - 1, counts.watch);
  const numbers = asked.numbers("", defaults(world));
  const arms = [{ tricks: asked.tricks("a") ?? [], numbers }];
  const [tricks, others] = [asked.tricks("b"), asked.numbers("b.", numbers)];
  if (tricks) arms.push({ tricks, numbers: others });
  for (const arm of arms) {
    const misfit = Playground.misfits(world, arm.numbers, arm.tricks);
    if (misfit) asked.wrong.push(misfit);
    if (misfit) Object.assign(arm, { tricks: [], numbers: { ...arm.numbers, imitate_steps: 0 } });
  }
  arms.forEach((arm, k) => (arm.swaps = asked.swaps(`${"ab"[k]}.`, arm.tricks)));
  const guess = asked.guess();
  if (guess !== undefined) arms.at(-1).swaps = { fault: riddle(guess).fault };
  const setting = { world, ...counts, hidden: asked.hidden(HIDDEN), arms, ...(guess === undefined ? {} : { guess }) };
  return { setting, wrong: [...asked.wrong, ...asked.rest().map((key) => `nothing here is called ${key}`)] };
}

/** The values in an address. A missing one has a fallback; so has an impossible one, and `wrong` says what's wrong. */
class Asked {
  constructor(hash) {
    this.values = new URLSearchParams(hash.replace(/^#/, ""));
    Object.assign(this, { wrong: [], known: new Set() });
  }

  /** The text under this key, or null. */
  text(key) {
    this.known.add(key);
    return this.values.get(key);
  }

  world(fallback) {
    const id = this.text("world");
    if (id === null || Playground.WORLDS[id]) return id ?? fallback;
    this.wrong.push(`there is no world ${id} here`);
    return fallback;
  }

  hidden(fallback) {
    const text = this.text("hidden");
    if (text === null) return fallback;
    const widths = text.split(",").map(Number);
    const fits = (width) => Number.isInteger(width) && width >= 1 && width <= LAYERS[1];
    if (widths.length <= LAYERS[0] && widths.every(fits)) return widths;
    this.wrong.push(`hidden is up to ${LAYERS[0]} widths from 1 to ${LAYERS[1]}, as in 32,32`);
    return fallback;
  }

  /** Numbers under their names, with this prefix. */
  numbers(prefix, fallbacks) {
    const known = Object.entries(fallbacks);
    return Object.fromEntries(known.map(([name, value]) => [name, this.number(prefix, name, value)]));
  }

  number(prefix, name, fallback) {
    const text = this.text(prefix + name);
    if (text === null) return fallback;
    if (typeof fallback === "boolean") {
      if (text === "true" || text === "false") return text === "true";
      this.wrong.push(`${prefix}${name} is true or false, not ${text || "empty"}`);
      return fallback;
    }
    if (CHOICES[name]) {
      if (CHOICES[name].includes(text)) return text;
      this.wrong.push(`${prefix}${name} is ${CHOICES[name].join(" or ")}, not ${text || "empty"}`);
      return fallback;
    }
    const [low, high] = LIMITS[name] ?? [0, Infinity];
    const value = text === "" ? NaN : Number(text);
    const whole = WHOLE.includes(name);
    if (value >= low && value <= high && value < Infinity && (!whole || Number.isInteger(value))) return value;
    const range = high < Infinity ? `from ${low} to ${high}` : `of at least ${low}`;
    this.wrong.push(`${prefix}${name} is a ${whole ? "whole " : ""}number ${range}, not ${text || "empty"}`);
    return fallback;
  }

  /** An arm's tricks with everything they need; none if its set is illegal, null if the address has no such arm. */
  tricks(key) {
    const text = this.text(key);
    if (text === null) return null;
    const names = text.split(",").filter(Boolean);
    try {
      const [fault] = Playground.faults(names);
      if (fault) throw new Error(fault.text);
      return Playground.closed(names);
    } catch ({ message }) {
      this.wrong.push(message);
      return [];
    }
  }

  /** What an arm with these tricks swaps in its loop. */
  swaps(prefix, tricks) {
    const found = {};
    for (const kind of [...Object.keys(Playground.LINES), "fault"]) {
      const text = this.text(prefix + kind);
      if (text === null) continue;
      try {
        Playground.planted({ [kind]: text }, tricks);
        found[kind] = text;
      } catch ({ message }) {
        this.wrong.push(`in ${prefix}${kind}, ${message}`);
      }
    }
    return found;
  }

  guess() {
    const text = this.text("guess");
    if (text === null) return undefined;
    if (/^\d{1,6}$/.test(text)) return Number(text);
    if (text !== "random") this.wrong.push(`guess is random or a number of up to six digits, not ${text || "empty"}`);
    return unknown();
  }

  /** The keys that no method has read. */
  rest() {
    return [...this.values.keys()].filter((key) => !this.known.has(key));
  }
}

/** The address of a setting. */
export function written({ arms: [a, b], ...setting }) {
  const usual = defaults(setting.world);
  const parts = [`world=${setting.world}`, `a=${a.tricks.join(",")}`];
  if (b) parts.push(`b=${b.tricks.join(",")}`);
  for (const [name, value] of Object.entries(usual)) {
    if (a.numbers[name] !== value) parts.push(`${name}=${a.numbers[name]}`);
    if (b && b.numbers[name] !== a.numbers[name]) parts.push(`b.${name}=${b.numbers[name]}`);
  }
  [a, b].forEach((arm, k) => parts.push(...swapsOf(arm, `${"ab"[k]}.`, setting.guess)));
  if (setting.guess !== undefined) parts.push(`guess=${setting.guess}`);
  const counts = Object.keys(COUNTS).filter((name) => setting[name] !== COUNTS[name]);
  parts.push(...counts.map((name) => `${name}=${setting[name]}`));
  if (String(setting.hidden) !== String(HIDDEN)) parts.push(`hidden=${setting.hidden}`);
  return `#${parts.join("&")}`;
}

/** An arm's swaps in an address. A fault that is to be guessed is not among them. */
function swapsOf({ swaps = {} } = {}, prefix, guess) {
  const shown = Object.entries(swaps).filter(([kind]) => kind !== "fault" || guess === undefined);
  return shown.map(([kind, text]) => `${prefix}${kind}=${encodeURIComponent(text).replaceAll("%20", "+")}`);
}
