"""The compiled functions, run as Python, agree with the formulas, too: what mutation testing changes takes effect here.

Python also checks each index of an array. It takes about a thousand times as long, so there is little of everything;
and single kernels are held to what they say at the ties, overflows, and bounds that runs seldom meet.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch
from support.fixtures import Patch
from torch import Tensor

pytest.importorskip("numba")
from support.draws import FORMS, Draw, assert_form
from support.interpreted import BLOCK, interpreted
from support.learners import ACTIONS, FLAGS, Learner, assert_learned, compiled_losses

from tricks import PPO, Config
from tricks.advantage_norm import standardize
from tricks.core.adam import Adam
from tricks.core.layers import dense
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.fast import compiled_layers as layers
from tricks.fast import rows
from tricks.fast.dispatch import plain
from tricks.fast.formulas import FORMULAS
from tricks.fused import compiled_learning as code
from tricks.fused import compiled_playing as playing
from tricks.fused.losses import Slope, Step, move
from tricks.fused.playing import play_episodes, play_segment
from tricks.grad_clip import shorten
from tricks.huber import linear_beyond
from tricks.ladder import closed, switched
from tricks.loop import build_agent
from tricks.state_norm import ObsStats
from tricks.value_clip import clipped_error
from tricks.worlds import CLASSIC, cartpole


@pytest.fixture(autouse=True)
def _as_python() -> Iterator[None]:
    with interpreted():
        yield


SEED = 11  # of a learner with both actions, three seeds, and two minibatches
BOXES = pytest.mark.parametrize("box", [False, True], ids=["discrete", "box"])


@pytest.mark.parametrize("form", FORMS)
def test_single_forms(form: str) -> None:
    for seed in range(12):
        assert_form(getattr(Draw(f"{form} {seed}", usual=True), form)(), seed)


@pytest.mark.parametrize("seed", range(40))
def test_learning(seed: int) -> None:
    assert_learned(Learner(seed, usual=True))


@BOXES
def test_kernels_learn_from_whatever_is_finite_and_from_every_action(box: bool) -> None:
    learner = Learner(SEED, PPO, box, usual=True, odd=False)
    with compiled_losses() as found:
        assert_learned(learner)
    assert found
    assert all(found)
    if not box:
        assert {int(a) for b in learner.batches for a in b.action.unique()} == {0, 1}


@BOXES
@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["obs", "action", "advantage", "old_log_prob", "old_value", "target"])
def test_filler_that_is_not_finite(column: str, odd: float, active: bool, box: bool) -> None:
    huber = replace(PPO, value_clip=True, huber=True)
    for flags in (PPO, replace(PPO, value_clip=False), huber, switched(closed({"baseline"}))):
        learner = Learner(SEED, flags, box, usual=True, odd=False)
        learner.active = torch.tensor([active] * len(learner.active))
        for b in learner.batches:
            b.valid[:, -1], b.old_log_prob[:, -1] = False, -1.0
            if getattr(b, column).is_floating_point():
                getattr(b, column)[0, -1] = odd
        assert_learned(learner)


@pytest.mark.parametrize("action", [-1, ACTIONS])
def test_filler_without_such_an_action(action: int) -> None:
    learner = Learner(SEED, PPO, box=False, usual=True, odd=False)
    for b in learner.batches:
        b.valid[:, -1] = False
        b.action[0, -1] = action
    assert not assert_learned(learner)


FAR = [*product([1e18, 1.9e19, 1e25, 3e38], [-40.0, 0.0, 40.0], [None]), (1e21, 2.0, 1e-30)]


@pytest.mark.parametrize(("action", "log_std", "advantage"), FAR)
def test_actions_far_from_their_mean(action: float, log_std: float, advantage: float | None) -> None:
    usual = [replace(PPO, entropy=entropy) for entropy in (True, False)]
    for flags in usual if advantage is None else [switched(closed({"entropy"}))]:
        learner = Learner(SEED, flags, box=True, usual=True, odd=False)
        with torch.no_grad():
            learner.agent.log_std.fill_(log_std)
        for b in learner.batches:
            b.action[:, 0, 0], b.valid[:, 0], b.old_log_prob[:] = action, True, 0.0
            if advantage is not None:
                b.advantage[:] = advantage
        assert_learned(learner)


def test_losses_too_large_for_float32() -> None:
    learner = Learner(SEED, switched(closed({"baseline"})), box=False, usual=True, odd=False)
    for b in learner.batches:
        b.advantage[:] = 3e38
    assert_learned(learner)


@pytest.mark.parametrize("id", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"])
def test_rules_of_worlds_from_any_state(id: str) -> None:
    world, generator = CLASSIC[id], torch.Generator().manual_seed(0)
    name = world.dynamics.__module__.rpartition(".")[2]
    number = getattr(playing, name.upper())
    kinds = {"cartpole": 2, "acrobot": 3}.get(name)
    state = torch.randn(3, 40, world.reset_chances, generator=generator) * torch.tensor([0.1, 1.0, 15.0]).view(3, 1, 1)
    action = 3 * torch.randn(3, 40, 1, generator=generator)
    action[0, 0] = torch.nan  # of Pendulum: no torque
    if kinds:
        action = torch.randint(kinds, (3, 40), generator=generator)
    with plain():
        theirs = *world.dynamics(state, action, torch.empty(3, 40, 0)), world.observe(state)
    mine = [torch.empty_like(x).flatten(0, 1) for x in theirs]
    given = state.flatten(0, 1).numpy(), action.flatten(0, 1).numpy()
    getattr(playing, name)(*given, *(x.numpy() for x in mine[:3]))
    playing.show(number, given[0], mine[3].numpy())
    for x, y in zip(mine, theirs, strict=True):
        torch.testing.assert_close(x, y.flatten(0, 1), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("advantage", [-1.0, -0.5])
@pytest.mark.parametrize(("ratio_is", "slope"), [(1.9, 1.9), (2.0, 1.0), (2.1, 0.0)])
def test_half_of_a_tie_with_dual_clip_s_bound_has_a_gradient(ratio_is: float, slope: float, advantage: float) -> None:
    single, on = np.float32, np.array([flag in ("reuse", "dual_clip") for flag in code.FLAGS])
    given = single(0), -np.log(single(ratio_is)), single(advantage), on, np.full(len(code.NUMBERS), 2.0)
    value, found = code.objective(*given, np.zeros(len(code.FOUND)))
    assert (value, found) == pytest.approx((advantage * min(ratio_is, 2), advantage * slope), rel=1e-5)


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("flag", FLAGS)
def test_learning_with_each_flag(flag: str, reuse: bool) -> None:
    flags = switched(closed({flag, *(["reuse"] if reuse else [])}))
    for seed in range(4):
        assert_learned(Learner(seed, flags, box=False, usual=True))


@pytest.mark.parametrize("rows", [0, 12, 63, 64])
@pytest.mark.parametrize("world", ["CartPole-v0", "Acrobot-v1", "Pendulum-v1"])
def test_playing(world: str, rows: int) -> None:
    """A segment, or whole episodes of so many rows: 63 are all of one in each of seven lanes."""
    hidden = {12: (), 63: (4,)}.get(rows, (4, 3, 5))
    seeds = 1 if rows == 64 else 2
    config, found, left = Config(world, seeds=seeds, lanes=7, horizon=10, hidden=hidden), [], []
    name = "tricks.core.rollout.play_episodes" if rows else "tricks.segments.play_segment"
    for form in (play_episodes if rows else play_segment, FORMULAS[name].plain):
        env = make_env(config)
        assert isinstance(env, TensorEnv)
        env._limit = 9
        agent = build_agent(env.spaces, config, replace(PPO, state_norm=rows != 64))
        if agent.obs_stats is not None:
            stats = cast(ObsStats, agent.obs_stats)
            count, average, squares = stats.moments
            stats.moments = stats.moments._replace(rows=count + 1, mean=average + 0.01, squares=squares + 1e-5)
        with torch.no_grad():
            agent.policy_net.head.weight.mul_(30)
            agent.policy_net.head.bias.add_(torch.linspace(0.5, 1, agent.policy_net.head.bias.shape[-1]))
            agent.policy_net.head.bias[1:, :, -1] = torch.nan  # of the second seed, which is always its choice
        player = Player(env, config.horizon)
        found.append([form(player, agent.policy, rows or 10, torch.tensor([True, k == 0][:seeds])) for k in range(2)])
        left.append([env._state, env._age.double(), env.now.reward.float(), env.now.resetting.double()])
    for mine, theirs in zip(*found, strict=True):
        assert mine is not None
        assert torch.equal(mine.valid, theirs.valid)
        for column in ("obs", "action", "reward", "terminated", "truncated", "over"):
            x, y = getattr(mine, column), getattr(theirs, column)
            at = slice(None) if column == "obs" else mine.valid
            as_exact = torch.Tensor.float if column == "reward" else torch.Tensor.clone  # float32 numbers
            torch.testing.assert_close(as_exact(x[at]), as_exact(y[at]), equal_nan=True)
    if not rows:
        torch.testing.assert_close(*left, equal_nan=True)


single, LARGEST = np.float32, float(layers.LARGEST)
alike = partial(torch.testing.assert_close, equal_nan=True)


def test_tanh_is_near_and_never_beyond_1() -> None:
    x = np.linspace(-20, 20, 4001).astype(single)
    found = np.array([layers.tanh(each) for each in x])
    assert np.abs(found).max() == 1
    np.testing.assert_allclose(found, np.tanh(x.astype(float)), rtol=0, atol=3e-7)


@pytest.mark.parametrize("odd", [0.0, 1.0, LARGEST, -LARGEST, np.inf, -np.inf, np.nan])
def test_whether_one_was_infinite(odd: float) -> None:
    for place in range(4):
        x = np.array([[0, -0.0], [0, 0]], single)
        x.flat[place] = odd
        assert layers.bend(x.ctypes.data, 2, 2, layers.TANH) == np.isinf(odd)


@pytest.mark.parametrize("factors", [*product([2.0, 1.0], repeat=2)])
@pytest.mark.parametrize("signs", [*product([1, -1], repeat=2)])
def test_products_that_overflow_both_ways_give_nan(signs: Sequence[int], factors: Sequence[float]) -> None:
    x, h = np.array([[0.1, 0.1], factors], single), np.zeros((2, 1), single)
    weight, nan = np.array(signs, single).reshape(2, 1) * layers.LARGEST, [False, min(factors) == 2 and sum(signs) == 0]
    layers.mend(x.ctypes.data, weight.ctypes.data, h.ctypes.data, 2, 2, 1)
    layer = torch.from_numpy(weight).unsqueeze(0), torch.zeros(1, 1, 1)
    found = dense(torch.from_numpy(x).unsqueeze(0), [layer], False)
    assert np.isnan(h[:, 0]).tolist() == found.isnan().flatten().tolist() == nan


def test_rows_whose_gradient_is_0_add_what_they_add_in_pytorch(monkeypatch: Patch) -> None:
    monkeypatch.setattr(torch, "empty_like", partial(torch.full_like, fill_value=torch.nan))
    for seed in range(150):
        rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        sizes = rng.choice([[2, 4, 1], [rng.randint(1, 4) for _ in range(rng.randint(2, 3))]])
        tanh = rng.random() < 0.4
        normal = partial(torch.randn, generator=generator)
        given = [normal(2, 3 * BLOCK, sizes[0])]
        given += [normal(2, *shape) for a, b in pairwise(sizes) for shape in ((a, b), (1, b))]
        if rng.random() < 0.5:
            given[-2].abs_().neg_()  # so that ∞ is 0 one layer on
        odd = given[0][:, :BLOCK] if rng.random() < 0.5 else rng.choice(given[1:])
        odd[rng.randrange(2), -1, rng.randrange(odd.shape[2])] = rng.choice([1, np.inf, -np.inf, LARGEST, -LARGEST])
        grad = torch.zeros(2, 3 * BLOCK, sizes[-1])  # of the first block, and of the second but for its end
        grad[:, 2 * BLOCK - 1, -1], grad[:, 2 * BLOCK :] = 1, normal(2, BLOCK, sizes[-1])
        wanted = given[rng.randrange(2) :]
        with plain():
            theirs = gradients(given, wanted, grad, tanh)
        alike(gradients(given, wanted, grad, tanh), theirs, rtol=1e-4, atol=1e-4)


def gradients(given: list[Tensor], wanted: list[Tensor], grad: Tensor, tanh: bool) -> list[Tensor]:
    """Those of layers, from that of their last features; what is not finite is NaN."""
    x, *flat = given
    for each in given:
        each.requires_grad_(any(each is other for other in wanted))
    out = dense(x, [*zip(flat[::2], flat[1::2], strict=True)], tanh)
    return [torch.where(g.isfinite(), g, torch.nan) for g in torch.autograd.grad(out, wanted, grad)]


@pytest.mark.parametrize(("action", "known"), [(-1, False), (0, True), (2, True), (3, False)])
def test_a_form_is_only_for_actions_that_there_are(action: int, known: bool) -> None:
    for place in range(2):
        actions = torch.ones(2, dtype=torch.int64)
        actions[place] = action
        assert (rows.log_prob(torch.zeros(2, 3), actions) is not None) == known


def adam(limit: float | None = None) -> Adam:
    made = Adam([torch.zeros(4, 2)], (0.1, 1e-8, 1e-8, 1e-8))
    if limit is not None:
        made.limit = partial(shorten, max_norm=limit)
    return made


GRADIENTS = torch.tensor([[[1.0, -2.0]] * 4, [[1.0, np.nan], [3.0, 4.0], [np.inf, 1.0], [1.0, -np.inf]]])
MOVING, RATE = torch.tensor([[True] * 4, [True, False, True, True]]), torch.tensor([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("limit", [None, 1e-6, 1.0])
@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_shortened_steps_of_adam(limit: float | None, scale: float) -> None:
    theirs, mine = adam(limit), adam(limit)
    for gradient, moving in zip(scale * GRADIENTS, MOVING, strict=True):
        norm = gradient.norm(dim=1)
        short = theirs.limit(gradient, norm) if theirs.limit else gradient
        with plain():
            theirs.step(short, RATE, moving & norm.isfinite())
        step = Step(code, mine)
        step.gradients[:] = gradient
        alike(move(mine, Slope(step), RATE, moving), norm)
        for name in ("m", "v", "t", "change"):
            alike(getattr(mine, name), getattr(theirs, name), atol=1e-20, rtol=1e-5)
        alike(mine.parameters, theirs.parameters)


def test_an_episode_of_cartpole_goes_on_at_its_limits() -> None:
    ends = torch.tensor([2.4, np.radians(12)], dtype=torch.float32)
    state = torch.zeros(12, 4)
    for k, sign in enumerate((1, -1)):
        for j, limit in enumerate(sign * ends):
            for n, beyond in enumerate((sign * 9.0, 0.0, -sign * 9.0)):
                state[6 * k + 3 * j + n, 2 * j] = torch.nextafter(limit, torch.tensor(beyond)) if beyond else limit
    action = torch.ones(12, dtype=torch.int64)
    with plain():
        theirs = cartpole.dynamics(state, action, torch.empty(12, 0))
    ended = np.empty(12, bool)
    playing.cartpole(state.numpy(), action.numpy(), np.empty((12, 4), single), np.empty(12), ended)
    assert ended.tolist() == theirs[2].tolist() == [True, False, False] * 4


def test_an_episode_of_acrobot_goes_on_at_its_height(monkeypatch: Patch) -> None:
    heights = iter(np.array([-0.5, -0.5, -0.5, -0.6, -0.5, -0.4], single))
    state, ended = np.zeros((3, 4), single), np.empty(3, bool)
    monkeypatch.setattr(playing, "accelerations", lambda *_: (single(0), single(0)))
    monkeypatch.setattr(playing, "np", SimpleNamespace(cos=lambda _: next(heights), rint=np.rint))
    playing.acrobot(state, np.ones(3, int), state.copy(), np.empty(3), ended)
    assert ended.tolist() == [False, True, False]


def test_the_first_of_the_largest_is_chosen() -> None:
    logits, action = np.array([[1, 2, 2], [2, 1, 2], [2, np.nan, np.nan]], single), np.empty(3, np.int64)
    playing.choose(logits, np.zeros_like(logits), action)
    assert action.tolist() == [1, 0, 1]


def test_beyond_the_clip_the_smallest_advantage_has_no_gradient_either() -> None:
    on = np.array([flag in ("reuse", "clip", "dual_clip") for flag in code.FLAGS])
    numbers = np.array([{"clip_range": 0.2, "dual_clip_limit": 1.2}.get(name, 0) for name in code.NUMBERS])
    given = single(0), np.log(single(2)), single(-1e-45), on, numbers, np.zeros(len(code.FOUND))
    with np.errstate(all="ignore"):
        assert code.objective(*given) == (single(-1e-45), 0)


@pytest.mark.parametrize("scale", [1e-8, 1.0])
def test_standardized_advantages(scale: float) -> None:
    advantage, valid = scale * torch.tensor([[1.0, -2.0, 9.0, 4.0]]), torch.tensor([[True, True, False, True]])
    found = code.standardize(advantage[0].numpy(), valid[0].numpy(), 3)
    alike(torch.from_numpy(found)[valid[0]], standardize(advantage, valid)[valid])


@pytest.mark.parametrize("huber", [False, True])
def test_errors_of_values_have_the_gradients_of_pytorch(huber: bool) -> None:
    numbers = [-1, -0.5, -0.25, 0, 0.25, 0.5, 1, np.nan]
    value, old, target = torch.tensor([*product(numbers, repeat=3)], dtype=torch.float64).T.unsqueeze(1).unbind()
    theirs = clipped_error(value.requires_grad_(), old, target, 0.5)
    theirs = linear_beyond(theirs, 0.5) if huber else theirs
    slope = torch.autograd.grad(theirs.sum(), value)[0]
    on = np.array([flag in ("value_clip", *(["huber"] if huber else [])) for flag in code.FLAGS])
    given = torch.cat([value, old, target]).detach().T.numpy()
    mine = torch.tensor([code.error(v, o, t, on, np.full(len(code.NUMBERS), 0.5)) for v, o, t in given]).T
    alike(mine, torch.cat([theirs.detach(), slope]))


@pytest.mark.parametrize("sizes", [(3, 2), (2, 24, 1), (2, 20, 48), (3, 4, 9, 2), (3, 9, 2, 1)])
def test_a_net_has_the_gradients_of_pytorch_and_stays_within_its_room(sizes: tuple[int, ...]) -> None:
    normal = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    weights = [normal(*shape).requires_grad_() for shape in pairwise(sizes)]
    biases = [normal(size).requires_grad_() for size in sizes[1:]]
    parameters, x, g = [*weights, *biases], normal(BLOCK, sizes[0]), normal(BLOCK, sizes[-1])
    starts = np.cumsum([0, *(p.numel() for p in parameters)])
    gradient, y = np.zeros((1, starts[-1]), single), np.empty((BLOCK, sizes[-1]), single)
    net = np.array([p.data_ptr() for p in parameters] + starts[:-1].tolist()).reshape(4, -1)
    widths, count = np.array(sizes), len(code.room_for(np.array(sizes)))
    room = np.full(2 * count, 7, single)
    *forward, turned, hs, to_weights, to_biases, scratch = code.net_of_seed(0, net, widths, gradient, room[:count])
    hs[-1], rest = y.ctypes.data, (widths, BLOCK, True, layers.LINEAR)
    layers.block_forward(*(x.data_ptr(), *forward, hs, *rest))
    begins = g.data_ptr(), x.data_ptr(), 0, turned, hs, to_weights, to_biases
    layers.block_backward(*begins, *rest, scratch)
    assert (room[count:] == 7).all()
    h = x
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        h = (h @ weight + bias).tanh()
    out = h @ weights[-1]
    alike(torch.from_numpy(y), out.detach())
    theirs = torch.autograd.grad(out + biases[-1], parameters, g)
    alike(torch.from_numpy(gradient[0]), torch.cat([each.flatten() for each in theirs]), rtol=1e-4, atol=1e-5)
