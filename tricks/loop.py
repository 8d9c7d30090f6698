"""From REINFORCE to PPO and beyond: play, judge, learn.

S seeds, T steps, N lanes, B rows, A actions. Every tensor leads with S, and every reduction stays within a seed. Masks:
`valid` are the rows that count in a loss, `t.active` the seeds with budget left, `t.having_rows(b)` those with rows in
a minibatch, `t.moving` those whose policy still takes steps. `one_agent.py` is the ladder for one agent. On a CPU,
compiled forms take the place of the losses: `tricks/fused`.
"""

from collections.abc import Iterable
from copy import deepcopy
from functools import partial

import torch
from torch import Tensor

from tricks.action_mask import mask_logits
from tricks.advantage_norm import standardize
from tricks.annealing import following_decay, linear_decay
from tricks.baseline import explained_variance, squared_error
from tricks.bootstrap import time_limits_as_cuts, value_at_cut
from tricks.clip import clipped_surrogate
from tricks.clip_higher import clipped_apart
from tricks.config import Config
from tricks.core.adam import Adam
from tricks.core.agent import Agent, RecurrentState
from tricks.core.env import MakeEnv
from tricks.core.moments import normalize
from tricks.core.nets import MakeBody
from tricks.core.reductions import mean, reward_to_go
from tricks.core.rollout import Batch, Policy, Rollout, play_episodes
from tricks.core.seeds import per_seed
from tricks.core.sequences import Features
from tricks.core.spaces import Spaces
from tricks.dual_clip import bounded_below
from tricks.entropy import entropy_bonus
from tricks.fast.dispatch import faster
from tricks.gae import gae
from tricks.grad_clip import shorten
from tricks.group_baseline import leave_one_out, reply_numbers, whole_replies
from tricks.group_norm import in_deviations
from tricks.huber import linear_beyond
from tricks.imitate import demonstrator, equally_good
from tricks.kl_penalty import penalized_objective, penalized_reward
from tricks.kl_stop import near_enough
from tricks.ladder import Tricks
from tricks.mixed_groups import has_contrast
from tricks.orthogonal_init import orthogonal_
from tricks.popart import preserve_outputs_, renormalize
from tricks.ppg import AuxiliaryPhase, Memory, add_auxiliary_head_, auxiliary_errors, auxiliary_loss
from tricks.ppg_buffers import dealt_apart
from tricks.recompute import judged_anew
from tricks.recurrent import add_recurrence_, as_sequences, whole_lanes
from tricks.reply_mean import mean_of_replies
from tricks.reply_ratio import ratio_of_reply
from tricks.return_norm import follow_returns_, per_task, unmoved
from tricks.reuse import importance_ratio, minibatches, old_log_prob
from tricks.reward_scaling import add_reward_scale_, scale_rewards_
from tricks.runs.checkpoint import Checkpoints, State
from tricks.runs.evaluation import Evaluation
from tricks.runs.log import Listener
from tricks.runs.run import Run
from tricks.segments import play_segment
from tricks.separate_optimizers import epochs_of_each_net
from tricks.shared_trunk import share_trunk_
from tricks.squash import squashed
from tricks.state_norm import add_obs_stats_, follow_observations_
from tricks.training import Training, training
from tricks.value_clip import clipped_error
from tricks.values import checked


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


def build(t: Training) -> None:
    """The agents, their optimizer, and what a trick remembers from one update to the next."""
    config, tricks = t.config, t.tricks
    t.agent = build_agent(t.env.spaces, config, tricks, t.doors.body).to(config.device)
    t.player.family = t.agent.family
    t.optimizer = Adam(t.agent.parameters(), config.adam_eps)
    if tricks.grad_clip:
        t.optimizer.limit = partial(shorten, max_norm=config.max_grad_norm)
    if tricks.recurrent:
        t.state = t.player.state = RecurrentState(t.agent, t.env)
    if tricks.separate_optimizers:
        t.value_optimizer = Adam(t.agent.value_net.parameters(), config.adam_eps)
        if tricks.grad_clip:
            t.value_optimizer.limit = partial(shorten, max_norm=config.max_value_grad_norm)
    if tricks.ppg:
        t.memory, t.phase = Memory(config.aux_every), AuxiliaryPhase(t.agent.parameters(), config.adam_eps)
    if tricks.ppg_buffers:
        t.memory, t.policy_buffer = Memory(config.value_rollouts), Memory(config.policy_rollouts)
    if tricks.kl_penalty:
        t.reference = deepcopy(t.agent).requires_grad_(False)


