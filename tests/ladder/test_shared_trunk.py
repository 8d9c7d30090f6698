"""shared_trunk, orthogonal_init, action_mask, squash: how nets begin, and what policies make of their outputs."""

import math
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary
from support.fixtures import Patch, Refuses, refusal
from support.probes import AnySpace, Endless, like
from support.training import spied
from torch import Tensor
from torch.distributions import AffineTransform, Independent, Normal, TanhTransform, TransformedDistribution

from tricks import Agent, Checkpoints, Config, Evaluation, InputError, load, resume, train
from tricks.cli.main import main
from tricks.core.nets import Net
from tricks.core.policies import DiagonalGaussian
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.ladder import ATARI, EVERY, PPO, Tricks, named, switched
from tricks.loop import build_agent
from tricks.orthogonal_init import orthogonal
from tricks.runs.save_policy import save_policy
from tricks.segments import play_segment
from tricks.shared_trunk import share_trunk_
from tricks.squash import SquashedGaussian, log_slope, mean_log_slope, squashed

CONFIG = Config(env="ShortCartPole-v0", seeds=2, steps=200, lanes=4, horizon=16, hidden=(8,))


def test_values_follow_what_changes_in_place_and_a_loaded_agent_still_shares(tmp_path: Path) -> None:
    made, obs = Agent(make_env(CONFIG).spaces, CONFIG), torch.randn(2, 5, 4)
    share_trunk_(made)
    first, doubled = made.value(obs), made.value(2 * obs)
    made.policy(obs)
    torch.testing.assert_close(made.value(obs.mul_(2)), doubled)
    with torch.no_grad():
        made.policy_net.body.layers[0][0].mul_(0.5)  # as much less as the observations are more
    torch.testing.assert_close(made.value(obs), first)
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


def test_every_layer_is_orthogonal_times_its_gain_and_uniform_not_biased_by_qr() -> None:
    config = Config(seeds=2, lanes=1, hidden=(8, 8))
    made = build_agent(make_env(config).spaces, config, switched(["orthogonal_init"]))
    assert_orthogonal(made.policy_net, 2**0.5, 2**0.5, 0.01)  # the gains of OpenAI's baselines
    assert_orthogonal(made.value_net, 2**0.5, 2**0.5, 1)
    first, other = made.policy_net.layers[0][0], made.value_net.layers[0][0]
    assert not torch.allclose(first.abs(), other.abs()) and not torch.allclose(first[0], first[1])
    # without the correction of signs the diagonal of Q would never be positive
    assert abs(np.mean([orthogonal(np.random.default_rng(seed), 3, 3)[0, 0] for seed in range(400)])) < 0.1


# Does not say which actions are legal.
Silent = like(Endless, "Silent", info=lambda self: {})


@pytest.mark.parametrize(
    ("id", "backend"),
    [("CartPole-v1", "tensor"), ("CartPole-v1", "gymnasium"), ("Endless-v0", "processes"), ("CartPole-v1", "envpool")],
)
def test_an_environment_without_masks_is_an_error_that_says_what_to_provide(id: str, backend: str) -> None:
    if backend == "envpool":
        pytest.importorskip("envpool")
    said = r'^action_mask needs info\["action_mask"\] from reset and step, .* 2 zeros and ones .*, '
    said += rf"and {id} gives none; provide it, or leave the trick off with --no-action-mask \(action_mask=False\)$"
    make = Silent if id == "Endless-v0" else None
    refusal(said, train, Config(id, backend=backend, seeds=2, lanes=2, steps=1), EVERY, env=make)


@pytest.mark.parametrize("backend", ["auto", "gymnasium", "processes"])
def test_an_environment_with_masks_trains_whatever_steps_it_and_box_actions_have_none(backend: str) -> None:
    config = Config("tricks/Trading-v0", backend=backend, seeds=1, lanes=2, steps=1, horizon=8, minibatches=1)
    assert len(train(config, EVERY).curve) == 1
    with pytest.raises(InputError, match=r"^action_mask rules out Discrete actions, and those of Pendulum-v1 are"):
        train(Config("Pendulum-v1", backend=backend, seeds=1, steps=1), switched(["action_mask"]))


def test_a_lane_without_a_mask_has_nothing_forbidden_and_the_shell_says_so(refuses: Refuses) -> None:
    refuses(main, ["train", "every", "--steps", "1"], "or leave the trick off with --no-action-mask")
    assert main(["train", "every", "--no-action-mask", "--seeds", "1", "--steps", "1"]) == 0
    env, forbidding = make_env(Config(env="ResetMask-v0", seeds=1, lanes=6)), 0
    for _ in range(30):
        resetting = env.now.resetting.clone()
        env.step(torch.zeros(1, 6, dtype=torch.int64), torch.ones(1) > 0)
        assert env.now.legal.any(-1).all() and env.now.legal[~resetting].all()
        forbidding += int((~env.now.legal[resetting]).sum())
    assert forbidding > 0


