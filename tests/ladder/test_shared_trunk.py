"""shared_trunk: one body, two heads, and a body that is asked once for both."""

from pathlib import Path

import pytest
import torch

from tricks import ATARI, PPO, Config, load, train
from tricks.core.agent import Agent
from tricks.core.nets import Dense
from tricks.envs.make import make_env
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


def test_the_body_is_asked_once_for_both_heads_and_again_after_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    made, obs, asked = agent(shared=True), torch.randn(2, 5, 4), []
    forward = Dense.forward
    monkeypatch.setattr(Dense, "forward", lambda self, x: asked.append(x) or forward(self, x))
    value = made.value(obs)
    made.policy(obs)
    assert len(asked) == 1
    with torch.no_grad():
        made.value(obs)  # another mode: what was kept carries a graph
        made.policy_net.body.layers[0][0].mul_(2)  # as an optimizer's step does
    assert not torch.allclose(made.value(obs), value)
    assert len(asked) == 3


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