@checked
def train(
    config: Config,
    tricks: Tricks,
    env: MakeEnv | None = None,  # makes the environment of one lane; config.env is then only a label
    body: MakeBody | None = None,  # makes the body of each net, instead of the default layers
    checkpoints: Checkpoints | State | None = None,
    on_update: Listener | None = None,  # called with each update's rows of the curve, and the agents; may stop the run
    evaluation: Evaluation | None = None,  # greedy episodes, for the column eval_return
    start: Agent | None = None,  # a finished run's agents: seed k begins with the weights and statistics of its k-th
) -> Run:
    """Train S independent agents until each has used its budget of environment steps.

    A seed stops when its loss, gradient, observations or rewards are not finite; the run says why. Raises InputError if
    all environments fail, env or body cannot be made or used, or start has other seeds, spaces, nets or statistics.
    """
    with training(build, config, tricks, env, body, checkpoints, on_update, evaluation, start) as t:
        while t.going:
            rollout = play(t)  # collect experience with the current policy
            batch = judge(t, rollout)  # how good was each action?
            learn(t, batch, rollout)  # make the actions that turned out well more likely
            t.end_update(rollout)
        return t.finished()


def play(t: Training) -> Rollout:
    """Whole episodes, or segments that may be cut: [S, T, N, ...]."""
    config, tricks = t.config, t.tricks
    policy: Policy = t.agent.policy
    if tricks.imitate:
        policy = demonstrator(t.env)
    if tricks.segments:
        rollout = play_segment(t.player, policy, config.horizon, t.active)
    else:
        if tricks.group_baseline:
            rollout = play_episodes(t.player, policy, 1, t.active)  # so each lane plays one
        else:
            rollout = play_episodes(t.player, policy, config.horizon * config.lanes, t.active)
    if tricks.bootstrap:
        rollout = time_limits_as_cuts(rollout)
    if tricks.reward_scaling:
        rollout, reward_std = scale_rewards_(t.agent, rollout, config.gamma)
        t.note(reward_std=reward_std)
    return rollout


def judge(t: Training, rollout: Rollout) -> Batch:
    """The rows of a rollout with their advantages and, for the value net, with its predictions and targets."""
    agent, config, tricks = t.agent, t.config, t.tricks
    batch = Batch.of(rollout)
    if tricks.recurrent:
        batch.obs = as_sequences(batch, rollout)
    reward, done = rollout.reward, rollout.done  # [S, T, N]
    if tricks.kl_penalty:
        reward, kl = penalized_reward(reward, batch, agent, t.reference, config)
        t.note(reference_kl=kl)
    returns = reward_to_go(reward, done, config.gamma)
    advantage = returns
    if tricks.group_baseline:
        advantage = leave_one_out(returns, config.group)
        batch.add(reply=reply_numbers(done))
    if tricks.group_norm:
        advantage = in_deviations(advantage, config.group)
    if tricks.mixed_groups:
        mixed = has_contrast(returns, config.group)
        t.note(mixed_share=mixed[:, 0].float().mean(1))
        batch.add(valid=rollout.valid & mixed)
    if tricks.baseline:
        value, next_value = agent.values(rollout)  # V(s), V(s'), in units of reward
        target = returns + value_at_cut(rollout.cut, next_value, done, config.gamma)
        advantage = target - value
        t.note(explained_variance=explained_variance(value, target, rollout.valid))  # of the returns, also under gae
        if tricks.gae:
            dead = done & ~rollout.cut
            advantage = gae(reward, value, next_value, dead, done, config.gamma, config.gae_lambda)
            target = value + advantage
        if tricks.return_norm:
            before, stats = follow_returns_(agent, rollout, target, config.return_beta)
            t.note(return_mean=stats.mean, return_std=stats.std)
            advantage = per_task(advantage, stats)
            batch.add(old_value=normalize(value, before), target=normalize(target, stats))  # in the net's units
        else:
            batch.add(old_value=value, target=target)
        if tricks.popart:
            batch.old_value = renormalize(batch.old_value, before, stats)
            for net in agent.value_nets:
                preserve_outputs_(net, before, stats)
    if tricks.imitate:
        advantage = equally_good(advantage)
    batch.add(advantage=advantage.float())
    return batch


def learn(t: Training, batch: Batch, rollout: Rollout) -> None:
    """A gradient step on each minibatch, ppg's auxiliary phase if it is due, and the statistics of observations."""
    agent, config, tricks = t.agent, t.config, t.tricks
    rate = t.each("lr")  # [S]
    if tricks.lr_anneal:
        rate = linear_decay(rate, t.progress)
    t.note(learning_rate=rate)
    t.clip_range, t.clip_high = t.each("clip_range"), t.each("clip_high")  # [S] each
    t.value_clip_range = t.each("value_clip_range", torch.float64)
    if tricks.clip_anneal:
        t.clip_range = linear_decay(t.clip_range, t.progress)
        t.clip_high = linear_decay(t.clip_high, t.progress)
        t.value_clip_range = following_decay(t.value_clip_range, t.progress, config.value_clip_anneals)
    t.moving = t.active  # [S]: the seeds whose policy takes steps
    for b in deal(t, batch, rollout):
        features = agent.features(b.obs)  # the policy's body runs once, for all heads that read it
        loss, has_rows = policy_loss(t, b, features), t.having_rows(b)  # [S]: a seed may have none in this minibatch
        if tricks.baseline:
            value_term, has_value_rows = value_loss(t, b, features), t.having_rows(b.value_rows)
            if tricks.separate_optimizers:
                norm = t.value_optimizer.move(value_term, rate * t.each("value_lr_factor"), t.active & has_value_rows)
                t.note(b.value_rows, value_grad_norm=norm)
            else:
                loss, has_rows = loss + value_term, has_rows | has_value_rows
        norm = t.optimizer.move(loss, rate, t.moving & has_rows)  # backward, grad_clip, Adam's step -> [S]
        t.note(has_rows, grad_norm=norm)
    if tricks.ppg:
        for b in t.phase.minibatches(t.memory, agent, config, t.update):  # every N_π updates
            errors = auxiliary_errors(agent, b, config)
            loss = auxiliary_loss(errors, b.valid, config.clone_coef)
            t.phase.move(loss, rate, t.active & t.having_rows(b))
            t.note(b, auxiliary_loss=loss, clone_kl=mean(errors[1], b.valid))
    if tricks.state_norm:  # only now, so that the first minibatch's ratio is 1
        follow_observations_(agent, batch, config.obs_decay)


