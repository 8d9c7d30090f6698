"""The laws of every trick alone and every preset: each seed's numbers, faults, and states are its own."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from support.fixtures import Capture, Patch, refusal
from support.misbehaving import Misbehaving, second_seed
from support.probes import Endless
from support.training import UNMASKED, spied
from torch import Tensor, nn

import tricks.loop as loop
from tricks import Checkpoints, Config, Evaluation, Run, further, load, resume, train
from tricks.config import PerSeed
from tricks.core.adam import Adam
from tricks.core.owners import owned, owners_of
from tricks.core.rollout import Batch, Player, find_faults
from tricks.envs.make import make_env
from tricks.fast.dispatch import plain
from tricks.ladder import CLEANRL, EXCLUDES, GRPO, PPG, PPO, REINFORCE, Tricks, closed, named, switched
from tricks.loop import build_agent
from tricks.ppg import AuxiliaryPhase, auxiliary_errors
from tricks.runs import checkpoint
from tricks.runs.checkpoint import State
from tricks.runs.files import LAST
from tricks.runs.log import added_up
from tricks.training import take_over_

SMALL = Config(env="ShortCartPole-v0", seeds=(3,), steps=400, lanes=4, horizon=16, lr=0.003, group=2)


def curve_of(run: Run, seed: int) -> pd.DataFrame:
    return run.curve[run.curve.seed == seed].reset_index(drop=True)


def identical(one: Run, other: Run) -> None:
    """The same curve and the same tensors, to the bit, of the seeds that `one` has."""
    for seed in one.config.seed_list:
        pd.testing.assert_frame_equal(curve_of(one, seed), curve_of(other, seed), check_exact=True)
        a, b = (run.only(seed).agent.state_dict() for run in (one, other))
        assert all(torch.equal(x, b[name]) for name, x in a.items())


def test_the_first_ratio_is_one_and_a_seed_in_a_stack_equals_the_seed_alone(setting: Tricks, home: str) -> None:
    small = replace(SMALL, env=home)
    identical(train(small, setting), train(replace(small, seeds=(8, 3, 5)), setting))
    if any("reuse" in EXCLUDES[name] for name in setting.on):
        return
    once = replace(SMALL, env=home, seeds=2, epochs=1, value_epochs=1, minibatches=1, policy_rollouts=1)
    curve = train(once, switched(sorted({*setting.on, "reuse"}))).curve.dropna(subset="policy_loss")  # it has rows
    np.testing.assert_allclose(curve["max_ratio"], 1, atol=1e-5)
    np.testing.assert_allclose(curve["approx_kl"], 0, atol=1e-6)


MANY = Config(seeds=2, lanes=2, horizon=25, steps=220, hidden=(5,), epochs=2, minibatches=2, aux_every=2, aux_epochs=1)
NUMBERS = {"clip_range": 0.13, "adam_eps": 3e-4, "obs_decay": 0.3, "target_kl": 0.0123, "dual_clip_limit": 1.07}
NUMBERS |= {"max_grad_norm": 0.037, "max_value_grad_norm": 0.21, "huber_delta": 0.11, "lr": 3e-3}
PER_SEED = [field.name for field in fields(Config) if field.type == PerSeed]
STOPPING = named("ppg+separate_optimizers+kl_stop+state_norm+dual_clip+huber")
OF_STOPPING = ("max_value_grad_norm", "value_lr_factor", "target_kl", "clone_coef")
WHOLE = replace(PPO, huber=True, dual_clip=True, state_norm=True, value_clip=True, return_norm=True, kl_stop=True)

FORMS = [
    pytest.param(name, tricks, form, id=f"{name}-{kind}-{form}", marks=[] if usual else [pytest.mark.slow])
    for kind, tricks in (("every", UNMASKED), ("whole", WHOLE), ("stopping", STOPPING))
    for name in PER_SEED
    for usual in [kind == "every" or (kind == "stopping" and name in OF_STOPPING)]
    for form in ("compiled", "plain")
]


@pytest.mark.parametrize(("name", "tricks", "form"), FORMS)
def test_one_number_for_all_seeds_is_the_same_number_for_each(name: str, tricks: Tricks, form: str) -> None:
    number: Any = NUMBERS.get(name, 0.3)
    with plain() if form == "plain" else nullcontext():
        runs = [train(Config(**vars(MANY) | {name: given}), tricks) for given in (number, (number, number))]
    identical(*runs)


SIZES = (1, 3, 5, 7, 17)
KINDS: dict[str, tuple[str, Tricks]] = {
    "discrete": ("CartPole-v1", PPO),
    "box": ("Pendulum-v1", PPO),
    "squash": ("Pendulum-v1", named("squash")),
    "reinforce": ("CartPole-v1", REINFORCE),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_of_any_size_of_net_is_the_same_alone_and_evaluated(kind: str, size: int) -> None:
    env, tricks = KINDS[kind]
    numbers: dict[str, Any] = {"env": env, "hidden": (size, size), "seeds": (8, 3, 5)}
    config = replace(MANY, **numbers, log_std_init=(-0.3, 0.0, 0.4), value_coef=(0.3, 0.7, 0.1), obs_decay=0.3)
    evaluation = Evaluation(100, 3)
    stacked = train(config, tricks, evaluation=evaluation)
    identical(train(config.only(1), tricks, evaluation=evaluation), stacked)


FEW = Config("ShortCartPole-v0", seeds=2, steps=1, lanes=4, horizon=16, hidden=(8,), epochs=2, value_epochs=2)
FIRST = torch.tensor([[True], [False]])


@pytest.fixture
def moved(monkeypatch: Patch) -> list[list[bool]]:
    return spied(monkeypatch, Adam, "step", lambda adam, gradient, rate, moving: moving.tolist())


@pytest.mark.parametrize(
    ("dealer", "tricks", "optimizers", "both"),
    [
        ("minibatches", PPO, 1, True),
        ("epochs_of_each_net", named("separate_optimizers"), 2, True),
        ("minibatches", PPG, 1, True),
        ("dealt_apart", named("ppg_buffers"), 1, True),
        ("dealt_apart", named("ppg_buffers"), 1, False),  # with buffers, rows of either net are enough
    ],
)
def test_a_seed_without_rows_takes_no_step(
    dealer: str, tricks: Tricks, optimizers: int, both: bool, moved: list[list[bool]], monkeypatch: Patch
) -> None:
    """both: also drop its rows from the value net's buffer, of which otherwise only the first row is dropped."""
    owner = AuxiliaryPhase if dealer == "minibatches" and tricks.ppg else loop
    deal, emptied = getattr(owner, dealer), 0

    def some_empty(*given: Any) -> Iterator[Batch]:
        nonlocal emptied
        for k, b in enumerate(deal(*given)):
            if k % 2:
                emptied += 1
                b.valid = b.valid & FIRST
                if tricks.ppg_buffers:
                    rows = torch.arange(b.value_rows.valid.shape[1]) > 0
                    b.value_rows.valid = b.value_rows.valid & (FIRST if both else rows)
            yield b

    monkeypatch.setattr(owner, dealer, some_empty)
    train(replace(FEW, aux_every=1 if owner is not loop else 100), tricks)
    assert emptied > 2 and moved.count([True, False]) == optimizers * emptied * both
    assert moved.count([True, True]) == len(moved) - optimizers * emptied * both


