// The playground's engine: the library's loop in plain JavaScript, for pages that train agents while you watch.
//
// The site builder puts these modules into one classic script, playground-engine.js, because a page that is opened
// from a folder can load neither modules nor workers. It defines `Playground`:
//
//   const run = new Playground.Session({
//     world: "CartPole-v1",              // an id in Playground.WORLDS
//     tricks: ["baseline", "reuse"],     // names in Playground.LADDER.tricks; see Playground.faults and .closed
//     numbers: { lr: 0.003 },            // those that differ from their default in Playground.LADDER.numbers
//     seeds: 10,                         // a count or a list; the same seed learns the same each time
//     hidden: [32, 32],
//     swaps: { objective: "ratio * advantage" }, // in place of clip's; or { fault: "forgetful" }, see planted.js
//     paused: false,
//     workers: 2,                        // threads; by default one per core, 0 for the page's own thread
//   });
//   run.on("update", (rows) => ...);     // of a few agents at a time: { agent, seed, update, step, episodes, return,
//                                        // length, active, diverged, policy_loss, ... }: the columns of the library's
//                                        // curve, NaN where there is no such diagnostic, or no episode ended
//   run.on("watched", (what) => ...);    // after each update of the watched agent: { agent, row, film, ratios }, the
//                                        // film being what its first lane did, { states, actions, starts }, with the
//                                        // places where episodes begin; ratios are the last minibatch's, or null
//   run.on("phase", (what) => ...);      // before each line of the watched agent's loop, at up to 4 updates a second:
//                                        // { agent, phase, minibatch, ratios, notes, film }: phase is the name of the
//                                        // library's function on that line of the listing, minibatch counts from 1,
//                                        // notes are the diagnostics so far; the film comes once, when it was played
//   run.on("end", () => ...);            // all agents have used their budget (`steps`), or diverged
//   run.on("error", ({ message }) => ...);
//   run.pause(); run.resume(); run.stepOneUpdate(); run.setSpeed(2); run.watch(3); run.stop();
//
// A world has an `id`, its sizes, and a `kind` that says what a state is: pole (x, ẋ, θ, θ̇), corridor (the cell of
// `cells`), cue (0 or 1), mail (the cue, and pay on its way, the newest first), rope (the cue in [0, 1)), grid (row
// and column of `cells`), lottery (whether the choice is made, and for the ticket),
// reply (the prompt and the reply, places in `words`). LADDER has tricks (name, adds,
// color, needs, numbers, beyond), numbers (name, value), and presets (name: tricks).

export { closed, faults } from "./faults.js";
export { LADDER } from "./ladder.js";
export { WORLDS } from "./worlds/worlds.js";
export { SLOW } from "./crew.js";
export { Session, misfits, serve } from "./session.js";
export { buildAgent, train } from "./loop.js";
export { FAULTS, LINES, planted, writtenAdvantage, writtenObjective } from "./planted.js";
export { Chance } from "./seeds.js";
export { Log } from "./log.js";
export { Player } from "./player.js";
export { Rollout } from "./rollout.js";
