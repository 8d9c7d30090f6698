"""shared_trunk: one body, two heads, and a body that is asked once for both. orthogonal_init: how nets begin."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tricks import ATARI, PPG, PPO, REINFORCE, Config, Tricks, load, train
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Net, mlp
from tricks.core.seeds import stream
from tricks.envs.make import make_env
from tricks.ladder import named, switched
from tricks.loop import build_agent
from tricks.orthogonal_init import orthogonal, orthogonal_
from tricks.ppg import add_auxiliary_head_, auxiliary_net
from tricks.shared_trunk import share_trunk_

CONFIG = Config(env="ShortCartPole-v0", seeds=2, steps=200, lanes=4, horizon=16, hidden=(8,))


def agent(shared: bool = True) -> Agent:
    made = Agent(make_env(CONFIG).spaces, CONFIG)
    if shared:
        share_trunk_(made)
    return made


def test_the_body_is_counted_once_and_each_head_keeps_its_own() -> None:
    body = sum(weight.numel() + bias.numel() for weight, bias in agent(shared=False).value_net.body.layers)
    both, one = (sum(p.numel() for p in agent(shared).parameters()) for shared in (False, True))
    assert both - one == body


def test_the_body_learns_from_both_losses_and_each_head_s_after_the_graph_of_the_other_is_gone() -> None:
    made, obs = agent(), torch.randn(2, 5, 4)
    weight = made.policy_net.body.layers[0][0]
    losses = made.policy(obs).square().sum(), made.value(obs).square().sum()
    apart = [torch.autograd.grad(loss, weight, retain_graph=True)[0] for loss in losses]
    (joint,) = torch.autograd.grad(losses[0] + losses[1], weight)
    torch.testing.assert_close(joint, apart[0] + apart[1])
    for head, gradient in zip((made.policy, made.value), apart, strict=True):
        assert gradient.abs().max() > 0
        torch.testing.assert_close(torch.autograd.grad(head(obs).square().sum(), weight)[0], gradient)


def asked_to_learn(config: Config, tricks: Tricks, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How often a training asks a body for features with a gradient, and how many gradient steps it takes."""
    asked, steps = list[bool](), list[bool]()
    forward, step = Dense.forward, Adam.step

    def counting_forward(self: Dense, x: Tensor) -> Tensor:
        asked.append(torch.is_grad_enabled())
        return forward(self, x)

    def counting_step(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        steps.append(True)
        step(self, gradient, learning_rate, moving)

    with monkeypatch.context() as patch:
        patch.setattr(Dense, "forward", counting_forward)
        patch.setattr(Adam, "step", counting_step)
        train(config, tricks)
    return sum(asked), len(steps)


@pytest.mark.parametrize("state_norm", [False, True])
def test_a_gradient_step_asks_a_shared_body_once_and_two_bodies_once_each(
    state_norm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tricks, bodies in ((named("shared_trunk"), 1), (PPO, 2), (REINFORCE, 1), (PPG, 2)):  # in either phase
        asked, steps = asked_to_learn(replace(CONFIG, aux_every=1), replace(tricks, state_norm=state_norm), monkeypatch)
        assert asked == bodies * steps


def test_values_follow_observations_that_change_in_place_and_weights_that_move() -> None:
    made, obs = agent(), torch.randn(2, 5, 4)
    first, doubled = made.value(obs), made.value(2 * obs)
    made.policy(obs)
    torch.testing.assert_close(made.value(obs.mul_(2)), doubled)
    with torch.no_grad():
        made.policy_net.body.layers[0][0].mul_(0.5)  # as much less as the observations are more
    torch.testing.assert_close(made.value(obs), first)


@pytest.mark.parametrize("shared", [True, False])
def test_what_is_seen_serves_every_head_as_the_observations_do(shared: bool) -> None:
    made, obs = agent(shared), torch.randn(2, 5, 4)
    add_auxiliary_head_(made)
    features = made.features(obs)
    for head in (made.policy, made.value, partial(made.read, auxiliary_net(made))):
        torch.testing.assert_close(head(features), head(obs), rtol=0, atol=0)


def test_a_loaded_agent_still_shares_and_learns_another_curve_than_one_that_does_not(tmp_path: Path) -> None:
    run = train(CONFIG, ATARI)
    run.save(tmp_path)
    kept = load(tmp_path).agent
    assert kept.policy_net.body is kept.value_net.body
    obs = torch.randn(2, 5, 4)
    torch.testing.assert_close(kept.value(obs), run.agent.value(obs), rtol=0, atol=0)
    torch.testing.assert_close(run.agent[1].value(obs[1:]), run.agent.value(obs)[1:])
    assert not train(CONFIG, PPO).curve.equals(run.curve)


def assert_orthogonal(net: Net, *gains: float) -> None:
    for (weight, bias), gain in zip(net.layers, gains, strict=True):
        singular = torch.linalg.svdvals(weight)
        torch.testing.assert_close(singular, torch.full_like(singular, gain), rtol=1e-4, atol=0)
        assert bias.abs().max() == 0


def test_every_layer_is_orthogonal_times_its_gain_and_no_two_seeds_or_nets_are_alike() -> None:
    seeds = Config(seeds=3).seed_list
    net = mlp([stream(seed, "init") for seed in seeds], (4, 64, 64, 2))
    orthogonal_(net, seeds, 0, gain=2**0.5, head_gain=0.01)
    assert_orthogonal(net, 2**0.5, 2**0.5, 0.01)
    assert not torch.allclose(net.layers[0][0][0], net.layers[0][0][1])
    config = Config(seeds=2, lanes=1, hidden=(8, 8))
    made = build_agent(make_env(config).spaces, config, switched(["orthogonal_init"]))
    assert_orthogonal(made.policy_net, 2**0.5, 2**0.5, 0.01)  # the gains of OpenAI's baselines
    assert_orthogonal(made.value_net, 2**0.5, 2**0.5, 1)
    first, other = made.policy_net.layers[0][0], made.value_net.layers[0][0]
    assert not torch.allclose(first.abs(), other.abs())


def test_the_distribution_is_uniform_not_biased_by_qr() -> None:
    # without the correction of signs the diagonal of Q would never be positive
    corners = [orthogonal(np.random.default_rng(seed), 3, 3)[0, 0] for seed in range(400)]
    assert abs(np.mean(corners)) < 0.1
