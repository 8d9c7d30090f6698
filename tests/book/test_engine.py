"""The playground's engine computes what the library does: updates, sessions, learning, worlds, in a real browser."""

from dataclasses import replace
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kstest
from support.browsing import Browser
from support.probes import register
from support.recording import Recording, reference_of
from support.replayed import replayed, weights_after
from support.restless import Restless
from support.settings import SMALL, drawn_from
from torch import Tensor

from chapters.book import planted
from chapters.book.site.playground import offered
from chapters.exercises.diagnostics import FAULTS
from tricks import PPO, Config, Tricks, listing, train
from tricks.advantage_norm import standardize
from tricks.ladder import EXCLUDES, NEEDS, REINFORCE, closed, named, switched
from tricks.runs.learning_curve import DIAGNOSTICS
from tricks.worlds import WORLDS
from tricks.worlds.world import World


class Outlying(Restless):
    """A lane's thirtieth observation is fifty times as large, when the statistics know only others."""

    seen = 0

    def observation(self) -> np.ndarray:
        self.seen += 1
        return super().observation() * np.float32(50 if self.seen == 30 else 1)


register("Outlying-v0", Outlying)
ONE = replace(SMALL, env="Restless-v0", seeds=(3,), adam_eps=1e-2)
POPART = switched(closed(["popart"]))
VALUES = switched(x for x in offered() if x not in closed(["imitate", "group_norm"]))
REPLIES = switched(x for x in offered() if not {"imitate", "baseline", "advantage_norm"} & {*closed([x])})


def drawn(number: int) -> tuple[Config, Tricks]:
    """A legal set of the engine's flags, and numbers for one seed; its nets have tanh layers."""
    config, tricks = drawn_from(number, ["Restless-v0"], lambda _: DRAWN)
    return replace(config.only(0), activation="tanh"), tricks


DRAWN = [name for name in offered() if name != "imitate"]  # for which this environment lacks demonstrations
PAIRS = (25, 106, 119, 150, 191, 208, 234, 236, 263, 340, 364, 437, 451, 548)  # any two flags, see below
CASES = {f"drawn {number}": drawn(number) for number in (*range(26), *PAIRS)}
CASES |= {
    "no flag": (ONE, REINFORCE),
    "imitate": (replace(ONE, env="tricks/Odds-v0", steps=200), switched(["imitate", "lr_anneal", "kl_penalty"])),
    "kl_stop alone": (ONE, switched(closed(["kl_stop"]))),
    "ppo with the usual epsilon of Adam": (replace(ONE, adam_eps=Config.adam_eps), PPO),
    "observations beyond ten standard deviations": (replace(ONE, env="Outlying-v0"), named("state_norm")),
}
for first in (False, True):  # targets that explain no variance, and whose standard deviation is the least there is
    still = replace(replace(ONE, env="CartPole-v1", steps=400, gamma=0.0), return_first_batch=first)
    CASES[f"targets that are all the same, {first}"] = still, POPART
    nearly = replace(still, env="tricks/CartPoleReward0.0001-v0", gamma=0.9)
    CASES[f"targets that are nearly the same, {first}"] = nearly, POPART


@pytest.mark.parametrize("name", CASES)
def test_the_engine_equals_the_library(engine: Browser, name: str) -> None:
    check(engine, *CASES[name])


@pytest.mark.parametrize("target", [1e-4, 3e-5])
def test_a_stop_in_the_middle_of_a_batch(engine: Browser, target: float) -> None:
    config = replace(ONE, lr=0.01, epochs=3, target_kl=target)
    check(engine, config, named("kl_stop"))
    assert 0 < train(config, named("kl_stop")).curve.steps_taken[0] < 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_the_chapter_s(engine: Browser, fault: str) -> None:
    bold = replace(ONE, lr=0.03, clip_range=0.003)
    config = replace(bold, minibatches=1)  # so that there is no filler, of which crossed errors would be, too
    with planted(**FAULTS[fault]):
        check(engine, config, switched(closed(["clip", "gae", "entropy", "value_clip"])), swaps={"fault": fault})