def deal(t: Training, batch: Batch, rollout: Rollout) -> Iterable[Batch]:
    """The minibatches of an update, some from the rollouts that ppg keeps. REINFORCE takes one step on all rows."""
    agent, config, tricks = t.agent, t.config, t.tricks
    batches: Iterable[Batch] = [batch]
    if tricks.reuse:
        batch.old_log_prob = old_log_prob(agent.policy, agent.family, batch)  # as in learning: the first ratio is 1
        batches = minibatches(batch, config.seed_list, t.update, config.epochs, config.minibatches)
        if tricks.recurrent:
            batches = whole_lanes(batch, config.seed_list, t.update, config.epochs, config.minibatches)
        if tricks.separate_optimizers:
            batches = epochs_of_each_net(batch, config, t.update)
        if tricks.group_baseline:
            batches = whole_replies(batch, config, t.update)
    if tricks.recompute:
        batches = judged_anew(batches, batch, agent, rollout, config)  # lazily: each epoch when it begins
    if tricks.ppg:
        t.memory.add(batch, agent.return_stats, t.update)
    if tricks.ppg_buffers:
        t.policy_buffer.add(batch, agent.return_stats, t.update)
        batches = dealt_apart(t.policy_buffer, t.memory, agent.return_stats, config, t.update)
    return batches


@faster("tricks.fused.losses", update=True)
def policy_loss(t: Training, b: Batch, features: Features) -> Tensor:
    """−E[log π(a|s)·A] of a minibatch, as the flags have it, less the bonus for entropy (not in the curve): [S]."""
    config, tricks, family, advantage = t.config, t.tricks, t.agent.family, b.advantage  # advantage [S, B]
    if tricks.advantage_norm:
        advantage = standardize(advantage, b.valid)
    logits = t.agent.policy(features, b.legal)  # [S, B, A], of a Gaussian [S, B, 2A]
    log_prob, entropy = family.log_prob(logits, b.action), family.entropy(logits)
    objective = log_prob * advantage
    if tricks.reuse:
        ratio = importance_ratio(log_prob, b.old_log_prob)
        if tricks.reply_ratio:
            ratio = ratio_of_reply(log_prob - b.old_log_prob, b.reply, b.valid, config.lanes)
        objective = ratio * advantage
        t.note_tricks(b, ratio=ratio, advantage=advantage)
    if tricks.clip:
        objective = clipped_surrogate(ratio, advantage, t.clip_range)
    if tricks.clip_higher:
        objective = clipped_apart(ratio, advantage, t.clip_range, t.clip_high)
    if tricks.dual_clip:
        objective = bounded_below(objective, advantage, config.dual_clip_limit)
    if tricks.kl_penalty:
        objective = penalized_objective(objective, log_prob, b.reference_log_prob, config)
    loss = -mean(objective, b.valid)  # [S]
    if tricks.reply_mean:
        loss = -mean_of_replies(objective, b.reply, b.valid, config.reply_divisor, config.lanes)
    t.note(b, policy_loss=loss, entropy=mean(entropy, b.valid))
    if tricks.kl_stop:  # before the step on this very minibatch
        t.moving = t.moving & near_enough(ratio, b.valid, config.target_kl)
        t.note(b, steps_taken=t.moving.float())
    if tricks.entropy:
        loss = loss - entropy_bonus(entropy, b.valid, config.entropy_coef)
    return loss


@faster("tricks.fused.losses", update=True)
def value_loss(t: Training, b: Batch, features: Features) -> Tensor:
    """c₁·E[½(V(s) − target)²] of a minibatch, as the flags have it: [S]. In the curve, without c₁."""
    config, tricks, rows = t.config, t.tricks, b.value_rows
    value = t.agent.value(features if rows is b else rows.obs)
    error = squared_error(value, rows.target)
    if tricks.value_clip:
        error = clipped_error(value, rows.old_value, rows.target, t.value_clip_range.unsqueeze(1))
    if tricks.huber:
        error = linear_beyond(error, config.huber_delta)
    loss = mean(error, rows.valid)
    t.note(rows, value_loss=loss)
    return per_seed(config.value_coef, loss) * loss
