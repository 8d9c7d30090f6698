// Plays rollouts that the library recorded to the playground's engine, and says what it made of them.
"use strict";

/** A case as `support.replayed` writes it -> for each update what it computed, and the row of the curve. */
function replay({ world, tricks, numbers, weights, rollouts, orders }) {
  const rollout = new Playground.Rollout(world, numbers.lanes);
  const player = {
    lanes: numbers.lanes,
    over: new Uint8Array(numbers.lanes).fill(1), // so that an episode is at its end as soon as it begins
    rollout,
    begin() {
      rollout.clear();
      const { columns, rows, lasts } = rollouts[log.updates];
      const kinds = { action: Int32Array, lane: Int32Array, last: Int32Array, obs: Float64Array, reward: Float64Array };
      for (const [name, column] of Object.entries(columns)) {
        rollout.columns[name] = (name === "lastObs" ? Float64Array : (kinds[name] ?? Uint8Array)).from(column);
      }
      Object.assign(rollout, { rows, lasts });
    },
    reset() {},
    step() {},
    cut() {},
  };
  const chance = new Playground.Chance(0);
  const log = new Playground.Log(numbers);
  const agent = Playground.buildAgent(world, numbers, tricks, chance);
  chance.shuffled = (count, update, epoch) => Int32Array.from(orders[update][epoch]);
  agent.parameters.forEach(({ value }, k) => value.set(weights[k]));
  const list = (name) => agent.parameters.map((parameter) => Array.from(parameter[name]));
  const found = [];
  let [steps, moved, phases] = [[], false, []];
  for (const what of Playground.train(agent, player, chance, numbers, tricks, log)) {
    if (moved) steps.push({ gradient: list("gradient"), weights: list("value") });
    moved = what === "move";
    if (typeof what === "string") {
      phases.push(what);
      continue;
    }
    for (const name of Object.keys(what)) if (Number.isNaN(what[name])) what[name] = null;
    found.push({ steps, phases, row: what });
    [steps, phases] = [[], []];
  }
  return found;
}