LOW, HIGH = (-2.0, 0.5), (2.0, 0.75)
FAMILY, NARROW = SquashedGaussian(LOW, HIGH), SquashedGaussian((-0.1,), (0.3,))
BOX = Box(np.array(LOW, np.float32), np.array(HIGH, np.float32))
SQUASH, SMALL = named("squash"), Config("ShortPendulum-v0", seeds=2, lanes=2, horizon=16, steps=100, hidden=(8,))


def drawn(rows: int = 500) -> tuple[Tensor, Tensor]:
    """Parameters of two dimensions [rows, 4], and numbers u drawn from them [rows, 2]."""
    torch.manual_seed(0)
    logits = torch.randn(rows, 4, dtype=torch.float64) * torch.tensor([1.0, 1.0, 0.4, 0.4])
    return logits, FAMILY.sample(logits, torch.randn(rows, 2, dtype=torch.float64))


def theirs(logits: Tensor) -> Independent:
    mean, log_std = logits.chunk(2, -1)
    half = (torch.tensor(HIGH) - torch.tensor(LOW)).double() / 2
    stretch = AffineTransform((torch.tensor(HIGH) + torch.tensor(LOW)).double() / 2, half)
    return Independent(TransformedDistribution(Normal(mean, log_std.exp()), [TanhTransform(), stretch]), 1)


def test_known_densities_are_those_of_torch_distributions() -> None:
    logits, u = drawn()
    near = (u.abs() < 4).all(-1)  # farther out, their inverse of tanh has lost its digits
    found, right = FAMILY.log_prob(logits, u), theirs(logits).log_prob(FAMILY.played(u))
    torch.testing.assert_close(found[near], right[near], rtol=1e-9, atol=1e-9)
    assert near.double().mean() > 0.8
    torch.testing.assert_close(FAMILY.played(torch.tensor([0.0, 0.0])), torch.tensor([0.0, 0.625]))
    torch.testing.assert_close(FAMILY.played(torch.tensor([0.5, math.inf])), torch.tensor([2 * math.tanh(0.5), 0.75]))
    at_zero = FAMILY.log_prob(torch.zeros(4), torch.zeros(2))  # tanh′(0) = 1, so only the widths 2 and 1/8 matter
    assert at_zero.item() == pytest.approx(-math.log(2 * math.pi) - math.log(2) - math.log(1 / 8))
    assert log_slope(torch.tensor(1.0)).item() == pytest.approx(math.log(1 - math.tanh(1) ** 2))
    assert FAMILY.mode(torch.tensor([0.3, -1.0, 0.0, 0.0])).tolist() == pytest.approx([0.3, -1.0])


@pytest.mark.parametrize("u", [-1e4, -20.0, 0.0, 20.0, 1e4])
def test_far_out_everything_is_finite_and_within_the_bounds(u: float) -> None:
    drawn, logits = torch.tensor([[u]]), torch.tensor([[u, 0.0]]).requires_grad_()
    action = NARROW.played(drawn)
    assert np.float32(-0.1) <= action.item() <= np.float32(0.3)
    log_prob, entropy = NARROW.log_prob(logits, drawn), NARROW.entropy(logits)
    (gradient,) = torch.autograd.grad((log_prob + entropy).sum(), logits)
    assert all(x.isfinite().all() for x in (log_prob, entropy, gradient))


def test_ratios_are_the_gaussian_s_at_the_same_u_and_the_entropy_falls_where_sigma_is_too_wide() -> None:
    logits, u = drawn()
    other, found = logits.roll(1, 0), list[list[Tensor]]()
    for family in (FAMILY, DiagonalGaussian):
        parameters = logits.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(family.log_prob(parameters, u).sum(), parameters)
        found.append([gradient, family.log_prob(other, u) - family.log_prob(logits, u), family.kl(logits, other)])
    torch.testing.assert_close(*found)
    log_std = torch.linspace(-3, 2, 101, dtype=torch.float64)
    entropy = NARROW.entropy(torch.stack([torch.zeros_like(log_std), log_std], -1))
    assert math.log(0.4) - 0.01 < entropy.max() < math.log(0.4)
    assert 0.8 < log_std[entropy.argmax()].exp() < 0.95  # wider than that, it falls again
    assert entropy[-1] < entropy.max() - 1


