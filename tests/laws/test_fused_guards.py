"""Kernels take addresses, so each thing that they can't check is asked before: any one of them alone makes it plain."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest
import torch
from support.learners import Learner, assert_learned, between, compiled_losses, learn
from torch import nn

from tricks import PPO, Config, Tricks
from tricks.action_mask import mask_logits
from tricks.core.adam import Adam
from tricks.core.nets import Dense, Head
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import Batch, Player
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.fused import losses, playing
from tricks.fused.losses import Slope, Step
from tricks.grad_clip import shorten
from tricks.ladder import closed, switched
from tricks.loop import build_agent
from tricks.training import Training

pytest.importorskip("numba")
SMALL = Config("CartPole-v1", seeds=2, lanes=3, horizon=8, hidden=(5, 4), value_clip_range=0.1)
BOX = replace(SMALL, env="Pendulum-v1")
EVERYONE = torch.ones(2, dtype=torch.bool)


class Parts:
    """All that learning and playing ask about."""

    def __init__(self, config: Config = SMALL) -> None:
        self.tricks: Tricks = replace(PPO, state_norm=True)
        env = make_env(config)
        assert isinstance(env, TensorEnv)
        self.config, self.env, self.player = config, env, Player(env, config.horizon)
        self.agent = build_agent(env.spaces, config, self.tricks)
        self.optimizer, self.apart = Adam(self.agent.parameters(), 1e-5), Adam(self.agent.value_net.parameters(), 1e-5)
        count = self.stats.moments.rows + 1
        self.stats.moments = self.stats.moments._replace(rows=count)

    @property
    def stats(self) -> Any:
        return self.agent.obs_stats

    def learns(self) -> bool:
        return losses.gradients_of(self.training()) is not None

    def training(self, **flags: bool) -> Training:
        given = self.agent, self.config, replace(self.tricks, separate_optimizers=True, **flags)
        return between(*given, self.optimizer, self.apart)

    def plays(self) -> bool:
        return playing.Game.of(self.player, self.agent.policy, EVERYONE) is not None


Case = tuple[Config, Callable[[Parts], None]]


def put(name: str, make: Callable[[Any], Any]) -> Callable[[Parts], None]:
    """Something else in a part's place, or in that of a parameter's numbers."""

    def do(parts: Parts) -> None:
        of: Any = parts
        *path, last = name.split(".")
        for each in path:
            of = getattr(of, each)
        setattr(of, last, make(getattr(of, last)))

    return do


def another(*names: str) -> dict[str, Case]:
    """Parts of another class, which is nothing but a subclass of their own."""
    return {f"another {x}": (SMALL, put(f"{x}.__class__", lambda of: type("Other", (of,), {}))) for x in names}


def made(change: Callable[[torch.Tensor], torch.Tensor], *names: str) -> dict[str, Case]:
    """These numbers in another type or layout."""
    return {f"{change.__name__} {x}": (BOX if "log_std" in x else SMALL, put(x, change)) for x in names}


def strided(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x, x], -1)[..., 0]


def longer(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x], -1)


def other_weight(parts: Parts) -> None:
    layers = cast(Dense, parts.agent.policy_net.body).layers
    layers[0] = copied(layers[0][0]), layers[0][1]


def copied(x: torch.Tensor) -> nn.Parameter:
    return nn.Parameter(x.detach().clone())


def wider(parts: Parts) -> None:
    """Layers that lead on from one another, and not with the numbers that the optimizer has."""
    (weight, bias), (after, _) = cast(Dense, parts.agent.policy_net.body).layers
    weight.data, bias.data, after.data = longer(weight.data), longer(bias.data), torch.cat([after.data] * 2, 1)


LEARNING: dict[str, Case] = {
    **another("agent", "agent.policy_net", "agent.value_net", "agent.policy_net.body", "agent.value_net.head"),
    **another("optimizer", "apart"),
    **made(torch.Tensor.double, "optimizer.m", "agent.policy_net.head.bias.data", "agent.value_net.head.weight.data"),
    **made(torch.Tensor.double, "agent.log_std.data"),
    **made(torch.Tensor.float, "agent.value_net.head.bias.data"),
    **made(torch.Tensor.int, "optimizer.t"),
    **made(strided, "apart.v", "agent.policy_net.head.weight.data"),
    **made(longer, "apart.change", "agent.log_std.data"),
    "another limit": (SMALL, put("optimizer.limit", lambda _: lambda gradient, norm: gradient)),
    "another partial limit": (SMALL, put("optimizer.limit", lambda _: partial(dict, max_norm=1.0))),
    "a limit with more": (SMALL, put("optimizer.limit", lambda _: partial(shorten, EVERYONE, max_norm=1.0))),
    "a mask": (SMALL, put("agent.mask", lambda _: mask_logits)),
    "another family": (SMALL, put("agent.family", lambda _: DiagonalGaussian)),
    "the other family": (BOX, put("agent.family", lambda _: Categorical)),
    "two tasks": (SMALL, put("agent.spaces", lambda spaces: replace(spaces, tasks=2))),
    "other eyes": (SMALL, put("agent.obs_stats", lambda _: nn.Identity())),
    "wider layers": (SMALL, wider),
    "a strided log σ": (BOX, put("agent.log_std.data", lambda x: strided(torch.cat([x, x], 1))[:, ::2])),
    "a layer that no optimizer has": (SMALL, other_weight),
    "a value head that no optimizer has": (SMALL, put("agent.value_net.head.weight", copied)),
    "a log σ that no optimizer has": (BOX, put("agent.log_std", copied)),
    "more actions": (SMALL, put("agent.spaces", lambda spaces: make_env(replace(SMALL, env="Acrobot-v1")).spaces)),
    "other seeds": (SMALL, put("agent.seeds", lambda seeds: (*seeds, 9))),
}


def more_outputs(head: Head) -> Head:
    weight, bias = (nn.Parameter(longer(x.detach())) for x in (head.weight, head.bias))
    head.weight, head.bias = weight, bias
    return head


PLAYING: dict[str, Case] = {
    **another("agent", "agent.policy_net", "env", "player"),
    **made(torch.Tensor.double, "stats.mean", "agent.policy_net.head.bias.data", "agent.log_std.data"),
    **made(strided, "agent.policy_net.head.weight.data"),
    **made(longer, "env._state", "env._age", "stats.scale", "agent.log_std.data"),
    "a method of its own": (SMALL, put("env.arrive", lambda arrive: lambda *given: arrive(*given))),
    "other seeds": (SMALL, put("env.seeds", lambda seeds: (*seeds, 9))),
    "other fresh states": (SMALL, put("env._fresh", lambda blocks: [*map(longer, blocks)])),
    "other resets": (SMALL, put("env.now", lambda now: now._replace(resetting=longer(now.resetting)))),
    "other spaces": (SMALL, put("env.spaces", lambda _: make_env(replace(SMALL, env="Acrobot-v1")).spaces)),
    "more outputs": (SMALL, put("agent.policy_net.head", more_outputs)),
}
GUARDS = [pytest.param(*case, Parts.learns, id=f"learning: {name}") for name, case in LEARNING.items()]
GUARDS += [pytest.param(*case, Parts.plays, id=f"playing: {name}") for name, case in PLAYING.items()]


@pytest.mark.parametrize(("config", "do", "compiled"), GUARDS)
def test_any_one_makes_it_plain(config: Config, do: Callable[[Parts], None], compiled: Callable[[Parts], bool]) -> None:
    parts = Parts(config)
    assert compiled(parts)
    do(parts)
    assert not compiled(parts)


def test_losses_that_pytorch_has_yet_to_differentiate_add_up() -> None:
    left = Slope(cast(Step, None), torch.ones(2)) + Slope(cast(Step, None)) + torch.ones(2)
    assert left.rest is not None and left.rest.tolist() == [2, 2]


def test_a_policy_that_is_no_agent_s_is_played_row_by_row() -> None:
    parts = Parts()
    assert playing.play_segment(parts.player, lambda *given: parts.agent.policy(*given), 8, EVERYONE) is None


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_one_seed_is_played_whatever_the_default_type(kind: torch.dtype, normed: bool) -> None:
    parts = Parts(replace(SMALL, seeds=1))
    if not normed:
        parts.agent.obs_stats = None
    torch.set_default_dtype(kind)
    try:
        assert playing.play_segment(parts.player, parts.agent.policy, 8, EVERYONE[:1]) is not None
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("column", ["obs", "action", "valid", "advantage", "old_log_prob", "old_value", "target", ""])
def test_a_minibatch_with_one_column_of_another_type_or_shape_or_without_rows_is_not_for_kernels(column: str) -> None:
    parts, zeros, taken = Parts(), torch.zeros(2, 4), list[bool]()
    batch = Batch(obs=torch.zeros(2, 4, 4), legal=torch.ones(2, 4, 2) > 0, action=zeros.long(), valid=zeros == 0)
    batch.advantage, batch.old_log_prob, batch.old_value, batch.target = zeros, zeros, zeros.double(), zeros.double()
    kernels = losses.gradients_of(parts.training(value_clip=True))
    assert kernels is not None
    for change in (lambda x: x, torch.Tensor.half, lambda x: x[:, :3], lambda x: x[:, :, None]):
        b = deepcopy(batch)
        if column:
            vars(b)[column] = change(getattr(b, column))
        taken.append(None not in [each.arrays(b, b.obs) for each in kernels])
    assert taken == [True, *[not column] * 3]


def test_ranges_are_as_exact_as_the_loop_s() -> None:
    t = Parts().training(value_clip=True, state_norm=False)
    learn(t, ())
    kernels = losses.gradients_of(t)
    assert kernels is not None
    assert (kernels[1].more[2] == 0.1).any(1).all()


def test_with_buffers_each_net_has_rows_of_its_own_and_those_of_one_are_enough_for_a_step() -> None:
    learner = Learner(11, switched(closed({"ppg_buffers"})), box=False, usual=True, odd=False)
    for b in learner.batches:
        b.valid[0] = False
    assert assert_learned(learner)


def test_a_value_kernel_that_stops_halfway_leaves_nothing_in_the_gradients_of_the_policy() -> None:
    learner = Learner(11, PPO, box=False, usual=True, odd=False)
    learner.active[:] = True
    for b in learner.batches:
        b.valid[:], b.valid[:, -1] = True, False
        b.target[-1, -1] = torch.nan  # filler of the last seed, after the others' gradients
    with compiled_losses() as found:
        assert assert_learned(learner)
    assert found == [True, False] * len(learner.batches)
