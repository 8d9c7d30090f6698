"""Interrupted and resumed, a run is the run that nothing interrupted."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from support.training import SMALL, UNMASKED, WHOLE_EPISODES, Power, fail, interrupted, same

from tricks import ATARI, EVERY, PPO, REINFORCE, Checkpoints, InputError, resume, train
from tricks.core.adam import Adam
from tricks.core.rollout import Player, Rollout
from tricks.envs.make import make_env
from tricks.ladder import named
from tricks.runs import checkpoint, files
from tricks.runs.folder import CHECKPOINT
from tricks.runs.log import Log

WORLDS = ["CartPole-v1", "Pendulum-v1", "tricks/Trading-v0", "tricks/CartPoleJump-v0", "tricks/Commute-v0"]
KINDS = {
    "ppo": PPO,
    "every": EVERY,
    "reinforce": REINFORCE,
    "whole": replace(EVERY, segments=False),
    "ppg_buffers": named("ppg_buffers"),
    "atari": ATARI,
    "two optimizers": named("ppg+separate_optimizers+kl_stop"),
}
PAIRS = [  # what an environment keeps and what a trick keeps are saved apart, so each is seen once; all pairs are slow
    pytest.param(env, kind, marks=() if env == WORLDS[0] or kind in ("every", "whole") else pytest.mark.slow)
    for env in WORLDS
    for kind in KINDS
]


@pytest.mark.parametrize(("env", "kind"), PAIRS)
def test_a_resumed_run_is_to_the_bit_the_run_that_nothing_interrupted(
    env: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tricks = KINDS[kind]
    if env != "tricks/Trading-v0":  # the others have no illegal actions
        tricks = replace(tricks, action_mask=False)
    config = replace(SMALL, env=env)
    interrupted(tmp_path, config, tricks, 2, monkeypatch)
    same(resume(tmp_path), train(config, tricks))


def test_the_auxiliary_phases_optimizer_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(SMALL, aux_every=1)  # so that it has taken steps before the interruption
    interrupted(tmp_path, config, named("ppg"), 2, monkeypatch)
    same(resume(tmp_path), train(config, named("ppg")))


def write_and_fail(path: Path, content: bytes) -> None:
    files.write_whole(path, content)
    fail()


def test_a_run_may_be_interrupted_many_times_in_the_middle_of_a_block_of_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, env="tricks/CartPoleShocks-v0", horizon=37, steps=2000)  # 37 divides no block of 256
    interrupted(tmp_path, config, UNMASKED, 3, monkeypatch)
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "write_whole", write_and_fail)
            with pytest.raises(Power):
                resume(tmp_path)
    assert 2 * 256 < checkpoint.read(tmp_path).step < 2000
    same(resume(tmp_path), train(config, UNMASKED))


def test_a_seed_that_diverged_or_is_done_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(SMALL, lr=(1e38, 0.003))
    interrupted(tmp_path, config, WHOLE_EPISODES, 3, monkeypatch)
    run = resume(tmp_path)
    assert set(run.diverged) == {3}
    same(run, train(config, WHOLE_EPISODES))


def test_checkpoints_change_nothing_and_are_written_when_they_are_due(tmp_path: Path) -> None:
    written: list[int] = []

    class Watched(Checkpoints):
        def end_update(self, steps: torch.Tensor) -> None:
            super().end_update(steps)
            written.append(checkpoint.read(tmp_path).step if (tmp_path / CHECKPOINT).exists() else 0)

    config = replace(SMALL, env="Pendulum-v1")  # whose episodes have 200 steps: 100 a segment, until then
    same(train(config, PPO, checkpoints=Watched(tmp_path, 150)), train(config, PPO))
    assert written[:4] == [0, 200, 300, 300]


class Counter:
    """A part that a trick might keep between updates."""

    def __init__(self) -> None:
        self.seen = torch.zeros(2)

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen.copy_(state["seen"])


def test_a_part_of_any_kind_is_kept_under_its_name(tmp_path: Path) -> None:
    keep, counter = Checkpoints(tmp_path, 10), Counter()
    keep.begin(SMALL, PPO, log=Log(SMALL), env=make_env(SMALL))
    keep.add(counter=counter)
    counter.seen += 7
    keep.end_update(torch.tensor([3, 12]))
    counter.seen += 1
    again, other = Checkpoints(tmp_path, 10, checkpoint.read(tmp_path)), Counter()
    again.begin(SMALL, PPO, log=Log(SMALL), env=make_env(SMALL))
    again.add(counter=other)
    assert other.seen.tolist() == [7, 7]
    with pytest.raises(InputError, match=r"no part 'absent': another version"):
        again.add(absent=other)


def test_adam_goes_on_with_its_moments() -> None:
    def steps(adam: Adam, count: int) -> None:
        for k in range(count):
            adam.step(torch.tensor([[1.0, -2.0 + k]]), torch.tensor([0.1]), torch.tensor([True]))

    once, twice = (torch.nn.Parameter(torch.zeros(1, 2)) for _ in range(2))
    whole, first = Adam([once], 1e-5), Adam([twice], 1e-5)
    steps(whole, 3)
    steps(first, 3)
    second = Adam([twice], 1e-5)
    second.load_state_dict(first.state_dict())
    steps(whole, 2)
    steps(second, 2)
    assert torch.equal(once, twice)


class Seen:
    """What a run saw: the first observations of each rollout."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: list[np.ndarray] = []
        self.patch = monkeypatch

    def watch(self) -> None:
        plain = Player.rollout

        def rollout(player: Player) -> Rollout:
            played = plain(player)
            self.rows.append(played.obs[:, :3].cpu().numpy())
            return played

        self.patch.setattr(Player, "rollout", rollout)