@pytest.mark.parametrize(("std", "error"), [*((std, 2e-6) for std in (0.05, 0.5, 1.0, 2.0)), (3.0, 1e-4), (5.0, 3e-3)])
def test_the_entropy_is_as_exact_as_it_says(std: float, error: float) -> None:
    mean = torch.linspace(-4, 4, 41, dtype=torch.float64)
    z = torch.linspace(-9, 9, 36_001, dtype=torch.float64)
    exact = (log_slope(mean.unsqueeze(1) + std * z) * (-z.square() / 2).softmax(0)).sum(1)
    assert (mean_log_slope(mean, torch.full_like(mean, std)) - exact).abs().max() < error


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Discrete(3), r"squash needs Box actions between two finite bounds, not Discrete\(3\); leave it off"),
        (MultiBinary(3), r"not MultiBinary\(3\)"),
        (Box(-np.inf, np.inf, (2,)), r"not Box\(-inf, inf, \(2,\), float32\)"),
        (Box(0, np.inf, (1,)), r"not Box\(0.0, inf, \(1,\), float32\)"),
        (Box(np.zeros(2, np.float32), np.array([0, 1], np.float32)), r"not Box\(0.0, \[0. 1.\], \(2,\), float32\)"),
    ],
)
def test_other_actions_are_refused_in_one_line(space: gym.Space, said: str, refuses: Refuses) -> None:
    refusal(said, train, replace(SMALL, env="own"), SQUASH, env=lambda: AnySpace(action=space))
    refuses(main, ["train", "squash", "--env", "CartPole-v1"], "leave it off with --no-squash (squash=False)")


@pytest.mark.parametrize("tricks", [SQUASH, named("reinforce+squash"), named("ppg+squash")])
def test_what_is_played_is_within_the_bounds_and_none_is_cut_off(tricks: Tricks) -> None:
    seen = list[np.ndarray]()

    class Watching(AnySpace):
        def step(self, action: np.ndarray) -> tuple:
            seen.append(action)
            return super().step(action)

    run = train(replace(SMALL, env="own", log_std_init=1.5), tricks, env=lambda: Watching(action=BOX))
    assert all(BOX.contains(action) for action in seen)
    assert (np.ptp(seen, axis=0) > 0.9 * (BOX.high - BOX.low)).all()
    assert (run.curve.action_clip_fraction == 0).all()


def test_worlds_of_tensors_get_the_torque_and_the_rollout_keeps_u(monkeypatch: Patch) -> None:
    seen = spied(monkeypatch, TensorEnv, "step", lambda env, action, playing: action)
    env = make_env(replace(SMALL, env="Pendulum-v1"))
    player, logits = Player(env, block=16), torch.tensor([0.5, 1.0]).expand(2, 2, 2)
    player.family = squashed(env.spaces.action)
    u = play_segment(player, lambda obs, legal: logits, 16, torch.ones(2, dtype=torch.bool)).action
    torch.testing.assert_close(torch.stack(seen, 1), 2 * u.tanh())
    assert u.abs().max() > 2


def test_with_rescaled_actions_it_plays_the_same() -> None:
    plain, rescaled = (train(replace(SMALL, rescale_actions=on), SQUASH) for on in (False, True))
    np.testing.assert_allclose(plain.curve["return"], rescaled.curve["return"], rtol=1e-4)
    gap = plain.curve.entropy - rescaled.curve.entropy  # per unit of torque, or per half of the range
    np.testing.assert_allclose(gap, math.log(2), rtol=1e-4)


def test_a_run_is_saved_resumed_evaluated_and_played_with_its_bounds(tmp_path: Path) -> None:
    config = replace(SMALL, env="Pendulum-v1", horizon=100, steps=800)
    run = train(config, SQUASH, checkpoints=Checkpoints(tmp_path, every=100), evaluation=Evaluation(400, 2))
    np.testing.assert_array_equal(run.curve.to_numpy(), resume(tmp_path).curve.to_numpy())
    run.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.agent.family == run.agent.family == SquashedGaussian((-2.0,), (2.0,))
    np.testing.assert_array_equal(loaded.evaluate(2, greedy=True), run.evaluate(2, greedy=True))
    mean = run.agent.policy(torch.zeros(2, 1, 3)).chunk(2, -1)[0]
    found = run.agent.act(np.zeros((2, 1, 3), np.float32))
    np.testing.assert_allclose(found, 2 * mean.detach().tanh().numpy(), rtol=1e-5)


@pytest.mark.parametrize("space", [BOX, Box(-3, 5, (2,), np.int32)])
def test_a_saved_policy_squashes_too(space: gym.Space, tmp_path: Path) -> None:
    run = train(replace(SMALL, env="own", log_std_init=1.0), SQUASH, env=lambda: AnySpace(action=space)).only()
    save_policy(run, tmp_path / "p.pt2", noise=True)  # which checks what it computes
    pytest.importorskip("onnxruntime")
    save_policy(run, tmp_path / "p.onnx", noise=True)
