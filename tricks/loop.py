"""The training loop: play, judge, learn."""

from collections.abc import Iterable
from contextlib import closing
from functools import partial

import torch
from torch import Tensor

from tricks.action_mask import mask_logits
from tricks.advantage_norm import standardize
from tricks.annealing import following_decay, linear_decay
from tricks.baseline import explained_variance, squared_error
from tricks.bootstrap import value_at_cut, with_limits_cut
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.config import Config
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.env import Env, MakeEnv
from tricks.core.moments import normalize
from tricks.core.nets import MakeBody
from tricks.core.owners import Waiting
from tricks.core.per_seed import per_seed
from tricks.core.recurrent_state import RecurrentState
from tricks.core.reductions import mean
from tricks.core.returns import reward_to_go
from tricks.core.rollout import Batch, Player, Rollout, play_episodes
from tricks.core.spaces import Spaces
from tricks.dual_clip import bounded_below, bounded_fraction
from tricks.entropy import entropy_bonus
from tricks.fast.dispatch import faster
from tricks.gae import gae
from tricks.grad_clip import shorten
from tricks.huber import linear_beyond
from tricks.kl_stop import near_enough
from tricks.ladder import Tricks
from tricks.orthogonal_init import orthogonal_
from tricks.popart import preserve_outputs_, renormalize
from tricks.ppg import AuxiliaryPhase, Memory, add_auxiliary_head_, auxiliary_errors, auxiliary_loss, auxiliary_net
from tricks.ppg_buffers import ages, dealt_apart
from tricks.recompute import judged_anew
from tricks.recurrent import add_recurrence_, as_sequences, whole_lanes
from tricks.return_norm import follow_returns_, per_task, unmoved
from tricks.reuse import drift, importance_ratio, minibatches, old_log_prob
from tricks.reward_scaling import add_reward_scale_, scale_rewards_
from tricks.runs.checkpoint import Checkpoints
from tricks.runs.evaluation import Evaluation
from tricks.runs.log import Listener, Log
from tricks.runs.opening import open_env
from tricks.runs.run import Run, own
from tricks.runs.state import State, continuable
from tricks.segments import play_segment
from tricks.separate_optimizers import idle, in_turn, turns
from tricks.shared_trunk import share_trunk_
from tricks.squash import squashed
from tricks.state_norm import add_obs_stats_, follow_observations_
from tricks.value_clip import clipped_error
from tricks.values import checked


@checked
def train(
    config: Config,
    tricks: Tricks,
    env: MakeEnv | None = None,  # makes the environment of one lane; config.env is then only a label
    body: MakeBody | None = None,  # makes the body of each net, instead of the default layers
    checkpoints: Checkpoints | State | None = None,
    on_update: Listener | None = None,  # called with each update's rows of the curve, and the agents; may stop the run
    evaluation: Evaluation | None = None,  # greedy episodes, for the column eval_return
) -> Run:
    """Train S independent agents until each has used its budget of environment steps.

    A seed stops when its loss, gradient, observations or rewards are not finite; the run says which, and why. Raises
    InputError if all seeds' environments fail, or if the environment or the body cannot be made or is not supported.
    """
    with torch.inference_mode(False), closing(open_env(config, tricks, env, body, evaluation)) as opened:
        return train_in(opened, config, tricks, env, body, checkpoints, on_update, evaluation)


def build_agent(spaces: Spaces, config: Config, tricks: Tricks, body: MakeBody | None = None) -> Agent:
    """S untrained agents."""
    agent = Agent(spaces, config, body)
    if tricks.recurrent:
        add_recurrence_(agent, config)
    if tricks.orthogonal_init:
        orthogonal_(agent.policy_net, config.seed_list, 0, gain=2**0.5, head_gain=0.01)
        orthogonal_(agent.value_net, config.seed_list, 1, gain=2**0.5, head_gain=1.0)
    if tricks.action_mask:
        agent.mask = mask_logits
    if tricks.squash:
        agent.family = squashed(spaces.action)
    if tricks.state_norm:
        add_obs_stats_(agent)
    if tricks.return_norm:
        agent.return_stats = unmoved(agent.return_stats, config.return_first_batch)
    if tricks.shared_trunk:
        share_trunk_(agent)
    if tricks.ppg:
        add_auxiliary_head_(agent)
    if tricks.reward_scaling:
        add_reward_scale_(agent, config)
    return agent