@pytest.mark.parametrize("backend", ["gymnasium", "envpool"])
def test_an_environment_that_cannot_be_put_back_begins_episodes_that_are_new(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if backend == "envpool":
        pytest.importorskip("envpool")
    config = replace(SMALL, backend=backend)
    interrupted(tmp_path, config, PPO, 2, monkeypatch)
    seen = Seen(monkeypatch)
    seen.watch()
    run = resume(tmp_path)
    said = capsys.readouterr().err
    assert said == "CartPole-v1 cannot resume in mid-episode: every lane starts a new one\n"
    assert run.curve.groupby("seed").step.max().min() >= config.steps
    resumed = seen.rows[0]
    seen.rows.clear()
    train(config, PPO)
    assert np.abs(resumed[:, 0]).max() <= 0.05  # an episode's beginning
    assert not np.isin(resumed[:, 0], seen.rows[0][:, 0]).any()  # not one of those that the run began with
    kept = checkpoint.read(tmp_path)
    before = run.curve[run.curve.step <= 400]
    whole = train(config, PPO).curve  # what was before is as it was
    pd.testing.assert_frame_equal(before, whole[whole.step <= 400], check_exact=True)
    assert kept.parts["env"] == {"resumed": 1}


def test_what_was_open_does_not_count_where_episodes_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, env="Pendulum-v1", backend="gymnasium")
    interrupted(tmp_path, config, PPO, 1, monkeypatch)
    assert checkpoint.read(tmp_path).parts["log"]["open"][..., 1].tolist() == [[100, 100], [100, 100]]
    lengths = resume(tmp_path).curve["length"].dropna()
    assert len(lengths)
    assert set(lengths) == {200}  # and not 300 of the first


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write_whole(path, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: fail())
        with pytest.raises(Power):
            files.write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    if Path("/dev/full").exists():
        files.partial_path(path).symlink_to("/dev/full")
        with pytest.raises(InputError, match=r"^cannot write .*file: No space left on device$"):
            files.write_whole(path, b"new")
        assert path.read_bytes() == b"old"


def test_a_checkpoint_of_a_version_that_had_other_parts_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path, SMALL, named("ppg"), 1, monkeypatch)
    saved = checkpoint.read(tmp_path)
    older = replace(saved, parts={name: part for name, part in saved.parts.items() if name != "phase"})
    monkeypatch.setattr("tricks.restore.read", lambda folder: older)
    with pytest.raises(InputError, match=r"checkpoint.pt has no part 'phase': another version of this package wrote"):
        resume(tmp_path)
