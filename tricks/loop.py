"""The training loop: play, judge, learn."""

from contextlib import closing

import torch

from tricks.action_mask import masked
from tricks.advantage_norm import standardize
from tricks.annealing import following_decay, linear_decay
from tricks.baseline import explained_variance, squared_error
from tricks.bootstrap import beyond
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.config import Config
from tricks.core.adam import Adam, gradient
from tricks.core.agent import Agent
from tricks.core.env import Env, MakeEnv
from tricks.core.memory import Memory
from tricks.core.moments import normalize
from tricks.core.nets import MakeBody, Seen
from tricks.core.numbers import per_seed
from tricks.core.reductions import mean
from tricks.core.returns import reward_to_go
from tricks.core.rollout import AgentPolicy, Batch, Player, play_episodes
from tricks.core.spaces import Spaces
from tricks.dual_clip import bounded_below, bounded_fraction
from tricks.entropy import entropy_bonus
from tricks.gae import gae
from tricks.grad_clip import shorten
from tricks.huber import linear_beyond
from tricks.kl_stop import near_enough
from tricks.ladder import Tricks
from tricks.orthogonal_init import orthogonal_
from tricks.popart import preserve_outputs_, renormalize
from tricks.ppg import add_auxiliary_head_, auxiliary_errors, auxiliary_loss, auxiliary_minibatches
from tricks.ppg_buffers import ages, dealt_apart
from tricks.recompute import judged_anew
from tricks.return_norm import move_stats, per_task, unmoved
from tricks.reuse import drift, importance_ratio, minibatches, old_log_prob
from tricks.reward_scaling import RewardScale
from tricks.runs.checkpoint import Checkpoints
from tricks.runs.evaluation import Evaluation
from tricks.runs.log import Listener, Log
from tricks.runs.opening import open_env
from tricks.runs.run import Run, own
from tricks.segments import play_segment
from tricks.separate_optimizers import idle, in_turn
from tricks.shared_trunk import share_trunk_
from tricks.state_norm import merge_moments
from tricks.value_clip import clipped_error
from tricks.values import checked


@checked
def train(
    config: Config,
    tricks: Tricks,
    env: MakeEnv | None = None,  # makes the environment of one lane; config.env is then only a label
    body: MakeBody | None = None,  # makes the body of each net, instead of the default layers
    checkpoints: Checkpoints | None = None,
    on_update: Listener | None = None,  # called with the new rows of the curve after every update; may raise to stop
    evaluation: Evaluation | None = None,  # greedy episodes, for the column eval_return
) -> Run:
    """Train S independent agents until each has used its budget of environment steps.

    A seed whose loss or gradient, or whose environment's observations or rewards, stop being finite ends there; the
    others go on, and the run says which and why. Raises InputError if that is every seed's environment, if the
    environment cannot be made or is not supported, or if the body does not fit.
    """
    with closing(open_env(config, tricks, env, body, evaluation)) as opened:
        return train_in(opened, config, tricks, env, body, checkpoints, on_update, evaluation)


def build_agent(spaces: Spaces, config: Config, tricks: Tricks, body: MakeBody | None = None) -> Agent:
    """S untrained agents."""
    agent = Agent(spaces, config, body)
    if tricks.orthogonal_init:
        orthogonal_(agent.policy_net, config.seed_list, 0, gain=2**0.5, head_gain=0.01)
        orthogonal_(agent.value_net, config.seed_list, 1, gain=2**0.5, head_gain=1.0)
    if tricks.return_norm:
        agent.returns = unmoved(agent.returns, config.return_first_batch)
    if tricks.shared_trunk:
        share_trunk_(agent)
    if tricks.ppg:
        add_auxiliary_head_(agent)
    if tricks.reward_scaling:
        agent.reward_scale = RewardScale(len(config.seed_list), config.lanes)
    return agent


