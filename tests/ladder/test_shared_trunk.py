"""shared_trunk: one body, two heads, and a body that is asked once for both."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tricks import ATARI, PPG, PPO, REINFORCE, Config, Tricks, load, train
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.nets import Dense
from tricks.envs.make import make_env
from tricks.ladder import named
from tricks.ppg import add_auxiliary_head_, auxiliary_net
from tricks.shared_trunk import share_trunk_

CONFIG = Config(env="ShortCartPole-v0", seeds=2, steps=200, lanes=4, horizon=16, hidden=(8,))


def agent(shared: bool) -> Agent:
    made = Agent(make_env(CONFIG).spaces, CONFIG)
    if shared:
        share_trunk_(made)
    return made


def test_the_body_is_counted_once_and_each_head_keeps_its_own() -> None:
    body = sum(weight.numel() + bias.numel() for weight, bias in agent(shared=False).value_net.body.layers)
    both, one = (sum(p.numel() for p in agent(shared).parameters()) for shared in (False, True))
    assert both - one == body


def test_the_body_learns_from_both_losses() -> None:
    made, obs = agent(shared=True), torch.randn(2, 5, 4)
    weight = made.policy_net.body.layers[0][0]
    losses = made.policy(obs).square().sum(), made.value(obs).square().sum()
    apart = [torch.autograd.grad(loss, weight, retain_graph=True)[0] for loss in losses]
    (joint,) = torch.autograd.grad(losses[0] + losses[1], weight)
    torch.testing.assert_close(joint, apart[0] + apart[1])
    assert all(part.abs().max() > 0 for part in apart)


def asked_to_learn(config: Config, tricks: Tricks, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How often a training asks a body for features with a gradient, and how many gradient steps it takes."""
    asked: list[bool] = []
    steps: list[bool] = []
    forward, step = Dense.forward, Adam.step

    def counting_forward(self: Dense, x: Tensor) -> Tensor:
        asked.append(torch.is_grad_enabled())
        return forward(self, x)

    def counting_step(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        steps.append(True)
        step(self, gradient, learning_rate, moving)

    monkeypatch.setattr(Dense, "forward", counting_forward)
    monkeypatch.setattr(Adam, "step", counting_step)
    train(config, tricks)
    return sum(asked), len(steps)


@pytest.mark.parametrize("state_norm", [False, True])
def test_a_gradient_step_asks_a_shared_body_once_and_two_bodies_once_each(
    state_norm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tricks, bodies in ((named("shared_trunk"), 1), (PPO, 2), (REINFORCE, 1)):
        with monkeypatch.context() as patch:
            asked, steps = asked_to_learn(CONFIG, replace(tricks, state_norm=state_norm), patch)
        assert asked == bodies * steps


def test_an_auxiliary_phase_asks_the_policy_body_once_for_its_two_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(CONFIG, aux_every=1)
    asked, steps = asked_to_learn(config, PPG, monkeypatch)
    assert asked == 2 * steps  # the policy net's body and the value net's, in either phase


def test_values_follow_observations_that_change_in_place_and_weights_that_move() -> None:
    made, obs = agent(shared=True), torch.randn(2, 5, 4)
    first, doubled = made.value(obs), made.value(2 * obs)
    made.policy(obs)
    torch.testing.assert_close(made.value(obs.mul_(2)), doubled)
    with torch.no_grad():
        made.policy_net.body.layers[0][0].mul_(0.5)  # as much less as the observations are more
    torch.testing.assert_close(made.value(obs), first)


def test_each_head_can_be_differentiated_after_the_graph_of_the_other_is_gone() -> None:
    made, obs = agent(shared=True), torch.randn(2, 5, 4)
    weight = made.policy_net.body.layers[0][0]
    for head in (made.policy, made.value):
        (gradient,) = torch.autograd.grad(head(obs).square().sum(), weight)
        assert gradient.abs().max() > 0


def test_what_is_seen_serves_every_head_as_the_observations_do() -> None:
    obs = torch.randn(2, 5, 4)
    for shared in (True, False):
        made = agent(shared)
        add_auxiliary_head_(made)
        features, auxiliary = made.features(obs), partial(made.read, auxiliary_net(made))
        for head in (made.policy, made.value, auxiliary):
            torch.testing.assert_close(head(features), head(obs), rtol=0, atol=0)


def test_a_loaded_agent_still_shares(tmp_path: Path) -> None:
    run = train(CONFIG, ATARI)
    run.save(tmp_path)
    kept = load(tmp_path).agent
    assert kept.policy_net.body is kept.value_net.body
    obs = torch.randn(2, 5, 4)
    torch.testing.assert_close(kept.value(obs), run.agent.value(obs), rtol=0, atol=0)
    torch.testing.assert_close(run.agent[1].value(obs[1:]), run.agent.value(obs)[1:])


def test_a_trunk_that_is_not_shared_learns_another_curve() -> None:
    assert not train(CONFIG, PPO).curve.equals(train(CONFIG, ATARI).curve)