def bent(ratio: Tensor, advantage: Tensor, clip_range: Tensor) -> Tensor:
    return torch.where(advantage < 0, ratio.log() * advantage, torch.maximum(ratio, ratio**2) * advantage)


def held(advantage: Tensor, valid: Tensor) -> Tensor:
    return standardize(advantage, valid).clamp(-1, 1)


@pytest.mark.parametrize(
    ("line", "theirs", "text"),
    [
        ("objective", {"clipped_surrogate": bent}, "where(advantage < 0, log_ratio, max(ratio, ratio^2)) * advantage"),
        ("advantage", {"standardize": held}, "clamp((advantage - mean) / (std + 1e-8), -1, 1)"),
    ],
)
def test_a_line_that_is_written_learns_what_the_library_learns_from_it(
    engine: Browser, line: str, theirs: dict[str, Any], text: str
) -> None:
    with planted(**theirs):
        check(engine, ONE, PPO, swaps={line: text})


def check(engine: Browser, config: Config, tricks: Tricks, swaps: dict[str, str] | None = None) -> None:
    """Every weight after every step, and every row of the curve: the reference's, in float64, if nothing is swapped."""
    case, steps = Recording(config, tricks), 0
    agent, curve = (None, case.run.curve.to_dict("records")) if swaps else reference_of(case, 0)
    limit = 1e-4 if swaps else 1e-9
    for update, made in enumerate(replayed(engine, case, swaps or {})):
        for k, step in enumerate(made["steps"]):
            theirs = weights_after(case, update, k, agent)
            off = np.abs(np.concatenate(step["weights"]) - theirs).max() / max(np.abs(theirs).max(), 1e-3)
            assert off < limit, f"{off:.1e} in update {update}, minibatch {k}, under {', '.join(tricks.on)}"
            steps += 1
        for name in ("step", *(each for each in DIAGNOSTICS if each in made["row"])):
            mine, wanted = made["row"][name], float(curve[update].get(name, np.nan))
            near = pytest.approx(wanted if np.isfinite(wanted) else np.nan, rel=limit, abs=limit * 1e-3, nan_ok=True)
            said = f"{name} is {mine}, not {wanted}, in update {update} under {', '.join(tricks.on)}"
            assert (np.nan if mine is None else mine) == near, said
    assert steps == sum(name == "grad_norm" for _, _, name in case.found) > 3
    missing = [name for name in DIAGNOSTICS if name not in made["row"] and not case.run.curve[name].isna().all()]
    assert missing == ["reward"]  # per step: for tasks that never end, and the playground has none


def test_the_sets_have_any_two_flags_in_every_legal_way_but_those_the_engine_does_not_offer() -> None:
    for a, b in combinations(DRAWN, 2):
        found = {(a in tricks.on, b in tricks.on) for _, tricks in CASES.values()}
        assert found == {(x, y) for x, y in product((True, False), repeat=2) if legal(a, b, x, y)}, (a, b)
    assert set(NEEDS) - set(offered()) == {
        *("shared_trunk", "ppg", "ppg_buffers", "recurrent"),  # other nets, and memories of many rollouts
        *("reward_scaling", "recompute", "separate_optimizers"),
        "squash",  # its worlds' actions are one choice from a few
        *("mixed_groups", "reply_mean", "reply_ratio"),  # its replies have one token
    }


def legal(a: str, b: str, x: bool, y: bool) -> bool:
    """Whether some set has a, or not, and b, or not."""
    on = closed([name for name, wanted in ((a, x), (b, y)) if wanted])
    apart = any({*EXCLUDES[name]} & {*on} for name in on)
    return not apart and (x or a not in on) and (y or b not in on)


SETTING = {"world": "CartPole-v1", "tricks": ["baseline", "reuse", "clip"], "numbers": {"steps": 4000}, "hidden": [8]}


