// Environment steps a second: of the engine with one worker and with one per core, and of TensorFlow.js at such a job.
"use strict";

const ASKED = new URLSearchParams(location.search);
const STEPS = Number(ASKED.get("steps") ?? 20_000); // of each agent
const { LADDER, Session, WORLDS } = Playground;
const NUMBERS = Object.fromEntries(LADDER.numbers.map(({ name, value }) => [name, value]));

/** Steps a second of so many agents of a preset on so many workers. */
function engine(preset, agents, workers) {
  return new Promise((resolve) => {
    const start = performance.now();
    const steps = Array(agents).fill(0);
    const tricks = LADDER.presets[preset];
    const run = new Session({ world: "CartPole-v1", tricks, numbers: { steps: STEPS }, seeds: agents, workers });
    run.on("update", (rows) => rows.forEach(({ agent, step }) => (steps[agent] = step)));
    run.on("end", () => {
      run.stop();
      resolve((1000 * steps.reduce((sum, each) => sum + each, 0)) / (performance.now() - start));
    });
  });
}

/** The same for one agent of PPO on TensorFlow.js, as one would write it: layers, and an optimizer that minimizes. */
async function tensorflow(backend) {
  await tf.setBackend(backend);
  await tf.ready();
  const { lanes, horizon, epochs, minibatches, clip_range: range, entropy_coef: coef, lr } = NUMBERS;
  const [world, random] = [WORLDS["CartPole-v1"], Math.random];
  const net = (outputs) =>
    tf.sequential({
      layers: [
        tf.layers.dense({ units: 32, activation: "tanh", inputShape: [4] }),
        tf.layers.dense({ units: 32, activation: "tanh" }),
        tf.layers.dense({ units: outputs }),
      ],
    });
  const [policy, critic, optimizer] = [net(2), net(1), tf.train.adam(lr)];
  const [state, outcome] = [new Float32Array(4 * lanes), {}];
  for (let lane = 0; lane < lanes; lane++) world.initial(state, 4 * lane, random);
  const start = performance.now();
  let steps = 0;
  while (performance.now() - start < 5000) {
    const [seen, chosen] = [[], []];
    for (let t = 0; t < horizon; t++, steps += lanes) {
      const logits = tf.tidy(() => policy.predict(tf.tensor2d(state, [lanes, 4])).dataSync());
      for (let lane = 0; lane < lanes; lane++) {
        const action = random() < 1 / (1 + Math.exp(logits[2 * lane] - logits[2 * lane + 1])) ? 1 : 0;
        seen.push(Array.from(state.subarray(4 * lane, 4 * lane + 4)));
        chosen.push(action);
        world.step(state, 4 * lane, action, random, outcome);
        if (outcome.terminated) world.initial(state, 4 * lane, random);
      }
    }
    const rows = Math.floor((lanes * horizon) / minibatches);
    for (let k = 0; k < epochs * minibatches; k++) {
      tf.tidy(() => {
        const from = (k % minibatches) * rows; // what the numbers are does not matter here, only how many there are
        const obs = tf.tensor2d(seen.slice(from, from + rows));
        const action = tf.oneHot(tf.tensor1d(chosen.slice(from, from + rows), "int32"), 2);
        const [advantage, target] = [tf.randomNormal([rows]), tf.ones([rows])];
        optimizer.minimize(() => {
          const logs = policy.predict(obs).logSoftmax();
          const ratio = logs.mul(action).sum(1).add(Math.LN2).exp();
          const gain = tf.minimum(ratio.mul(advantage), ratio.clipByValue(1 - range, 1 + range).mul(advantage)).mean();
          const entropy = logs.exp().mul(logs).sum(1).mean().neg();
          const error = critic.predict(obs).squeeze().sub(target).square().mean().mul(0.25);
          return error.sub(gain).sub(entropy.mul(coef));
        });
      });
    }
  }
  return (1000 * steps) / (performance.now() - start);
}

/** Until a script beside the page has run. */
function loaded(source) {
  return new Promise((onload, onerror) => {
    document.head.append(Object.assign(document.createElement("script"), { src: source, onload, onerror }));
  });
}

/** Measure one thing after the other, and write a row of each. */
async function main() {
  const cores = navigator.hardwareConcurrency;
  const told = {};
  const measure = async (name, work) => {
    told[name] = Math.round(await work());
    const row = document.querySelector("tbody").insertRow();
    row.insertCell().textContent = name;
    row.insertCell().textContent = told[name].toLocaleString("en-US");
  };
  for (const preset of ["reinforce", "ppo", "every"]) {
    await measure(`${preset}, 2 agents, one worker`, () => engine(preset, 2, 1));
    await measure(`${preset}, 10 agents, ${cores} workers`, () => engine(preset, 10, cores));
  }
  if (ASKED.has("tensorflow")) {
    await loaded("tf.min.js");
    for (const name of ["cpu", "webgl"]) await measure(`ppo, TensorFlow.js, ${name}`, () => tensorflow(name));
  }
  document.body.dataset.told = JSON.stringify(told);
}

main();
