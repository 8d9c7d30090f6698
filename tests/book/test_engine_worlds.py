"""The worlds of the playground are the library's: the same starts, actions and chances lead to the same steps."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kstest
from support.browsing import Browser

from chapters.book.site.playground import offered
from tricks import listing
from tricks.ladder import REINFORCE, switched
from tricks.worlds import WORLDS
from tricks.worlds.world import World

LENGTH = 60  # steps; in so many, a pole magnifies what rounding does a hundredfold
NAMES = """
CartPoleShocks CartPoleReward0.0001 CartPoleReward0.01 CartPoleReward0.1 CartPoleReward10 CartPoleReward100
CartPoleShockPairs1000 CartPoleShockPairs10000 CartPoleShockPairs100000
CartPoleOddUnits1 CartPoleOddUnits10 CartPoleOddUnits100 CartPoleOddUnits Corridor Corridor1 Mail1 Mail3 Mail6
Tightrope12 Tightrope50 Tightrope Grid0 Grid10 Grid20 Grid40 Grid60 Marathon100 Marathon500 Marathon
Loan0Pay0.1 Loan0.6Pay0.1 Loan6Pay0.1 Loan18Pay0.1 Loan0Pay0.3 Loan3Pay0.3 Loan30Pay0.3
Lottery2 Lottery5 Lottery20 Shuttle4 Shuttle16 Shuttle64
"""
IDS = ("CartPole-v1", *(f"tricks/{name}-v0" for name in NAMES.split()))
PLAYED = ("CartPole-v1", "tricks/Tightrope12-v0", "tricks/Mail1-v0")


def trajectory(world: World, seed: int) -> tuple[Any, ...]:
    """A lane's start, actions and chances, and what came of them, up to the episode's end."""
    rng, steps = np.random.default_rng(seed), []
    starting = rng.random(world.reset_chances, dtype=np.float32)
    state = world.initial(torch.from_numpy(starting)[None, None])
    chances = rng.random((LENGTH, world.step_chances), dtype=np.float32)
    width = int(world.action.n)  # type: ignore[attr-defined]
    for t in range(LENGTH):
        obs, legal = world.observe(state)[0, 0], world.legal(state)
        best = int(obs @ torch.tensor([0.1, 0.3, 3.0, 1.0]) > 0) if len(obs) == 4 else int(obs[0] > 0)  # never falls
        action = best if seed % 2 else int(rng.integers(width))
        chance = torch.from_numpy(chances[t])[None, None]
        state, reward, terminated = world.dynamics(state, torch.tensor([[action]]), chance)
        seen = {"obs": obs.tolist(), "legal": None if legal is None else legal[0, 0].int().tolist()}
        steps.append(seen | {"reward": float(reward), "terminated": bool(terminated), "action": action})
        if terminated:
            break
    actions = [step.pop("action") for step in steps]
    return starting.tolist(), actions, chances.tolist(), steps


@pytest.mark.parametrize("id", IDS)
def test_a_trajectory_is_the_library_s(engine: Browser, id: str) -> None:
    for seed in range(4):
        *given, steps = trajectory(WORLDS[id], seed)
        made = engine.run("return trajectory(...arguments)", id, *given)
        for mine, theirs in zip(made, steps, strict=True):
            assert (mine["terminated"], mine["legal"]) == (theirs["terminated"], theirs["legal"])
            assert mine["reward"] == pytest.approx(theirs["reward"], rel=1e-6, abs=1e-6)
            assert mine["obs"] == pytest.approx(theirs["obs"], rel=1e-3, abs=1e-4)


def test_there_are_these_worlds_with_the_library_s_sizes_and_limits(engine: Browser) -> None:
    made = engine.run("return Object.values(Playground.WORLDS).map((w) => [w.id, w.features, w.actions, w.limit])")
    theirs = [(id, WORLDS[id]) for id in IDS]
    assert sorted(made) == sorted([id, *w.observation.shape, int(w.action.n), w.time_limit] for id, w in theirs)  # type: ignore


@pytest.mark.parametrize("id", PLAYED)
def test_rollouts_of_whole_episodes_are_whole_and_large_enough(engine: Browser, id: str) -> None:
    for made in engine.run("return rollouts(...arguments)", False, id):
        assert made["rows"] >= 3 * 40
        ends = dict(zip(made["lane"], made["done"], strict=True))  # each lane's last row
        assert ends == {0: 1, 1: 1, 2: 1}
        assert sum(made["done"]) == len(made["games"]) == made["told"]["episodes"]
        assert sum(game["length"] for game in made["games"]) == made["rows"]
        assert sum(made["cut"]) == 0
        reached = np.searchsorted(made["counts"], 3 * 40)  # the step from which on no episode begins
        after_an_end = dict.fromkeys(range(3), False)
        for row, (lane, done) in enumerate(zip(made["lane"], made["done"], strict=True)):
            assert not (after_an_end[lane] and np.searchsorted(made["counts"], row, side="right") > reached)
            after_an_end[lane] = bool(done)


@pytest.mark.parametrize("id", PLAYED)
def test_segments_take_a_step_for_each_reset_and_are_cut_where_an_episode_goes_on(engine: Browser, id: str) -> None:
    open_steps, lengths, over = dict.fromkeys(range(3), 0), 0, 0
    for made in engine.run("return rollouts(...arguments)", True, id):
        games, done = made["games"], made["done"]
        assert made["rows"] == 3 * 40 - (over + len(games) - made["over"])  # lanes that are over take a step to begin
        over = made["over"]
        ends = {lane: row for row, lane in enumerate(made["lane"])}  # each lane's last row
        assert {row for row, cut in enumerate(made["cut"]) if cut} == {row for row in ends.values() if not done[row]}
        followed = [cut or truncated for cut, truncated in zip(made["cut"], made["truncated"], strict=True)]
        assert [index >= 0 for index in made["last"]] == [*map(bool, followed)]
        lengths += sum(game["length"] for game in games)
        for lane, ended in zip(made["lane"], done, strict=True):
            open_steps[lane] = 0 if ended else open_steps[lane] + 1
    assert lengths + sum(open_steps.values()) == made["told"]["step"]  # episodes go on from segment to segment


def test_an_episode_that_terminates_at_its_time_limit_is_not_truncated(engine: Browser) -> None:
    length = 10  # of an episode with a loan
    for limit, ends in {length + 1: (18, 0), length: (18, 0), length - 1: (0, 20)}.items():
        assert tuple(engine.run("return ends(...arguments)", "tricks/Loan6Pay0.1-v0", limit)) == ends


def test_actions_come_as_often_as_the_policy_says_and_differ_from_rollout_to_rollout(engine: Browser) -> None:
    logits = np.array([0.0, 1.0, -1e30, -1.0])
    found = engine.run("return actions(...arguments)", "tricks/Grid0-v0", logits.tolist(), 50)
    assert len({tuple(rollout) for rollout in found}) == len(found)
    taken = np.concatenate(found)
    share, expected = np.bincount(taken, minlength=4) / len(taken), np.exp(logits) / np.exp(logits).sum()
    assert share[2] == 0
    assert (abs(share - expected) <= 4 * np.sqrt(expected * (1 - expected) / len(taken))).all()


def test_every_order_of_rows_is_as_likely_and_streams_are_uniform_and_apart(engine: Browser) -> None:
    found = engine.run("return chances(6000)")
    orders, counts = np.unique(found["orders"], return_counts=True)
    assert len(orders) == 6
    assert (abs(counts - 1000) < 4 * (6000 * 5 / 36) ** 0.5).all()
    numbers = np.array(found["numbers"])
    for stream in numbers:
        assert kstest(stream, "uniform").pvalue > 1e-3
    assert (abs(np.corrcoef(numbers) - np.eye(4)) < 4 / 6000**0.5).all()


@pytest.mark.parametrize("lr", [1e154, 1e200])  # the gradient's norm is infinite, and NaN
def test_an_agent_whose_gradient_is_not_finite_ends(engine: Browser, lr: float) -> None:
    rows = engine.run("return curve('CartPole-v1', { baseline: true }, arguments[0])", {"lr": lr, "steps": 9000})
    assert [row["diverged"] for row in rows] == [False] * (len(rows) - 1) + [True]
    assert not rows[-1]["active"]
    assert rows[-1]["step"] < 9000


@pytest.mark.parametrize("orthogonal", [True, False])
def test_weights_begin_orthogonal_or_uniform(engine: Browser, orthogonal: bool) -> None:
    nets = engine.run("return layers({ orthogonal_init: arguments[0] })", orthogonal)
    assert nets[0][0] != nets[1][0]
    for net, head_gain in zip(nets, (0.01, 1.0), strict=True):
        for gain, (inputs, outputs, weight, bias) in zip((2**0.5, 2**0.5, head_gain), net, strict=True):
            w, limit = np.array(weight).reshape(outputs, inputs), inputs**-0.5
            if orthogonal:
                small = w @ w.T if outputs <= inputs else w.T @ w
                np.testing.assert_allclose(small, gain**2 * np.eye(len(small)), atol=1e-12)
                assert not any(bias)
            else:
                assert 0.7 * limit < max(map(abs, weight)) <= limit
                assert 0 < max(map(abs, bias)) <= limit


def test_a_phase_is_the_name_of_a_function_that_the_listing_calls(engine: Browser) -> None:
    for tricks in (REINFORCE, switched(offered())):
        phases = set(engine.run("return phases(arguments[0])", tricks.on))
        assert {name for name in phases if f"{name}(" not in str(listing(tricks))} == set()
        assert len(phases) >= (3 if tricks == REINFORCE else 15)