def train_in(
    env: Env,
    config: Config,
    tricks: Tricks,
    make: MakeEnv | None = None,
    body: MakeBody | None = None,
    checkpoints: Checkpoints | None = None,
    on_update: Listener | None = None,  # called after every update with its rows of the curve; may end the run
    evaluation: Evaluation | None = None,
) -> Run:
    """The loop. Everything has a leading seed axis S, and every reduction stays within a seed."""
    player, family = Player(env, block=config.horizon, limit=config.episode_limit), env.spaces.family
    agent = build_agent(env.spaces, config, tricks, body).to(config.device)
    optimizer, log = Adam(agent.parameters(), config.adam_eps), Log(config)
    if checkpoints:  # register what a checkpoint saves; a resumed run restores it here
        parts = {"agent": agent, "optimizer": optimizer, "log": log, "player": player, "env": env}
        checkpoints.begin(config, tricks, evaluation, own(make, body), **parts)
    if tricks.ppg:
        auxiliary = Adam(agent.parameters(), config.adam_eps)
        memory = Memory(config.aux_every)
        if tricks.ppg_buffers:
            recent, memory = Memory(config.policy_rollouts), Memory(config.value_rollouts)
            if checkpoints:
                checkpoints.add(recent=recent)
        if checkpoints:
            checkpoints.add(memory=memory, auxiliary=auxiliary)
    if tricks.separate_optimizers:
        value_optimizer = Adam(agent.value_net.parameters(), config.adam_eps)
        if checkpoints:
            checkpoints.add(value_optimizer=value_optimizer)

    policy: AgentPolicy = agent.policy  # obs [S, B, D], legal [S, B, A] -> logits [S, B, A], of a Gaussian [S, B, 2A]
    if tricks.action_mask:
        policy = masked(policy)

    while log.active.any():
        learning_rate = log.progress.new_tensor(config.rates)  # [S]
        clip_range = log.progress.new_tensor(config.each("clip_range"))
        value_clip_range = log.progress.new_tensor(config.each("value_clip_range"), dtype=torch.float64)
        if tricks.lr_anneal:
            learning_rate = linear_decay(learning_rate, log.progress)
        if tricks.clip_anneal:
            clip_range = linear_decay(clip_range, log.progress)
            value_clip_range = following_decay(value_clip_range, log.progress, config.value_clip_anneals)
        log.note(learning_rate=learning_rate)

        # Play: collect a rollout with the current policy.
        if tricks.segments:
            rollout = play_segment(player, policy, config.horizon, log.active)
        else:
            rollout = play_episodes(player, policy, config.horizon * config.lanes, log.active)
        batch = Batch.of(rollout)

        # Judge: how good was each action?
        reward, done = rollout.reward, rollout.terminated | rollout.truncated  # [S, T, N]
        if tricks.reward_scaling:
            reward = agent.reward_scale(reward, done, rollout.valid, config.gamma)
            log.note(reward_std=agent.reward_scale.std)
        returns = reward_to_go(reward, done, config.gamma)
        advantage = returns
        if tricks.baseline:
            value, next_value = agent.values(rollout)  # V(s), V(s')
            cut = rollout.cut  # rows after which the episode continues beyond the rollout
            if tricks.bootstrap:
                cut = cut | rollout.truncated  # a time limit is a cut, not a death
            target = returns + beyond(cut, next_value, done, config.gamma)
            advantage = target - value
            log.note(explained_variance=explained_variance(value, target, rollout.valid))  # of the Monte Carlo return
            if tricks.gae:
                dead = done & ~cut
                advantage = gae(reward, value, next_value, dead, done, config.gamma, config.gae_lambda)
                target = value + advantage
            if tricks.return_norm:
                old, agent.returns = agent.returns, move_stats(agent.returns, target, rollout.valid, config.return_beta)
                value, target = normalize(value, old), normalize(target, agent.returns)
                log.note(return_mean=agent.returns.mean, return_std=agent.returns.std)
                if agent.spaces.tasks > 1:
                    advantage = per_task(advantage, agent.returns)
            if tricks.popart:
                value = renormalize(value, old, agent.returns)
                preserve_outputs_(agent.value_net, old, agent.returns)
                if tricks.ppg:
                    preserve_outputs_(agent.auxiliary_net, old, agent.returns)
            batch.add(value=value, target=target)
        batch.add(advantage=advantage.float())

        # Learn: make the actions that turned out well more likely.
        batches = iter([batch])  # REINFORCE: one gradient step on the whole batch
        if tricks.reuse:
            batch.log_prob = old_log_prob(policy, family, batch)
            batches = minibatches(batch, config.seed_list, log.update, config.epochs, config.minibatches)
            if tricks.separate_optimizers:
                batches = in_turn(batch, config, log.update)
        if tricks.recompute:
            batches = judged_anew(batches, batch, agent, rollout, reward, dead, config)
        if tricks.ppg:
            memory.add(batch, agent.returns, log.update)
        if tricks.ppg_buffers:
            recent.add(batch, agent.returns, log.update)
            batches = dealt_apart(recent, memory, agent.returns, config, log.update)
        moving = log.active  # [S]: the seeds that take the next step
        for b in batches:
            if tricks.separate_optimizers:
                log.quiet = idle(b)
            seen, advantage = agent.see(b.obs), b.advantage  # [S, B, H], [S, B]
            if tricks.advantage_norm:
                advantage = standardize(advantage, b.valid)
            logits = policy(seen, b.legal)
            log_prob, entropy = family.log_prob(logits, b.action), family.entropy(logits)
            objective = log_prob * advantage
            if tricks.reuse:
                ratio = importance_ratio(log_prob, b.log_prob)
                log.note(**drift(ratio, b.valid))
                objective = ratio * advantage
            if tricks.clip:
                objective = clipped_surrogate(ratio, advantage, clip_range)
                log.note(clip_fraction=clip_fraction(ratio, clip_range, b.valid), clip_range=clip_range)
            if tricks.dual_clip:
                objective = bounded_below(objective, advantage, config.dual_clip_limit)
                log.note(bounded_fraction=bounded_fraction(ratio, advantage, config.dual_clip_limit, b.valid))
            if tricks.kl_stop:
                moving = moving & near_enough(ratio, b.valid, config.target_kl)
                log.note(steps_taken=moving.float())
            loss = -mean(objective, b.valid)  # [S]
            log.note(policy_loss=loss, entropy=mean(entropy, b.valid))
            if tricks.entropy:
                loss = loss - entropy_bonus(entropy, b.valid, config.entropy_coef)
            ready = b.valid.any(1)  # [S]: the seeds that have rows to learn from
            if tricks.ppg_buffers:
                log.note(**ages(b, log.update))
                b, seen = b.critic, Seen(b.critic.obs)  # from here on: rows from the value net's buffer
                ready = ready | b.valid.any(1)  # in either buffer
            if tricks.baseline:
                value = agent.value(seen)
                error = squared_error(value, b.target)
                if tricks.value_clip:
                    error = clipped_error(value, b.value, b.target, value_clip_range.unsqueeze(1))
                if tricks.huber:
                    error = linear_beyond(error, config.huber_delta)
                value_loss = mean(error, b.valid)
                if tricks.separate_optimizers:  # the value net takes a step of its own
                    value_grad = gradient(per_seed(config.value_coef, loss) * value_loss, value_optimizer.parameters)
                    value_norm = value_grad.norm(dim=1)
                    log.note(value_grad_norm=value_norm)
                    if tricks.grad_clip:
                        value_grad = shorten(value_grad, value_norm, config.max_value_grad_norm)
                    value_rate = learning_rate * per_seed(config.value_lr_factor, loss)
                    turn = log.active & b.value_turn & value_norm.isfinite() & b.valid.any(1)
                    value_optimizer.step(value_grad, value_rate, moving=turn)
                    value_loss, ready = value_loss.detach(), ready & b.policy_turn
                loss = loss + per_seed(config.value_coef, loss) * value_loss
                log.note(value_loss=value_loss)

            grad = gradient(loss, agent.parameters())  # [S, P]
            norm = grad.norm(dim=1)
            log.note(grad_norm=norm)
            if tricks.grad_clip:
                grad = shorten(grad, norm, config.max_grad_norm)
            optimizer.step(grad, learning_rate, moving=moving & norm.isfinite() & ready)

        if tricks.ppg:
            for b in auxiliary_minibatches(memory, agent.returns, policy, config, log.update):  # every N_π updates
                errors = auxiliary_errors(agent, policy, family, b, config)
                loss = auxiliary_loss(errors, b.valid, config.clone_coef)
                grad = gradient(loss, agent.parameters())
                auxiliary.step(grad, learning_rate, moving=log.active & grad.norm(dim=1).isfinite() & b.valid.any(1))
                log.note(auxiliary_loss=loss, clone_kl=mean(errors[1], b.valid))

        if tricks.state_norm:  # only now, so that the first minibatch's ratio is 1
            agent.obs_moments = merge_moments(agent.obs_moments, batch.obs, batch.valid, config.obs_decay)
        if evaluation:
            log.note(eval_return=evaluation.after(rollout, config, policy, log.steps, make))
        log.end_update(rollout)
        if on_update:
            on_update(log.latest())
        if checkpoints:
            checkpoints.end_update(log.steps)

    return Run(config, tricks, agent.cpu(), log.curve(), log.diverged, log.reasons, log.seconds, make, body)
