"""What one seed's environment does wrong is that seed's."""

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import pandas as pd
import pytest
import torch
from support.misbehaving import Misbehaving, Scripted, second_seed
from support.probes import Endless

from tricks import PPO, REINFORCE, Checkpoints, Config, Evaluation, InputError, Tricks, load, resume, train
from tricks.core.adam import Adam
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.ladder import closed, switched

CONFIG = Config(env="own", seeds=(3, 8), steps=200, lanes=2, horizon=16, hidden=(8,), episode_limit=60)
WAYS = {
    "obs": "the observation is not finite",
    "reward": "the reward is not finite",
    "nothing is legal": "the action mask leaves no legal action",
}


def test_a_seed_whose_environment_fails_is_marked_and_the_others_go_on(discrete_setting: Tricks) -> None:
    failing = dict(zip((8, 9, 10), WAYS.values(), strict=True))
    hows = iter([how for how in ("well", *WAYS) for _ in range(CONFIG.lanes)])
    run = train(replace(CONFIG, seeds=(3, *failing)), discrete_setting, env=lambda: Misbehaving(next(hows)))
    assert sorted(run.diverged) == sorted(run.reasons) == [*failing]
    assert run.curve[run.curve.seed == 3].step.max() >= 200
    assert all(p.isfinite().all() for p in run.agent.parameters())
    for seed, reason in failing.items():
        assert re.fullmatch(rf"{reason} \(seed {seed}, step \d+ of rollout 0\)", run.reasons[seed])
        last = run.curve[run.curve.seed == seed].iloc[-1]
        assert (last.step, last.episodes) == (run.diverged[seed], 0)
        assert last[["return", "policy_loss", "grad_norm", "entropy"]].isna().all()


@pytest.mark.parametrize("how", [*WAYS, "endless"])
def test_the_others_learn_what_they_learn_without_it(how: str) -> None:
    tricks = switched(["baseline", "reuse", "segments"]) if how != "endless" else REINFORCE
    with_it = train(CONFIG, tricks, env=second_seed(how, lanes=2)).curve
    healthy = train(CONFIG, tricks, env=second_seed("well", lanes=2)).curve
    mine, theirs = (curve[curve.seed == 3].reset_index(drop=True) for curve in (with_it, healthy))
    pd.testing.assert_frame_equal(mine, theirs, rtol=1e-4, atol=1e-6)
    assert mine.step.max() >= 200


@pytest.mark.parametrize("how", [*WAYS, "endless"])
def test_if_every_environment_fails_that_is_an_error(how: str) -> None:
    said = WAYS.get(how, "an episode has not ended after 60 steps").replace("seed 8", "seed 3")
    with pytest.raises(InputError, match=rf"^own: {said}"):
        train(CONFIG, REINFORCE, env=lambda: Misbehaving(how))


def test_the_reason_survives_saving_and_resuming(tmp_path: Path) -> None:
    make = second_seed("reward", lanes=2)
    run = train(CONFIG, PPO, env=make, checkpoints=Checkpoints(tmp_path, every=100))
    resumed = resume(tmp_path, env=lambda: Misbehaving())
    assert resumed.reasons == run.reasons
    resumed.save(tmp_path)
    again = load(tmp_path, env=make)
    assert again.reasons == run.reasons
    assert again.only(8).reasons == run.reasons
    assert again.only(3).reasons == {}


def test_a_rollout_without_experience_moves_nothing(monkeypatch: pytest.MonkeyPatch, discrete_setting: Tricks) -> None:
    """With one-step episodes and segments of one row, every second rollout only resets."""
    moved, step = list[bool](), Adam.step

    def watching(self: Adam, gradient: torch.Tensor, learning_rate: torch.Tensor, moving: torch.Tensor) -> None:
        moved.append(bool(moving.any()))
        step(self, gradient, learning_rate, moving)

    monkeypatch.setattr(Adam, "step", watching)
    tricks = switched(closed([*discrete_setting.on, "segments"]))
    one = Config("Endless-v0", seeds=2, lanes=3, horizon=1, steps=9, epochs=1, minibatches=1, aux_every=100)
    run = train(one, tricks)
    expected = [True, False, True, False, True]
    each = 2 if tricks.separate_optimizers else 1  # steps on a minibatch: the value net's, then the policy's
    assert len(moved) == each * len(expected)
    for found in (moved[::each], moved[each - 1 :: each]):
        assert found == expected if not tricks.ppg_buffers else found[::2] == expected[::2]
    assert run.curve.groupby("update").step.first().tolist() == [3, 3, 6, 6, 9]