@continuable
def train_in(
    env: Env,
    config: Config,
    tricks: Tricks,
    make: MakeEnv | None = None,
    body: MakeBody | None = None,
    checkpoints: State | None = None,
    on_update: Listener | None = None,
    evaluation: Evaluation | None = None,
) -> Run:
    """The loop. Everything has a leading seed axis S, and every reduction stays within a seed."""
    player, log = Player(env, block=config.horizon, limit=config.episode_limit), Log(config)
    agent = build_agent(env.spaces, config, tricks, body).to(config.device)
    if tricks.squash:
        player.family = agent.family
    optimizer = Adam(agent.parameters(), config.adam_eps)
    parts = {"agent": agent, "optimizer": optimizer, "log": log, "player": player, "env": env}  # what has a state
    if tricks.recurrent:
        player.state = RecurrentState(agent, env)
        parts |= {"state": player.state}
    value_optimizer = optimizer
    if tricks.grad_clip:
        optimizer.limit = partial(shorten, max_norm=config.max_grad_norm)
    if tricks.separate_optimizers:
        value_optimizer = Adam(agent.value_net.parameters(), config.adam_eps)
        if tricks.grad_clip:
            value_optimizer.limit = partial(shorten, max_norm=config.max_value_grad_norm)
        parts |= {"value_optimizer": value_optimizer}
    if tricks.ppg:
        memory = Memory(config.aux_every)
        if tricks.ppg_buffers:
            memory, policy_buffer = Memory(config.value_rollouts), Memory(config.policy_rollouts)
            parts |= {"policy_buffer": policy_buffer}
        phase = AuxiliaryPhase(agent, memory, config.adam_eps)
        parts |= {"memory": memory, "phase": phase.optimizer}
    if checkpoints:  # register what a checkpoint saves; a resumed run restores it here
        checkpoints.begin(config, tricks, evaluation, own(make, body), **parts)
    waiting = Waiting(parts.values(), log.active)

    while log.active.any():
        learning_rate = log.progress.new_tensor(config.rates)  # [S]
        if tricks.lr_anneal:
            learning_rate = linear_decay(learning_rate, log.progress)
        log.note(learning_rate=learning_rate)

        # Play: collect a rollout with the current policy.
        if tricks.segments:
            rollout = play_segment(player, agent.policy, config.horizon, log.active)
        else:
            rollout = play_episodes(player, agent.policy, config.horizon * config.lanes, log.active)
        if tricks.bootstrap:
            rollout = with_limits_cut(rollout)
        if tricks.reward_scaling:
            rollout, reward_std = scale_rewards_(agent, rollout, config.gamma)
            log.note(reward_std=reward_std)

        # Judge: how good was each action?
        batch = judge(agent, rollout, config, tricks, log)

        # Learn: make the actions that turned out well more likely.
        if tricks.reuse:
            batch.old_log_prob = old_log_prob(agent.policy, agent.family, batch)
            batches = minibatches(batch, config.seed_list, log.update, config.epochs, config.minibatches)
            if tricks.recurrent:
                batches = whole_lanes(batch, config.seed_list, log.update, config.epochs, config.minibatches)
            if tricks.separate_optimizers:
                batches = in_turn(batch, config, log.update)
        else:
            batches = [batch]  # REINFORCE: one gradient step on the whole batch
        if tricks.recompute:
            batches = judged_anew(batches, batch, agent, rollout, config)
        if tricks.ppg:
            phase.memory.add(batch, agent.return_stats, log.update)
        if tricks.ppg_buffers:
            policy_buffer.add(batch, agent.return_stats, log.update)
            batches = dealt_apart(policy_buffer, phase.memory, agent.return_stats, config, log.update)
        learn(agent, batches, optimizer, value_optimizer, learning_rate, config, tricks, log)
        if tricks.ppg:
            for b in phase.minibatches(agent, config, log.update):  # every N_π updates
                errors = auxiliary_errors(agent, b, config)
                loss = auxiliary_loss(errors, b.valid, config.clone_coef)
                phase.optimizer.move(loss, learning_rate, log.active & b.valid.any(1))
                log.note(b.valid.any(1), auxiliary_loss=loss, clone_kl=mean(errors[1], b.valid))

        if tricks.state_norm:  # only now, so that the first minibatch's ratio is 1
            follow_observations_(agent, batch, config.obs_decay)
        if evaluation:
            log.note(eval_return=evaluation.after(rollout, config, agent, log, make))
        log.end_update(rollout)
        waiting.end_update(log.active)
        if on_update:
            log.tell(on_update, agent)
        if checkpoints:
            checkpoints.end_update(log.steps)

    return Run(config, tricks, agent.cpu(), log.curve(), log.diverged, log.reasons, log.seconds, log.best, make, body)


