// The training loop: play, judge, learn. It is the library's tricks/loop.py for one agent, and a generator: before a
// step it yields the name of the library's function on that line, and after each update a row of the curve. So whoever
// runs it can go at any speed, stop between two lines, and say which one is worked on.

import { maskLogits } from "./action_mask.js";
import { Adam } from "./adam.js";
import { standardize } from "./advantage_norm.js";
import { Agent } from "./agent.js";
import { followingDecay, linearDecay } from "./annealing.js";
import { explainedVariance, squaredError } from "./baseline.js";
import { valueAtCut, withLimitsCut } from "./bootstrap.js";
import { clipFraction, clippedSurrogate } from "./clip.js";
import { clipHighFraction, clippedApart } from "./clip_higher.js";
import { boundedBelow, boundedFraction } from "./dual_clip.js";
import { entropyBonus } from "./entropy.js";
import { gae } from "./gae.js";
import { shorten } from "./grad_clip.js";
import { leaveOneOut, wholeReplies } from "./group_baseline.js";
import { inDeviations } from "./group_norm.js";
import { linearBeyond } from "./huber.js";
import { demonstrator, equallyGood } from "./imitate.js";
import { keptNear, lessKl } from "./kl_penalty.js";
import { nearEnough } from "./kl_stop.js";
import { orthogonal } from "./orthogonal_init.js";
import { playEpisodes } from "./player.js";
import { Categorical } from "./policies.js";
import { preserveOutputs, renormalize } from "./popart.js";
import { divisor, mean } from "./reductions.js";
import { followReturns, normalize, std, unmoved } from "./return_norm.js";
import { rewardToGo } from "./returns.js";
import { drift, importanceRatio, minibatches, oldLogProb, surrogate } from "./reuse.js";
import { playSegment } from "./segments.js";
import { addObsStats, followObservations } from "./state_norm.js";
import { clippedError } from "./value_clip.js";

/** An untrained agent. */
export function buildAgent(world, config, tricks, chance, rooms = {}) {
  const agent = new Agent(world, config, chance, rooms);
  if (tricks.orthogonal_init) {
    orthogonal(agent.policyNet, chance.stream("init", 0), Math.SQRT2, 0.01);
    orthogonal(agent.valueNet, chance.stream("init", 1), Math.SQRT2, 1);
  }
  if (tricks.action_mask) agent.mask = maskLogits;
  if (tricks.state_norm) addObsStats(agent);
  if (tricks.return_norm) agent.returnStats = unmoved(config.return_first_batch);
  return agent;
}

const LOSSES = { importanceRatio, clippedSurrogate, entropyBonus, squaredError, clippedError };
const CALLED = { standardize, ...LOSSES, mean, divisor };

/**
 * Train one agent until it has used its budget, or its loss or gradient is not finite. swapped: functions in place of
 * some of those CALLED.
 */
export function* train(agent, player, chance, config, tricks, log, swapped = {}) {
  const t = { agent, player, chance, config, tricks, log, optimizer: new Adam(agent.parameters, config.adam_eps) };
  t.call = { ...CALLED, ...swapped };
  if (tricks.kl_penalty) t.reference = agent.reference();
  if (tricks.grad_clip) t.optimizer.limit = (norm) => shorten(norm, config.max_grad_norm);
  while (log.active) {
    const rollout = yield* play(t); // collect experience with the current policy
    const batch = yield* judge(t, rollout); // how good was each action?
    yield* learn(t, batch, rollout); // make the actions that turned out well more likely
    yield log.endUpdate(rollout);
  }
}

/** Whole episodes, or segments that may be cut. */
export function* play({ player, agent, config, tricks }) {
  let rollout;
  const policy = tricks.imitate ? demonstrator(player) : agent;
  if (tricks.segments) {
    yield "play_segment";
    rollout = playSegment(player, policy, config.horizon);
  } else {
    yield "play_episodes";
    const rows = tricks.group_baseline ? 1 : config.horizon * config.lanes; // then each lane plays one
    rollout = playEpisodes(player, policy, rows);
  }
  if (tricks.bootstrap) rollout = withLimitsCut(rollout);
  return rollout;
}