@pytest.mark.parametrize("horizon", [2, 16, 128])
def test_an_episode_as_long_as_the_limit_is_played_and_a_longer_one_is_a_fault_everywhere(horizon: int) -> None:
    def spun(length: int) -> Callable[[], gym.Env]:
        return lambda: gym.wrappers.TimeLimit(Endless(), length)

    config = replace(CONFIG, seeds=1, steps=1, horizon=horizon, episode_limit=20)
    run = train(config, REINFORCE, env=spun(20))
    assert run.curve.length.tolist() == [20]
    assert set(run.evaluate(3)[0]) == {20}
    endless = r"^own: an episode has not ended after 20 steps; --episode-limit raises that limit \(seed 0\)$"
    with pytest.raises(InputError, match=endless):
        train(config, REINFORCE, env=spun(21))
    with pytest.raises(InputError, match=endless):
        replace(run, env=spun(21)).evaluate(3)
    segments = switched(["baseline", "segments"])  # where no whole episode is played, the limit means nothing
    assert train(replace(config, steps=900), segments, env=spun(21)).curve.length.max() == 21


def test_one_episode_over_the_limit_stops_its_seed_in_whatever_lane_and_wherever_it_began() -> None:
    lengths = itertools.cycle([[3, 3], [3, 3], [3, 3], [3, 6, 3, 3, 3, 3]])  # two lanes of two seeds
    made = (gym.wrappers.TimeLimit(Scripted(script), 100) for script in lengths)
    config = replace(CONFIG, steps=8, episode_limit=5)
    run = train(config, REINFORCE, env=lambda: next(made))
    assert run.diverged == {8: 0}
    assert run.reasons[8].startswith("an episode has not ended after 5 steps")
    assert run.curve[run.curve.seed == 3].length.tolist() == [3]


def test_the_limit_is_for_games_where_a_life_ends_the_episode() -> None:
    config = Config("ThreeLives-v0", seeds=1, lanes=2, steps=1, horizon=4, life_ends=True, episode_limit=12)
    assert train(config, REINFORCE).curve.length.tolist() == [12]
    with pytest.raises(InputError, match="an episode has not ended after 11 steps"):
        train(replace(config, episode_limit=11), REINFORCE)


def test_a_fault_is_found_in_the_step_in_which_it_was_though_the_rollout_comes_in_parts() -> None:
    player, everyone = Player(make_env(CONFIG, make=lambda: Misbehaving("reward", well=5)), block=4), torch.ones(2, 2)
    for step in range(7):  # an episode of five steps, a reset, and the sixth
        player.step(lambda obs, legal: torch.zeros(2, 2, 2), everyone.bool())
        if step == 3:
            assert player.rollout(last=False).faults == {}
    with pytest.raises(InputError, match=r"own: the reward is not finite \(seed 3, step 6 of rollout 0\)"):
        player.rollout(last=False)


def test_an_evaluation_fails_for_the_seed_whose_environment_does(capsys: pytest.CaptureFixture[str]) -> None:
    made = itertools.count()

    def make() -> Misbehaving:
        k = next(made) - 5  # 4 environments to train in, 1 to reset twice, then 4 for each evaluation, by seed
        return Misbehaving("endless" if k >= 0 and k % 4 >= 2 else "well", well=0)

    run = train(CONFIG, PPO, env=make, evaluation=Evaluation(100, 2))
    judged = run.curve.dropna(subset="eval_return")
    assert set(judged.seed) == {3}
    assert set(judged.eval_return) == {5.0}
    assert run.diverged == {}
    assert "an evaluation failed: own: an episode has not ended after 60 steps" in (said := capsys.readouterr().err)
    assert "(seed 8)" in said
    assert "seed 3" not in said
    with pytest.raises(InputError, match=r"^own: an episode has not ended after 60 steps; .* \(seed 8\)"):
        run.evaluate(2)


def test_a_game_without_end_is_an_error_after_training_and_a_line_during_it(capsys: pytest.CaptureFixture[str]) -> None:
    run = train(CONFIG, PPO, env=lambda: Misbehaving("endless", well=0), evaluation=Evaluation(100, 2))
    assert run.curve.eval_return.isna().all()
    assert "an evaluation failed: own: an episode has not ended after 60 steps" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"^own: an episode has not ended after 60 steps; --episode-limit raises"):
        run.evaluate(2)
