// What the tests ask of the playground's engine: to learn from rollouts that the library recorded, and to play.
"use strict";

/** A case as `support.replayed` writes it -> for each update what it computed, and the row of the curve. */
function replay({ world, tricks, numbers, weights, rollouts, orders, swaps }) {
  const rollout = new Playground.Rollout(world, numbers.lanes);
  const player = {
    ...{ world, lanes: numbers.lanes },
    over: new Uint8Array(numbers.lanes).fill(1), // so that an episode is at its end as soon as it begins
    rollout,
    begin() {
      rollout.clear();
      const { columns, rows, lasts } = rollouts[log.update];
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
  const swapped = Playground.planted(swaps ?? {}, Object.keys(tricks));
  for (const what of Playground.train(agent, player, chance, numbers, tricks, log, swapped)) {
    if (moved) steps.push({ weights: list("value") });
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

/** A lane of a world from these chances, under these actions: what is seen and paid at every step. */
function trajectory(id, starting, actions, chances) {
  const world = Playground.WORLDS[id];
  const [state, obs] = [new Float32Array(world.size), new Float64Array(world.features)];
  const [legal, outcome] = [new Uint8Array(world.actions), {}];
  const given = (numbers) => {
    let k = 0;
    return () => numbers[k++];
  };
  world.initial(state, 0, given(starting));
  return actions.map((action, t) => {
    world.observe(state, 0, obs, 0);
    world.legal?.(state, 0, legal, 0);
    const shown = world.demonstrate ? new Float64Array(world.actions) : null;
    world.demonstrate?.(state, 0, shown, 0);
    const seen = { obs: [...obs], legal: world.legal ? [...legal] : null, shown: shown && [...shown] };
    world.step(state, 0, action, given(chances[t]), outcome);
    return { ...seen, ...outcome };
  });
}

/** A player that counts, in `counts`, the rows after each step of the lanes. */
class Counting extends Playground.Player {
  begin() {
    super.begin();
    this.counts = [];
  }
  step(...given) {
    super.step(...given);
    this.counts.push(this.rollout.rows);
  }
}

/** All that a training yields, and after each of its messages the player's state. */
function* training(id, tricks, given) {
  const defaults = Playground.LADDER.numbers.map(({ name, value }) => [name, value]);
  const numbers = { ...Object.fromEntries(defaults), hidden: [4], ...given };
  const [world, chance, log] = [Playground.WORLDS[id], new Playground.Chance(7), new Playground.Log(numbers)];
  const agent = Playground.buildAgent(world, numbers, tricks, chance);
  const player = new Counting(world, numbers, chance);
  for (const what of Playground.train(agent, player, chance, numbers, tricks, log)) yield [what, player];
}

/** The phases of one update with these tricks. */
function phases(names) {
  const tricks = Object.fromEntries(names.map((name) => [name, true]));
  const told = [...training("CartPole-v1", tricks, { steps: 1 })].map(([what]) => what);
  return told.filter((what) => typeof what === "string");
}

/** Rollouts of three lanes and 40 steps, of segments or of whole episodes, of a policy that learns. */
function rollouts(segments, id) {
  const found = [];
  const tricks = { segments, baseline: segments };
  for (const [told, { rollout, over, counts }] of training(id, tricks, { lanes: 3, horizon: 40, steps: 900 })) {
    if (typeof told === "string") continue;
    const columns = ["lane", "done", "last", "cut", "terminated", "truncated"].map((name) => [name, [...rollout[name]]]);
    const ended = over.reduce((sum, one) => sum + one, 0);
    found.push({ rows: rollout.rows, counts, games: rollout.games, over: ended, told, ...Object.fromEntries(columns) });
  }
  return found;
}

/** How many episodes are terminated, and truncated, in a world with another time limit. */
function ends(id, limit) {
  const world = { ...Playground.WORLDS[id], limit };
  const player = new Playground.Player(world, { lanes: 2 }, new Playground.Chance(7));
  player.begin();
  for (let t = 0; t < 100; t++) player.step({ policy: () => [0, 0, 0, 0] }, [1, 1]);
  return ["terminated", "truncated"].map((name) => player.rollout[name].reduce((sum, one) => sum + one, 0));
}

/** The actions in each of so many rollouts of 100 steps in two lanes, of a policy with the same logits in every state. */
function actions(id, logits, count) {
  const player = new Playground.Player(Playground.WORLDS[id], { lanes: 2 }, new Playground.Chance(7));
  return Array.from({ length: count }, () => {
    player.begin();
    for (let t = 0; t < 100; t++) player.step({ policy: () => [...logits, ...logits] }, [1, 1]);
    return [...player.rollout.action];
  });
}

/** So many random orders of three rows, and the first numbers of the streams of each purpose. */
function chances(count) {
  const chance = new Playground.Chance(7);
  const orders = Array.from({ length: count }, (_, k) => chance.shuffled(3, k, 0).join(""));
  const numbers = ["init", "env", "action", "minibatch"].map((purpose) => {
    const random = chance.stream(purpose);
    return Array.from({ length: count }, random);
  });
  return { orders, numbers };
}

/** The rows of a training's curve. */
function curve(id, tricks, numbers) {
  return [...training(id, tricks, numbers)].map(([what]) => what).filter((what) => typeof what === "object");
}

/** The layers of an untrained agent's two nets: inputs, outputs, weight and bias of each. */
function layers(tricks) {
  const world = Playground.WORLDS["CartPole-v1"];
  const agent = Playground.buildAgent(world, { hidden: [12, 12] }, tricks, new Playground.Chance(7));
  return [agent.policyNet, agent.valueNet].map((net) =>
    net.layers.map(({ inputs, outputs, weight, bias }) => [inputs, outputs, [...weight.value], [...bias.value]]),
  );
}

/** The value of an objective that is written, and its slope by log π, in rows with these ratios and advantages. */
function written(text, ratios, advantages, range) {
  const found = Playground.writtenObjective(text)(Float64Array.from(ratios), Float64Array.from(advantages), range);
  return [[...found.value], [...found.slope]];
}