def judge(agent: Agent, rollout: Rollout, config: Config, tricks: Tricks, log: Log) -> Batch:
    """The rows of a rollout with their advantages and, for the value net, with its predictions and targets."""
    batch = Batch.of(rollout)
    if tricks.recurrent:
        batch.obs = as_sequences(batch, rollout)
    reward, done = rollout.reward, rollout.done  # [S, T, N]
    if tricks.baseline:
        value, next_value = agent.values(rollout)  # V(s), V(s')
        target = reward_to_go(reward, done, config.gamma) + value_at_cut(rollout.cut, next_value, done, config.gamma)
        advantage = target - value
        log.note(explained_variance=explained_variance(value, target, rollout.valid))  # of the returns, also under gae
        if tricks.gae:
            dead = done & ~rollout.cut
            advantage = gae(reward, value, next_value, dead, done, config.gamma, config.gae_lambda)
            target = value + advantage
        if tricks.return_norm:
            before, stats = follow_returns_(agent, rollout, target, config.return_beta)
            log.note(return_mean=stats.mean, return_std=stats.std)
            if agent.spaces.tasks > 1:
                advantage = per_task(advantage, stats)
            batch.add(value=normalize(value, before), target=normalize(target, stats))  # in the value net's units
        else:
            batch.add(value=value, target=target)
        if tricks.popart:
            batch.value = renormalize(batch.value, before, stats)
            preserve_outputs_(agent.value_net, before, stats)
            if tricks.ppg:
                preserve_outputs_(auxiliary_net(agent), before, stats)
    else:
        advantage = reward_to_go(reward, done, config.gamma)
    batch.add(advantage=advantage.float())
    return batch


@faster("tricks.fused.learning")
def learn(
    agent: Agent,
    batches: Iterable[Batch],
    optimizer: Adam,
    value_optimizer: Adam,
    learning_rate: Tensor,
    config: Config,
    tricks: Tricks,
    log: Log,
) -> None:
    """A gradient step on each minibatch; learning_rate [S]."""
    family = agent.family
    clip_range = log.progress.new_tensor(config.each("clip_range"))  # [S]
    value_clip_range = log.progress.new_tensor(config.each("value_clip_range"), dtype=torch.float64)
    if tricks.clip_anneal:
        clip_range = linear_decay(clip_range, log.progress)
        value_clip_range = following_decay(value_clip_range, log.progress, config.value_clip_anneals)
    if tricks.kl_stop:
        near = log.near  # [S]: the seeds whose policy is still near the one that played
    for b in batches:
        moving = log.active & b.valid.any(1)  # [S]: the seeds that take a step on these rows
        if tricks.separate_optimizers:
            policy_turn, value_turn = turns(b)
            log.quiet = idle(policy_turn, value_turn)  # what the net that stands still would note
        features, advantage = agent.features(b.obs), b.advantage  # advantage [S, B]
        if tricks.advantage_norm:
            advantage = standardize(advantage, b.valid)
        logits = agent.policy(features, b.legal)  # [S, B, A], of a Gaussian [S, B, 2A]
        log_prob, entropy = family.log_prob(logits, b.action), family.entropy(logits)
        objective = log_prob * advantage
        if tricks.reuse:
            ratio = importance_ratio(log_prob, b.old_log_prob)
            log.note(**drift(ratio, b.valid))
            objective = ratio * advantage
        if tricks.clip:
            objective = clipped_surrogate(ratio, advantage, clip_range)
            log.note(clip_fraction=clip_fraction(ratio, clip_range, b.valid), clip_range=clip_range)
        if tricks.dual_clip:
            objective = bounded_below(objective, advantage, config.dual_clip_limit)
            log.note(bounded_fraction=bounded_fraction(ratio, advantage, config.dual_clip_limit, b.valid))
        loss = -mean(objective, b.valid)  # [S]
        log.note(policy_loss=loss, entropy=mean(entropy, b.valid))
        if tricks.entropy:
            loss = loss - entropy_bonus(entropy, b.valid, config.entropy_coef)
        if tricks.baseline:
            if tricks.ppg_buffers:  # the value net has minibatches of its own
                value_rows, value = b.value_rows, agent.value(b.value_rows.obs)
                log.note(**ages(b, log.update))
            else:
                value_rows, value = b, agent.value(features)
            error = squared_error(value, value_rows.target)
            if tricks.value_clip:
                error = clipped_error(value, value_rows.value, value_rows.target, value_clip_range.unsqueeze(1))
            if tricks.huber:
                error = linear_beyond(error, config.huber_delta)
            value_loss = mean(error, value_rows.valid)
            log.note(value_loss=value_loss)
            if tricks.separate_optimizers:
                value_rate = learning_rate * per_seed(config.value_lr_factor, learning_rate)
                value_moving = log.active & value_rows.valid.any(1) & value_turn
                weighted = per_seed(config.value_coef, value_loss) * value_loss
                log.note(value_grad_norm=value_optimizer.move(weighted, value_rate, value_moving))
                moving = moving & policy_turn
            else:
                loss = loss + per_seed(config.value_coef, value_loss) * value_loss
                if tricks.ppg_buffers:  # one step for the rows of both nets
                    moving = moving | (log.active & value_rows.valid.any(1))
        if tricks.kl_stop:
            near = near & near_enough(ratio, b.valid, config.target_kl)
            moving = moving & near
            log.note(steps_taken=near.float())
        log.note(grad_norm=optimizer.move(loss, learning_rate, moving))