/** The rows of a rollout with their advantages and, for the value net, with its predictions and targets. */
export function* judge({ agent, reference, config, tricks, log }, rollout) {
  const { obs, legal, action, lane, done, cut } = rollout;
  const batch = legal ? { obs, legal, action } : { obs, action };
  if (tricks.kl_penalty) {
    yield "penalized_reward";
    const { reward, kl } = keptNear(rollout, batch, agent, reference, config);
    rollout = rollout.having({ reward });
    log.note({ reference_kl: kl });
  }
  yield "reward_to_go";
  batch.advantage = rewardToGo(rollout, config.gamma);
  if (tricks.group_baseline) {
    yield "leave_one_out";
    batch.advantage = leaveOneOut(batch.advantage, rollout, config.group);
    batch.lane = lane;
  }
  if (tricks.group_norm) batch.advantage = inDeviations(batch.advantage, rollout, config.group);
  if (tricks.baseline) {
    yield "values";
    const { value, nextValue } = agent.values(rollout); // V(s), V(s')
    const later = valueAtCut(rollout, nextValue, config.gamma);
    let target = batch.advantage.map((g, r) => g + later[r]);
    batch.advantage = target.map((g, r) => g - value[r]);
    log.note({ explained_variance: explainedVariance(value, target) }); // of the returns, also under gae
    if (tricks.gae) {
      const dead = done.map((ended, r) => ended && !cut[r]);
      yield "gae";
      batch.advantage = gae(rollout, value, nextValue, dead, config.gamma, config.gae_lambda);
      target = batch.advantage.map((a, r) => value[r] + a);
    }
    Object.assign(batch, { oldValue: value, target });
    let [before, stats] = [null, null];
    if (tricks.return_norm) {
      yield "follow_returns_";
      [before, stats] = followReturns(agent, target, config.return_beta);
      log.note({ return_mean: stats.mean, return_std: std(stats) });
      Object.assign(batch, { oldValue: normalize(value, before), target: normalize(target, stats) }); // in the net's units
    }
    if (tricks.popart) {
      batch.oldValue = renormalize(batch.oldValue, before, stats);
      yield "preserve_outputs_";
      preserveOutputs(agent.valueNet.head, before, stats);
    }
  }
  if (tricks.imitate) batch.advantage = equallyGood(batch.advantage);
  log.advantage = batch.advantage;
  return batch;
}

/** A gradient step on each minibatch. */
export function* learn(t, batch, rollout) {
  const { agent, config, tricks, log } = t;
  let rate = config.lr;
  if (tricks.lr_anneal) rate = linearDecay(rate, log.progress);
  log.note({ learning_rate: rate });
  t.clipRange = config.clip_range;
  t.valueClipRange = config.value_clip_range;
  t.clipHigh = config.clip_high;
  if (tricks.clip_anneal) {
    t.clipRange = linearDecay(t.clipRange, log.progress);
    t.clipHigh = linearDecay(t.clipHigh, log.progress);
    t.valueClipRange = followingDecay(t.valueClipRange, log.progress, config.value_clip_anneals);
  }
  t.moving = true; // kl_stop may stop it
  for (const b of yield* deal(t, batch)) {
    log.minibatch++;
    yield* policyLoss(t, b);
    if (tricks.baseline) yield* valueLoss(t, b);
    if (tricks.kl_stop) log.note({ steps_taken: t.moving ? 1 : 0 });
    yield "move";
    log.note({ grad_norm: t.optimizer.move(rate, t.moving && b.action.length > 0) });
  }
  if (tricks.state_norm) {
    yield "follow_observations_"; // only now, so that the first minibatch's ratio is 1
    followObservations(agent, rollout, config.obs_decay);
  }
}