def test_an_infinite_auxiliary_loss_ends_its_own_seed(moved: list[list[bool]], monkeypatch: Patch) -> None:
    def infinite(*given: Any) -> tuple[Tensor, ...]:
        return tuple(error * torch.where(FIRST, 1.0, torch.inf) for error in auxiliary_errors(*given))

    monkeypatch.setattr(loop, "auxiliary_errors", infinite)
    run = train(replace(FEW, steps=300, aux_every=2, aux_epochs=1), PPG)
    assert [True, False] in moved and all(first for first, _ in moved)
    assert list(run.diverged) == [1] and all(p.isfinite().all() for p in run.agent.parameters())
    assert run.curve[run.curve.seed == 1]["update"].max() == 1
    assert run.curve[run.curve.seed == 0].step.max() >= 300


FAILING = Config(env="own", seeds=(3, 8), steps=200, lanes=2, horizon=16, hidden=(8,), episode_limit=60)
FAILING = replace(FAILING, group=2, minibatches=2)
WAYS = {"obs": "the observation is not finite", "reward": "the reward is not finite"}
WAYS["nothing is legal"] = "the action mask leaves no legal action"


def test_a_seed_whose_environment_fails_is_marked_and_the_others_go_on(discrete_setting: Tricks) -> None:
    failing = dict(zip((8, 9, 10), WAYS.values(), strict=True))
    hows = iter([how for how in ("well", *WAYS) for _ in range(FAILING.lanes)])
    run = train(replace(FAILING, seeds=(3, *failing)), discrete_setting, env=lambda: Misbehaving(next(hows)))
    assert sorted(run.diverged) == sorted(run.reasons) == [*failing]
    assert run.curve[run.curve.seed == 3].step.max() >= 200
    assert all(p.isfinite().all() for p in run.agent.parameters())
    for seed, reason in failing.items():
        assert re.fullmatch(rf"{reason} \(seed {seed}, step \d+ of rollout \d\)", run.reasons[seed])
        last = run.curve[run.curve.seed == seed].iloc[-1]
        assert (last.step, last.episodes) == (run.diverged[seed], 0)
        assert last[["return", "policy_loss", "grad_norm", "entropy"]].isna().all()


