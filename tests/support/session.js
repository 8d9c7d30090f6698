// Sessions of the playground's engine, as the tests run them. Each hands what it found to its last argument.
"use strict";

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Each seed's rows. */
function curvesOf(setting, done) {
  const rows = {};
  const run = new Playground.Session(setting);
  run.on("error", done).on("end", () => {
    run.stop();
    done(rows);
  });
  run.on("update", (some) =>
    some.forEach(({ agent, seed, ...row }) => {
      for (const name of Object.keys(row)) if (Number.isNaN(row[name])) row[name] = null;
      (rows[seed] ??= []).push(row);
    }),
  );
}

/** What is told of agent 1 during its first update. */
function watched(setting, done) {
  const run = new Playground.Session({ ...setting, paused: true });
  const phases = [];
  run.watch(1);
  run.setSpeed(4);
  run.on("phase", (what) => phases.push(what));
  run.on("watched", ({ agent, film: { states, actions, starts }, ratios }) => {
    run.stop();
    const told = phases.map(({ phase, minibatch, film }) => [phase, minibatch, film?.states.length]);
    done([agent, states.length, actions.length, starts[0], ratios.length, states[0].length, told]);
  });
  run.stepOneUpdate();
}

/** Begins a session, which `after` runs until so many updates were made. */
function begun(setting) {
  const run = (window.run = new Playground.Session({ ...setting, paused: true }));
  let updates = 0;
  run.on("update", (rows) => (updates += rows.length));
  window.after = async (count, done) => {
    run.resume();
    while (updates < count) await later(20);
    run.pause();
    await later(200);
    done();
  };
}

/** What is wrong with a call. */
function fault(call) {
  try {
    return call();
  } catch (error) {
    return error.message;
  }
}
