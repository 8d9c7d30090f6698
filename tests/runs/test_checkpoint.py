"""Interrupted and resumed, a run is the run that nothing interrupted."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from support.fixtures import Capture, Patch, refusal
from support.training import SMALL, UNMASKED, WHOLE_EPISODES, Power, fail, interrupted, same

from tricks import ATARI, EVERY, PPO, REINFORCE, Checkpoints, named, resume, train
from tricks.core.rollout import Player, Rollout
from tricks.fast.dispatch import plain
from tricks.runs import checkpoint, files

WORLDS = ["CartPole-v1", "Pendulum-v1", *(f"tricks/{id}-v0" for id in ("Trading", "CartPoleJump", "Commute", "Sums"))]
KINDS = {
    "ppo": PPO,
    "every": EVERY,
    "reinforce": REINFORCE,
    "whole": replace(EVERY, segments=False),
    "ppg_buffers": named("ppg_buffers"),
    "atari": ATARI,
    "two optimizers": named("ppg+separate_optimizers+kl_stop"),
    "reference": named("kl_penalty"),
}
PAIRS = [  # what an environment keeps and what a trick keeps are saved apart, so each is seen once; all pairs are slow
    pytest.param(env, kind, marks=() if env == WORLDS[0] or kind in ("every", "whole") else pytest.mark.slow)
    for env in WORLDS
    for kind in KINDS
]
HERE = Path("x")


@pytest.mark.parametrize(("env", "kind"), PAIRS)
def test_a_resumed_run_is_to_the_bit_the_run_that_nothing_interrupted(env: str, kind: str, monkeypatch: Patch) -> None:
    tricks = KINDS[kind]
    if env != "tricks/Trading-v0":  # the others have no illegal actions
        tricks = replace(tricks, action_mask=False)
    every = 1 if kind == "two optimizers" else SMALL.aux_every  # that phase's has taken steps before the interruption
    config = replace(SMALL, env=env, aux_every=every)
    interrupted(HERE, config, tricks, 2, monkeypatch)
    same(resume(HERE), train(config, tricks))


def test_a_run_may_be_interrupted_many_times_in_the_middle_of_a_block_of_chance(monkeypatch: Patch) -> None:
    def write_and_fail(path: Path, content: bytes) -> None:
        files.write_whole(path, content)
        fail()

    config = replace(SMALL, env="tricks/CartPoleShocks-v0", horizon=37, steps=2000)  # 37 divides no block of 256
    interrupted(HERE, config, UNMASKED, 3, monkeypatch)
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "write_whole", write_and_fail)
            with pytest.raises(Power):
                resume(HERE)
    assert 2 * 256 < checkpoint.read(HERE).step < 2000
    same(resume(HERE), train(config, UNMASKED))


def test_a_seed_that_diverged_or_is_done_stays_so(monkeypatch: Patch) -> None:
    config = replace(SMALL, lr=(1e38, 0.003))
    interrupted(HERE, config, WHOLE_EPISODES, 3, monkeypatch)
    run = resume(HERE)
    assert set(run.diverged) == {3}
    same(run, train(config, WHOLE_EPISODES))


def test_checkpoints_change_nothing_and_are_written_when_they_are_due() -> None:
    written: list[int] = []

    class Watched(Checkpoints):
        def end_update(self, steps: torch.Tensor) -> None:
            super().end_update(steps)
            written.append(checkpoint.read(HERE).step if (HERE / "checkpoint.pt").exists() else 0)

    config = replace(SMALL, env="Pendulum-v1")  # whose episodes have 200 steps: 100 a segment, until then
    same(train(config, PPO, checkpoints=Watched(HERE, 150)), train(config, PPO))
    assert written[:4] == [0, 200, 300, 300]


@pytest.mark.parametrize("backend", ["gymnasium", "envpool"])
@plain()  # since what is replaced here would be a remark
def test_environments_that_cannot_resume_begin_new_episodes(backend: str, monkeypatch: Patch, capsys: Capture) -> None:
    if backend == "envpool":
        pytest.importorskip("envpool")
    rolled, first = Player.rollout, list[np.ndarray]()

    def rollout(player: Player) -> Rollout:
        played = rolled(player)
        first.append(played.obs[:, 0].cpu().numpy())
        return played

    config = replace(SMALL, backend=backend)
    interrupted(HERE, config, PPO, 2, monkeypatch)
    monkeypatch.setattr(Player, "rollout", rollout)
    run = resume(HERE)
    assert capsys.readouterr().err == "CartPole-v1 cannot resume in mid-episode: every lane starts a new one\n"
    assert run.curve.groupby("seed").step.max().min() >= config.steps
    resumed = first[0]
    first.clear()
    whole = train(config, PPO).curve
    assert np.abs(resumed).max() <= 0.05  # an episode's beginning
    assert not np.isin(resumed, first[0]).any()  # not one of those that the run began with
    before, as_it_was = (curve[curve.step <= 400] for curve in (run.curve, whole))
    pd.testing.assert_frame_equal(before, as_it_was, check_exact=True)


def test_what_was_open_does_not_count_where_episodes_begin_anew(monkeypatch: Patch) -> None:
    interrupted(HERE, replace(SMALL, env="Pendulum-v1", backend="gymnasium"), PPO, 1, monkeypatch)
    assert checkpoint.read(HERE).parts["log"]["open"][..., 1].tolist() == [[100, 100], [100, 100]]
    assert set(resume(HERE).curve["length"].dropna()) == {200}  # and not 300 of the first


def test_a_file_is_written_whole_or_not_at_all(monkeypatch: Patch) -> None:
    files.write_whole(HERE, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: fail())
        with pytest.raises(Power):
            files.write_whole(HERE, b"new")
    assert HERE.read_bytes() == b"old"
    if Path("/dev/full").exists():
        files.partial_path(HERE).symlink_to("/dev/full")
        refusal(r"^cannot write x: No space left on device$", files.write_whole, HERE, b"new")
        assert HERE.read_bytes() == b"old"
