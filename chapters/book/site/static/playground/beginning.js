// An agent at the beginning of its training: untrained, or with what it has learned from demonstrations.

import { Log } from "./log.js";
import { Player } from "./player.js";
import { buildAgent, train } from "./loop.js";

const RATE = 0.01; // the learning rate at which imitation begins

/** The agent of a seed, which may first imitate for `imitate_steps`. */
export function beginning(world, numbers, tricks, chance, rooms) {
  const agent = buildAgent(world, numbers, tricks, chance, rooms);
  if (!numbers.imitate_steps) return agent;
  const first = { ...numbers, steps: numbers.imitate_steps, lr: RATE };
  const on = { imitate: true, lr_anneal: true };
  const imitator = buildAgent(world, first, on, chance, rooms);
  const run = train(imitator, new Player(world, first, chance), chance, first, on, new Log(first));
  while (!run.next().done);
  agent.parameters.forEach(({ value }, k) => value.set(imitator.parameters[k].value));
  return agent;
}
