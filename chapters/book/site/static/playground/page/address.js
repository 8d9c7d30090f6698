// A setting and the address after # that stands for it:
//
//   #world=CartPole-v1&a=baseline,reuse&b=baseline,reuse,clip&lr=0.01&b.lr=0.003&agents=10&from=0&watch=3
//
// A setting is { world, agents, from, watch, hidden, arms: [{ tricks, numbers }] } with one arm or two. `from` is the
// first seed; a number that B does not name is A's. What a world or the library has by default is left out.

import { place } from "./places.js";

const LIMITS = { agents: [1, 30], from: [0, 1e6], watch: [0, 29], steps: [1000, 1e6], epochs: [1, 50], minibatches: [1, 32] };
Object.assign(LIMITS, { lanes: [1, 64], horizon: [1, 2048], gamma: [0, 1], gae_lambda: [0, 1] });
const WHOLE = ["agents", "from", "watch", "steps", "epochs", "minibatches", "lanes", "horizon"];
const LAYERS = [8, 128]; // at most so many, of at most such a width
const FIRST = { world: "CartPole-v1", agents: 10, from: 0, watch: 0, hidden: [32, 32] };

/** The numbers of an arm by default: the library's, and those that suit the world. */
export function defaults(world) {
  const known = Playground.LADDER.numbers.map(({ name, value }) => [name, value]);
  return { ...Object.fromEntries(known), ...place(world).numbers };
}

/** What an address asks for, and a line for each thing in it that can't be. */
export function read(hash, start = {}) {
  const [asked, wrong] = [new URLSearchParams(hash.replace(/^#/, "")), []];
  const setting = { ...FIRST, ...start };
  if (asked.has("world")) {
    if (Playground.WORLDS[asked.get("world")]) setting.world = asked.get("world");
    else wrong.push(`there is no world ${asked.get("world")} here`);
  }
  if (asked.has("hidden")) {
    const widths = asked.get("hidden").split(",").map(Number);
    const good = widths.length <= LAYERS[0] && widths.every((w) => Number.isInteger(w) && w >= 1 && w <= LAYERS[1]);
    if (good) setting.hidden = widths;
    else wrong.push(`hidden is up to ${LAYERS[0]} widths from 1 to ${LAYERS[1]}, as in 32,32`);
  }
  const number = (key, name, fallback) => {
    if (!asked.has(key)) return fallback;
    const text = asked.get(key);
    if (typeof fallback === "boolean") return text === "true";
    const [low, high] = LIMITS[name] ?? [0, 1e9];
    const value = Number(text);
    const good = text !== "" && value >= low && value <= high && (!WHOLE.includes(name) || Number.isInteger(value));
    if (!good) wrong.push(`${name} is ${WHOLE.includes(name) ? "a whole number " : ""}from ${low} to ${high}, not ${text}`);
    return good ? value : fallback;
  };
  for (const name of ["agents", "from"]) setting[name] = number(name, name, setting[name]);
  setting.watch = Math.min(setting.agents - 1, number("watch", "watch", setting.watch));
  const numbers = defaults(setting.world);
  const known = new Set(["world", "hidden", "agents", "from", "watch", "a", "b"]);
  for (const name of Object.keys(numbers)) {
    numbers[name] = number(name, name, numbers[name]);
    known.add(name).add(`b.${name}`);
  }
  for (const key of asked.keys()) if (!known.has(key)) wrong.push(`nothing here is called ${key}`);
  const arm = (key, fallback, own) => {
    if (!asked.has(key)) return fallback && { tricks: fallback, numbers: own };
    const names = asked.get(key).split(",").filter(Boolean);
    try {
      const [fault] = Playground.faults(names);
      if (fault) throw new Error(fault.text);
      return { tricks: Playground.closed(names), numbers: own };
    } catch ({ message }) {
      wrong.push(message);
      return { tricks: [], numbers: own };
    }
  };
  const others = { ...numbers };
  for (const name of Object.keys(numbers)) others[name] = number(`b.${name}`, name, numbers[name]);
  const fallback = (k) => setting.arms?.[k]?.tricks;
  setting.arms = [arm("a", fallback(0) ?? [], numbers), arm("b", fallback(1), others)].filter(Boolean);
  return { setting, wrong };
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
  for (const name of ["agents", "from", "watch"]) if (setting[name] !== FIRST[name]) parts.push(`${name}=${setting[name]}`);
  if (String(setting.hidden) !== String(FIRST.hidden)) parts.push(`hidden=${setting.hidden}`);
  return `#${parts.join("&")}`;
}