/** The minibatches of an update. REINFORCE takes one step on the whole batch. */
export function* deal({ agent, player, chance, config, tricks, log }, batch) {
  if (!tricks.reuse) return [batch];
  yield "old_log_prob";
  batch.oldLogProb = oldLogProb(agent, batch);
  yield tricks.group_baseline ? "whole_replies" : "minibatches";
  const dealt = [chance, log.update, config.epochs, config.minibatches];
  return tricks.group_baseline ? wholeReplies(batch, player.lanes, ...dealt) : minibatches(batch, ...dealt);
}

/** Add the gradient of −E[log π(a|s)·A], in the form that the flags give it. */
export function* policyLoss(t, b) {
  const { agent, config, tricks, log, call } = t;
  const rows = b.action.length;
  let advantage = b.advantage; // [B]
  if (tricks.advantage_norm) {
    yield "standardize";
    advantage = call.standardize(advantage);
  }
  yield "policy";
  const policy = new Categorical(agent.policy(b.obs, b.legal, rows), rows, agent.world.actions);
  const [logProb, entropy] = [policy.logProb(b.action), policy.entropy()];
  let objective = { value: logProb.map((each, r) => each * advantage[r]), slope: advantage };
  let ratio;
  if (tricks.reuse) {
    yield "importance_ratio";
    ratio = log.ratios = call.importanceRatio(logProb, b.oldLogProb);
    log.note(drift(ratio));
    objective = surrogate(ratio, advantage);
  }
  if (tricks.clip) {
    if (!tricks.clip_higher) yield "clipped_surrogate"; // else its result is replaced at once
    objective = call.clippedSurrogate(ratio, advantage, t.clipRange);
    log.note({ clip_fraction: clipFraction(ratio, t.clipRange), clip_range: t.clipRange });
  }
  if (tricks.clip_higher) {
    yield "clipped_apart";
    objective = clippedApart(ratio, advantage, t.clipRange, t.clipHigh);
    log.note({ clip_high_fraction: clipHighFraction(ratio, t.clipHigh) });
  }
  if (tricks.dual_clip) {
    yield "bounded_below";
    objective = boundedBelow(objective, advantage, config.dual_clip_limit);
    log.note({ bounded_fraction: boundedFraction(ratio, advantage, config.dual_clip_limit) });
  }
  if (tricks.kl_penalty) {
    yield "penalized_objective";
    objective = lessKl(objective, logProb, b.referenceLogProb, config);
  }
  log.note({ policy_loss: -call.mean(objective.value), entropy: call.mean(entropy) });
  if (tricks.kl_stop) {
    yield "near_enough";
    t.moving = t.moving && nearEnough(ratio, config.target_kl);
  }
  let byEntropy = 0;
  if (tricks.entropy) {
    yield "entropy_bonus";
    byEntropy = -call.entropyBonus(config.entropy_coef, rows);
  }
  const divisor = call.divisor(rows);
  const byLogProb = objective.slope.map((slope) => -slope / divisor);
  agent.policyNet.backward(policy.backward(b.action, byLogProb, entropy, byEntropy), rows);
}

/** Add the gradient of c₁·E[½(V(s) − target)²], in the form that the flags give it. */
export function* valueLoss(t, b) {
  const { agent, config, tricks, log, call } = t;
  const rows = b.action.length;
  yield "value";
  const value = agent.value(b.obs, rows);
  let error = call.squaredError(value, b.target);
  if (tricks.value_clip) {
    yield "clipped_error";
    error = call.clippedError(value, b.oldValue, b.target, t.valueClipRange);
  }
  if (tricks.huber) {
    yield "linear_beyond";
    error = linearBeyond(error, config.huber_delta);
  }
  log.note({ value_loss: call.mean(error.value) });
  const divisor = call.divisor(rows);
  agent.valueNet.backward(error.slope.map((slope) => (config.value_coef * slope) / divisor), rows);
}