@pytest.mark.parametrize("how", [*WAYS, "endless"])
def test_the_others_learn_what_they_learn_without_it_and_none_is_an_error(how: str) -> None:
    tricks = switched(["baseline", "reuse", "segments"]) if how != "endless" else REINFORCE
    mine, theirs = (curve_of(train(FAILING, tricks, env=second_seed(x, lanes=2)), 3) for x in (how, "well"))
    pd.testing.assert_frame_equal(mine, theirs, rtol=1e-4, atol=1e-6)
    assert mine.step.max() >= 200
    said = WAYS.get(how, "an episode has not ended after 60 steps").replace("seed 8", "seed 3")
    refusal(rf"^own: {said}", train, FAILING, REINFORCE, env=lambda: Misbehaving(how))


def test_the_reason_survives_saving_and_resuming(tmp_path: Path) -> None:
    make = second_seed("reward", lanes=2)
    run = train(FAILING, PPO, env=make, checkpoints=Checkpoints(tmp_path, every=100))
    resumed = resume(tmp_path, env=lambda: Misbehaving())
    assert resumed.reasons == run.reasons
    resumed.save(tmp_path)
    again = load(tmp_path, env=make)
    assert again.reasons == run.reasons and again.only(8).reasons == run.reasons and again.only(3).reasons == {}


def test_a_rollout_without_experience_moves_nothing(moved: list[list[bool]], discrete_setting: Tricks) -> None:
    """With one-step episodes and segments of one row, every second rollout only resets."""
    if discrete_setting.group_baseline:
        pytest.skip("no segments: every rollout holds whole replies")
    tricks = switched(closed([*discrete_setting.on, "segments"]))
    one = Config("Endless-v0", seeds=2, lanes=3, horizon=1, steps=9, epochs=1, minibatches=1, aux_every=100)
    run = train(one, tricks)
    expected = [True, False, True, False, True]
    each = 2 if tricks.separate_optimizers else 1  # steps on a minibatch: the value net's, then the policy's
    assert len(moved) == each * len(expected)
    steps = [any(seeds) for seeds in moved]
    for found in (steps[::each], steps[each - 1 :: each]):
        assert found == expected if not tricks.ppg_buffers else found[::2] == expected[::2]
    assert run.curve.groupby("update").step.first().tolist() == [3, 3, 6, 6, 9]


@pytest.mark.parametrize("horizon", [2, 16, 128])
def test_an_episode_as_long_as_the_limit_is_played_and_a_longer_one_is_a_fault_everywhere(horizon: int) -> None:
    def spun(length: int) -> Callable[[], gym.Env]:
        return lambda: gym.wrappers.TimeLimit(Endless(), length)

    config = replace(FAILING, seeds=1, steps=1, horizon=horizon, episode_limit=20)
    run = train(config, REINFORCE, env=spun(20))
    assert run.curve.length.tolist() == [20] and set(run.evaluate(3)[0]) == {20}
    endless = r"^own: an episode has not ended after 20 steps; --episode-limit raises that limit \(seed 0\)$"
    refusal(endless, train, config, REINFORCE, env=spun(21))
    refusal(endless, replace(run, env=spun(21)).evaluate, 3)
    segments = switched(["baseline", "segments"])  # where no whole episode is played, the limit means nothing
    assert train(replace(config, steps=900), segments, env=spun(21)).curve.length.max() == 21


def test_a_life_does_not_begin_the_limit_of_an_episode_anew() -> None:
    config = Config("ThreeLives-v0", seeds=1, lanes=2, steps=1, horizon=4, life_ends=True, episode_limit=12)
    assert train(config, REINFORCE).curve.length.tolist() == [12]
    refusal("an episode has not ended after 11 steps", train, replace(config, episode_limit=11), REINFORCE)