def curves(engine: Browser, **setting: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = engine.told("curvesOf(...arguments)", SETTING | setting)
    assert engine.complaints() == []
    return found


def test_an_agent_learns_the_same_alone_in_workers_or_with_a_trick_that_changes_nothing(engine: Browser) -> None:
    together = curves(engine, seeds=[3, 8, 5], workers=2)
    assert {seed: rows[-1]["active"] for seed, rows in together.items()} == {"3": False, "5": False, "8": False}
    assert together["3"] != together["5"] != together["8"] != together["3"]
    for seed in (3, 5, 8):
        assert curves(engine, seeds=[seed], workers=0) == {str(seed): together[str(seed)]}
    same: dict[str, Any] = {"seeds": [3], "numbers": {"steps": 4000, "max_grad_norm": 1e9}}
    assert curves(engine, **same, tricks=["baseline", "reuse", "clip", "grad_clip"]) == curves(engine, **same)


def test_the_watched_agent_shows_its_lane_its_ratios_and_its_lines(engine: Browser) -> None:
    found = engine.told("watched(...arguments)", SETTING | {"seeds": 2, "workers": 2})
    agent, states, actions, first, ratios, size, phases = found
    assert (agent, first, size) == (1, 0, 4)
    assert states == actions > 100
    assert 8 * 128 / 4 <= ratios < 2 * 8 * 128 / 4
    assert phases[:2] == [["play_episodes", 0, None], ["reward_to_go", 0, states]]
    assert [k for phase, k, _ in phases if phase == "clipped_surrogate"] == list(range(1, 17))


def test_memory_stays_flat(engine: Browser) -> None:
    """Of what all flags need, nothing is left behind by an update but a row, which the page gets."""
    numbers = {"steps": 1e9, "lanes": 2, "horizon": 16, "epochs": 1, "target_kl": 10}
    setting = SETTING | {"tricks": VALUES.on, "numbers": numbers, "seeds": 2, "workers": 0}
    engine.run("begun(arguments[0])", setting)
    sizes = []  # bytes, once everything is compiled and later
    for count in (1000, 3000):
        engine.told("after(...arguments)", count)
        engine.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        used = engine.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
        sizes.append(used["usedSize"] + used.get("backingStorageSize", 0))
    engine.run("run.stop()")
    assert sizes[1] - sizes[0] < 250_000  # one number for each row of experience would be 500,000


def test_an_impossible_setting_says_what_is_missing(engine: Browser) -> None:
    make = "return fault(() => new Playground.Session(arguments[0]))"
    close = "return fault(() => Playground.closed(arguments[0]).join())"
    faults: dict[str, dict[str, Any]] = {
        "clip needs reuse; popart needs return_norm": {"tricks": ["clip", "popart"]},
        f"unknown trick magic; there are {', '.join(offered())}": {"tricks": ["magic"]},
        "unknown world Chess; ": {"world": "Chess"},
        "unknown number learning_rate; ": {"numbers": {"learning_rate": 1}},
        "an objective of your own takes the place of clip's": {"tricks": ["reuse"], "swaps": {"objective": "ratio"}},
        "an advantage of your own takes the place of advantage_norm's": {"swaps": {"advantage": "mean"}},
        "`ration` is not a name here": {"swaps": {"objective": "ration"}},
        f"unknown fault magic; there are {', '.join(FAULTS)}": {"swaps": {"fault": "magic"}},
    }
    for said, given in faults.items():
        assert engine.run(make, SETTING | given).startswith(said)
    assert engine.run(close, ["magic"]).startswith("unknown trick magic; ")
    assert engine.run(close, ["popart", "clip"]) == "baseline,reuse,clip,return_norm,popart"


LENGTH = 60  # steps; in so many, a pole magnifies what rounding does a hundredfold
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
        shown = None if world.demonstrate is None else world.demonstrate(state)[0, 0].tolist()
        state, reward, terminated = world.dynamics(state, torch.tensor([[action]]), chance)
        seen = {"obs": obs.tolist(), "legal": None if legal is None else legal[0, 0].int().tolist(), "shown": shown}
        score = float(world.score(state, reward))
        steps.append(seen | {"reward": float(reward), "score": score, "over": bool(terminated), "action": action})
        if terminated:
            break
    actions = [step.pop("action") for step in steps]
    return starting.tolist(), actions, chances.tolist(), steps


def test_a_trajectory_in_every_world_is_the_library_s(engine: Browser) -> None:
    for id, seed in product(engine.run("return Object.keys(Playground.WORLDS)"), range(4)):
        *given, steps = trajectory(WORLDS[id], seed)
        made = engine.run("return trajectory(...arguments)", id, *given)
        for mine, theirs in zip(made, steps, strict=True):
            assert (mine["terminated"], mine["legal"]) == (theirs["over"], theirs["legal"])
            paid = mine["reward"], mine.get("score", mine["reward"])
            assert paid == pytest.approx((theirs["reward"], theirs["score"]), rel=1e-6, abs=1e-6)
            assert mine["obs"] == pytest.approx(theirs["obs"], rel=1e-3, abs=1e-4)
            assert mine["shown"] == (theirs["shown"] and pytest.approx(theirs["shown"], rel=1e-5))


def test_there_are_the_library_s_worlds_and_a_phase_is_a_function_that_the_listing_calls(engine: Browser) -> None:
    made = engine.run("return Object.values(Playground.WORLDS).map((w) => [w.id, w.features, w.actions, w.limit])")
    theirs = [(id, WORLDS[id]) for id, *_ in made]
    sizes = [[id, prod(w.observation.shape or ()), int(w.action.n), w.time_limit] for id, w in theirs]  # type: ignore[attr-defined]
    assert len(made) > 40 and made == sizes
    for tricks in (REINFORCE, VALUES, REPLIES):
        phases = set(engine.run("return phases(arguments[0])", tricks.on))
        assert {name for name in phases if f"{name}(" not in str(listing(tricks))} == set()
        assert len(phases) >= {REINFORCE: 3, VALUES: 15, REPLIES: 10}[tricks]


@pytest.mark.parametrize("id", PLAYED)
def test_rollouts_of_whole_episodes_are_whole_and_large_enough(engine: Browser, id: str) -> None:
    for made in engine.run("return rollouts(...arguments)", False, id):
        assert made["rows"] >= 3 * 40
        ends = dict(zip(made["lane"], made["done"], strict=True))  # each lane's last row
        assert ends == {0: 1, 1: 1, 2: 1}
        assert sum(made["done"]) == len(made["games"]) == made["told"]["episodes"]
        assert sum(game["length"] for game in made["games"]) == made["rows"] and sum(made["cut"]) == 0
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


def test_chances_are_the_policy_s_orders_as_likely_and_streams_apart(engine: Browser) -> None:
    logits = np.array([0.0, 1.0, -1e30, -1.0])
    found = engine.run("return actions(...arguments)", "tricks/Grid0-v0", logits.tolist(), 50)
    assert len({tuple(rollout) for rollout in found}) == len(found)
    taken = np.concatenate(found)
    share, expected = np.bincount(taken, minlength=4) / len(taken), np.exp(logits) / np.exp(logits).sum()
    assert share[2] == 0 and (abs(share - expected) <= 4 * np.sqrt(expected * (1 - expected) / len(taken))).all()
    found = engine.run("return chances(6000)")
    orders, counts = np.unique(found["orders"], return_counts=True)
    assert len(orders) == 6
    assert (abs(counts - 1000) < 4 * (6000 * 5 / 36) ** 0.5).all()
    numbers = np.array(found["numbers"])
    assert all(kstest(stream, "uniform").pvalue > 1e-3 for stream in numbers)
    assert (abs(np.corrcoef(numbers) - np.eye(4)) < 4 / 6000**0.5).all()


@pytest.mark.parametrize("lr", [1e154, 1e200])  # the gradient's norm is infinite, and NaN
def test_an_agent_whose_gradient_is_not_finite_ends(engine: Browser, lr: float) -> None:
    rows = engine.run("return curve('CartPole-v1', { baseline: true }, arguments[0])", {"lr": lr, "steps": 9000})
    assert [row["diverged"] for row in rows] == [False] * (len(rows) - 1) + [True] and not rows[-1]["active"]
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
                assert 0.7 * limit < max(map(abs, weight)) <= limit and 0 < max(map(abs, bias)) <= limit