def test_a_fault_is_found_in_the_step_in_which_it_was_though_the_rollout_comes_in_parts() -> None:
    player, everyone = Player(make_env(FAILING, make=lambda: Misbehaving("reward", well=5)), block=4), torch.ones(2, 2)
    for step in range(7):  # an episode of five steps, a reset, and the sixth
        player.step(lambda obs, legal: torch.zeros(2, 2, 2), everyone.bool())
        if step == 3:
            assert player.rollout(last=False).faults == {}
    refusal(r"own: the reward is not finite \(seed 3, step 6 of rollout 0\)", player.rollout, last=False)


def test_of_two_faults_the_earlier_is_told() -> None:
    obs, reward = torch.zeros(1, 6, 1, 2), torch.zeros(1, 5, 1)
    obs[0, 5], reward[0, 1] = torch.nan, torch.nan
    sound = torch.ones(1, 5, 1).bool()
    assert find_faults(obs, sound, reward, sound) == {0: ("the reward is not finite", 1)}


def test_what_an_update_adds_up_does_not_depend_on_rows_after_it() -> None:
    x = torch.rand(100, 333, 2, dtype=torch.float64)
    assert torch.equal(added_up(x), added_up(torch.cat([x, torch.zeros_like(x)], 1)))


def test_a_game_without_end_is_an_error_after_training_and_a_line_during_it(capsys: Capture) -> None:
    made = itertools.count()

    def make() -> Misbehaving:
        k = next(made) - 5  # 4 environments to train in, 1 to reset twice, then 4 for each evaluation, by seed
        return Misbehaving("endless" if k >= 0 and k % 4 >= 2 else "well", well=0)

    run = train(FAILING, PPO, env=make, evaluation=Evaluation(100, 2))
    judged = run.curve.dropna(subset="eval_return")
    assert set(judged.seed) == {3} and set(judged.eval_return) == {5.0}
    assert run.diverged == {}
    assert "an evaluation failed: own: an episode has not ended after 60 steps" in (said := capsys.readouterr().err)
    assert "(seed 8)" in said and "seed 3" not in said
    refusal(r"^own: an episode has not ended after 60 steps; .* \(seed 8\)", run.evaluate, 2)


OWNED = Config("CartPole-v1", seeds=(0, 1), lanes=4, horizon=16, steps=370, hidden=(8,), epochs=2, minibatches=2)
OWNED = replace(OWNED, group=2)
OWNED = replace(OWNED, recurrent_size=4, aux_every=2, aux_epochs=1, policy_rollouts=2, value_rollouts=3, value_uses=4)
LARGER = replace(OWNED, lanes=8, horizon=32, steps=1229)
KEEPING = {  # tricks that keep something from one update to the next, each with what it needs
    "plain": PPO,
    "episodes": switched(["baseline", "reuse", "reward_scaling"]),
    "recurrent": replace(PPO, recurrent=True),
    "gru": replace(PPO, recurrent=True, shared_trunk=True),
    "statistics": replace(PPO, state_norm=True, reward_scaling=True, return_norm=True, popart=True),
    "ppg": replace(PPO, ppg=True, return_norm=True, popart=True),
    "ppg_buffers": replace(CLEANRL, ppg=True, ppg_buffers=True),
    "two optimizers": replace(PPO, separate_optimizers=True, kl_stop=True),
    "reference": replace(GRPO, state_norm=True),
}
KEEPING = {name: replace(tricks, lr_anneal=False) for name, tricks in KEEPING.items()}
EACH = pytest.mark.parametrize("tricks", KEEPING.values(), ids=KEEPING)


def config_for(tricks: Tricks) -> Config:
    """A budget that one of two seeds reaches an update before the other."""
    return LARGER if tricks.ppg else replace(OWNED, recurrent_cell="gru" if tricks.shared_trunk else "lstm")


class Parts(State):
    """Sees every part of a training after each update."""

    def __init__(self) -> None:
        super().__init__()
        self.active, self.seen = list[Tensor](), list[dict[str, Tensor]]()

    def end_update(self, steps: Tensor) -> None:
        self.active.append(self._parts["log"].active.clone())
        self.seen.append({f"{name}/{k}": x.clone() for name, own in self._parts.items() for k, x in owned(own).items()})


@EACH
@pytest.mark.parametrize("why", ["finished", "diverged"])
def test_a_seed_that_waits_keeps_every_number_of_its_own(tricks: Tricks, why: str) -> None:
    parts, lr = Parts(), (1e38, 1e-3) if why == "diverged" else 1e-3
    run = train(replace(config_for(tricks), lr=lr), tricks, checkpoints=parts)
    done = next(i for i, active in enumerate(parts.active) if not active.all())
    (k,) = (~parts.active[done]).nonzero()[:, 0].tolist()
    assert len(parts.seen) > done + 1
    assert (run.config.seed_list[k] in run.diverged) is (why == "diverged")
    before, after = parts.seen[done], parts.seen[-1]
    assert {name for name, x in before.items() if not _same(x[k], after[name][k])} == set()
    assert {name for name, x in before.items() if not _same(x[1 - k], after[name][1 - k])} >= {"log/steps", "env/t"}


def _same(one: Tensor, other: Tensor) -> bool:
    return torch.equal(torch.nan_to_num(one.double(), 7e77), torch.nan_to_num(other.double(), 7e77))


def finished(folder: Path, tricks: Tricks) -> Path:
    train(config_for(tricks), tricks, checkpoints=Checkpoints(folder, every=10**6)).save(folder)
    return folder


@EACH
def test_seeds_that_finished_apart_go_on_as_each_alone_in_one_long_run(tricks: Tricks, tmp_path: Path) -> None:
    config = config_for(tricks)
    joined = further(finished(tmp_path, tricks), config.steps)
    ends = joined.curve[joined.curve.step < config.steps].groupby("seed")["update"].max()
    assert ends.nunique() == 2  # they had finished at different updates
    for seed in (0, 1):
        identical(train(replace(config, seeds=(seed,), steps=2 * config.steps), tricks), joined)


def test_they_do_so_again_and_after_an_interruption(tmp_path: Path, monkeypatch: Patch) -> None:
    tricks = KEEPING["statistics"]
    folder = finished(tmp_path, tricks)
    further(folder, 100).save(folder, overwrite=True)
    saved = checkpoint.read(folder, LAST)
    assert saved.every == 10**6

    def stop(rows: Any, agent: Any) -> None:
        if rows[0]["step"] > OWNED.steps + 200:
            raise KeyboardInterrupt

    monkeypatch.setattr("tricks.restore.read", lambda *_: replace(saved, every=1))
    with pytest.raises(KeyboardInterrupt):
        further(folder, 200, on_update=stop)
    monkeypatch.undo()
    identical(train(replace(OWNED, seeds=(1,), steps=OWNED.steps + 300), tricks), resume(folder))


@EACH
def test_a_start_takes_what_is_the_seeds_and_begins_everything_else_anew(tricks: Tricks, tmp_path: Path) -> None:
    run = train(OWNED, tricks)
    run.save(tmp_path)
    other = replace(OWNED, lanes=6, minibatches=3)
    agent = build_agent(make_env(other).spaces, other, tricks)
    fresh = {name: x.clone() for name, x in agent.state_dict().items()}
    take_over_(agent, load(tmp_path).agent)
    given, owners = run.agent.state_dict(), owners_of(agent)
    for name, x in agent.state_dict().items():
        assert torch.equal(x, given[name] if owners[name] == "seed" else fresh[name]), name


@EACH
def test_an_evaluation_in_the_middle_changes_no_number(tricks: Tricks) -> None:
    plain, judged = Parts(), Parts()
    train(OWNED, tricks, checkpoints=plain)
    run = train(OWNED, tricks, checkpoints=judged, evaluation=Evaluation(every=64, episodes=2))
    assert run.curve.eval_return.notna().sum() > 3
    for mine, theirs in zip(plain.seen, judged.seen, strict=True):
        assert [name for name, x in mine.items() if not torch.equal(x, theirs[name])] == []


def tensors(state: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, x in state.items():
        if isinstance(x, Mapping):
            yield from tensors(x, (*path, name))
        elif isinstance(x, Tensor):
            yield (*path, name)


def test_every_tensor_in_a_checkpoint_has_an_owner(setting: Tricks, home: str) -> None:
    config, parts = replace(OWNED, env=home, steps=65), Parts()
    train(config, setting, checkpoints=parts, evaluation=Evaluation(32, 1, keep_best=True))
    assert {len(x) for x in parts.seen[-1].values()} == {len(config.seed_list)}  # what is not the run's
    for name, part in parts._parts.items():
        owners = owners_of(part)
        for path in tensors(part.state_dict()):
            assert path[0] in owners, f"{name}/{'/'.join(path)}"
            listed = owners[path[0]] == "run" or not hasattr(part, "owned") or path[-1] in part.owned()
            assert listed, f"{name} does not give back {'/'.join(path)} to a seed that waits"
        for module in part.modules() if isinstance(part, nn.Module) else ():
            kept = set(module._buffers) - module._non_persistent_buffers_set
            assert kept <= getattr(module, "OWNERS", {}).keys(), f"{type(module).__name__} keeps {kept}"
