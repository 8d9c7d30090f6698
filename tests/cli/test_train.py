"""`train`: what its folder holds while it trains and afterwards, and what it says in the end."""

import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from support.fixtures import Capture, Patch, Refuses, Told
from support.training import SMALL, scalars, writers

from tricks import PPO, Checkpoints, Config, Run, load, train
from tricks.cli.main import main
from tricks.core.rollout import Player, Rollout
from tricks.runs import checkpoint, progress
from tricks.runs.files import CHECKPOINT
from tricks.runs.learning_curve import over

TINY = "train ppo --env ShortCartPole-v0 --steps 120 --lanes 2 --horizon 16 --hidden 8 --seeds"
ONE = f"{TINY} 1"


def test_the_folder_holds_what_run_save_writes_and_a_figure(told: Told) -> None:
    told(f"{TINY} 2 --out run")
    run = train(Config("ShortCartPole-v0", seeds=2, steps=120, lanes=2, horizon=16, hidden=(8,)), PPO)
    run.save("same")
    for name in ("curve.csv", "agent.pt"):
        assert Path("run", name).read_bytes() == Path("same", name).read_bytes()
    with Image.open("run/curve.png") as image:
        assert image.format == "PNG"
    pd.testing.assert_frame_equal(load("run").curve, run.curve)


def test_the_command_uses_one_thread_unless_told_otherwise(monkeypatch: Patch, told: Told) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)  # as PyTorch starts on two cores, or with this variable
    told(ONE)
    assert torch.get_num_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    torch.set_num_threads(2)
    told(ONE)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    assert threads == 2


def at_rollout(number: int, do: Callable[[], object]) -> Callable[[Player], Rollout]:
    """`Player.rollout`, but before the one with this number, something is done."""
    plain = Player.rollout

    def rollout(player: Player) -> Rollout:
        if player.rollouts[0] == number:
            do()
        return plain(player)

    return rollout


CTRL_C = Mock(side_effect=KeyboardInterrupt)


@pytest.mark.parametrize("more", ["", "--checkpoint-every 100000"])
def test_an_interrupted_run_leaves_its_curve_so_far(more: str, monkeypatch: Patch, told: Told) -> None:
    monkeypatch.setattr(Player, "rollout", at_rollout(2, CTRL_C))
    said = told(f"{TINY} 2 --out x {more}", 130)
    said = said.splitlines()[-1]  # before it, what is only said once in a process
    assert said == "interrupted before the first checkpoint; the curve so far is in x/curve.csv"
    assert pd.read_csv("x/curve.csv")["update"].tolist() == [0, 0, 1, 1]
    assert [path.name for path in Path("x").iterdir()] == ["curve.csv"]


def test_a_run_that_is_interrupted_at_once_leaves_an_earlier_one_alone(monkeypatch: Patch, told: Told) -> None:
    told(f"{ONE} --out x")
    before = load("x").curve
    monkeypatch.setattr(Player, "rollout", at_rollout(0, CTRL_C))
    assert told(f"{TINY} 2 --out x --overwrite", 130).splitlines()[-1] == "interrupted"
    pd.testing.assert_frame_equal(load("x").curve, before)


def test_evaluations_are_a_column_and_a_line_of_the_summary(told: Told) -> None:
    asked = "--env ActionReward-v0 --lr 0.05 --steps 300 --out x --eval-every 100 --eval-episodes 3"
    *_, judged, wrote = told(f"{TINY} 5 {asked}").splitlines()
    said = "mean return of the last greedy evaluation: 1.0, 95% interval [1.0, 1.0] (Student's t over 5 seeds)"
    assert judged == said
    assert wrote == "wrote x; to watch an agent: python -m tricks play x"
    assert (pd.read_csv("x/curve.csv").groupby("seed")["eval_return"].count() == 3).all()


def test_the_summary_has_an_interval_over_five_seeds_and_all_of_them(told: Told) -> None:
    *seeds, last, hint = told(f"{TINY} 5").splitlines()
    assert hint == "nothing was saved; --out DIR saves a run"
    assert [line.split(" return ")[0] for line in seeds] == [f"seed {k}:" for k in range(5)]
    assert last.startswith("mean return over the last 10% of 120 steps of ShortCartPole-v0: ")
    assert last.endswith("] (Student's t over 5 seeds)")
    five = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0])  # t₄ = 2.776, s = 1.581: ±1.963
    assert over(five) == "3.0, 95% interval [1.0, 5.0] (Student's t over 5 seeds)"
    assert over(five[:4]) == "2.5 (no interval with fewer than 5 seeds)"
    assert over(pd.Series([*five, np.nan])) == "3.0 (of 5 of 6 seeds: no interval)"


def test_a_resumed_run_goes_on_with_tensorboard(monkeypatch: Patch, told: Told) -> None:
    written = writers(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Player, "rollout", at_rollout(3, CTRL_C))
        told(f"{ONE} --out x --checkpoint-every 20 --tensorboard", 130)
    told("train --resume x")
    steps = [[step for name, _, step in scalars(writer) if name == "update"] for writer in written]
    assert [writer.close.called for writer in written] == [True, True]
    assert len(steps[0]) == 3
    assert steps[1] == pd.read_csv("x/curve.csv")["step"].tolist()[3:]


def test_a_quiet_training_prints_and_draws_nothing(capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0)
    for option in ("-q", "--quiet"):
        assert main([*ONE.split(), "--out", f"run{option}", option]) == 0
        assert capsys.readouterr() == ("", "")
        assert Path(f"run{option}", "run.json").is_file()
    assert main(ONE.split()) == 0
    said = capsys.readouterr()
    assert said.out
    assert "%: " in said.err


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unfinished run, and in it the folder of a run that is complete."""
    folder = tmp_path_factory.mktemp("unfinished") / "run"
    train(SMALL, PPO, checkpoints=Checkpoints(folder, 500))
    (folder / "complete").mkdir()
    (folder / "complete" / "run.json").touch()
    found = checkpoint.read(folder)
    assert (found.config, found.tricks, found.every) == (SMALL, PPO, 500)
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--resume DIR --lr 0.1", "own settings; it takes no --lr\n"),
        ("ppo --resume DIR", "it takes no rung 'ppo'"),
        ("--steps 9000 --resume DIR", "it takes no --steps: annealing runs over the original steps"),
        ("--resume nowhere", "nothing to resume in nowhere: there is no checkpoint.pt; only `train --checkpoint"),
        ("--resume DIR/complete", "there is no checkpoint.pt; its run is complete"),
        ("ppo --out DIR", "holds an unfinished run; resume it with: python -m tricks train --resume"),
        ("ppo --checkpoint-every 9", "--checkpoint-every needs --out, the folder to write into"),
        ("ppo --checkpoint-every 0 --out DIR/new", "checkpoints must be at least"),
    ],
)
def test_what_cannot_be_resumed_is_one_clear_line(words: str, message: str, unfinished: Path, refuses: Refuses) -> None:
    whole = (unfinished / CHECKPOINT).read_bytes()
    refuses(main, ["train", *words.replace("DIR", str(unfinished)).split()], message)
    assert (unfinished / CHECKPOINT).read_bytes() == whole


def test_the_home_directory_is_expanded_where_a_folder_is_named(tmp_path: Path, monkeypatch: Patch, told: Told) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    told(f"{ONE} --out ~/run")
    told("play ~/run --episodes 1 --no-gif")
    assert "its run is complete" in told("train --resume ~/run", 2)
    load("~/run").save("~/copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "run"]


def test_training_over_a_finished_run_has_to_be_asked_for(refuses: Refuses, told: Told) -> None:
    told(f"{ONE} --out run")
    before = Path("run/run.json").read_bytes()
    refuses(main, [*ONE.split(), "--out", "run"], "--overwrite")
    assert Path("run/run.json").read_bytes() == before
    told(f"{ONE} --out run --overwrite --lr 0.5")
    assert load("run").config.lr == 0.5
    refuses(main, [*ONE.split(), "--overwrite"], "--overwrite needs --out, the folder to write into")


@pytest.mark.parametrize("wrong", ["--env No-v0", "--action-mask --env CartPole-v1", "--start-from no", "--device no"])
@pytest.mark.parametrize("more", ["", "--checkpoint-every 50", "--checkpoint-every 0"])
def test_a_refused_training_leaves_nothing(wrong: str, more: str, told: Told) -> None:
    told(f"{ONE} {wrong} {more} --out a/run", 2)
    assert not list(Path().iterdir())
    Path("a").mkdir()  # the user's own stays
    told(f"{ONE} {wrong} {more} --out a/run", 2)
    assert list(Path().rglob("*")) == [Path("a")]


def test_a_run_whose_folder_is_gone_is_saved_elsewhere(monkeypatch: Patch, told: Told) -> None:
    def replaced() -> None:
        """A file takes the folder's place."""
        shutil.rmtree("a")
        Path("a").touch()

    monkeypatch.setattr(Player, "rollout", at_rollout(2, replaced))
    first, last = told(f"{ONE} --out a/run", 2).splitlines()[-2:]  # before them, what is only said once in a process
    assert first.startswith("cannot write a/run/curve.csv: ")
    assert first.endswith("; the training goes on and will be saved at its end")
    assert last.startswith("error: cannot make the folder a/run: ")
    elsewhere = Path(last.rsplit("; the run is saved in ")[1])
    assert isinstance(load(elsewhere), Run)
    shutil.rmtree(elsewhere)


@pytest.mark.parametrize("name", ["agent.pt", "curve.csv", "run.json", "checkpoint.pt", "curve.png"])
def test_a_folder_in_a_files_way_is_found_before_the_training(name: str, monkeypatch: Patch, refuses: Refuses) -> None:
    Path("run", name).mkdir(parents=True)
    monkeypatch.setattr(Player, "rollout", lambda _: pytest.fail("it trained"))
    refuses(main, [*ONE.split(), "--out", "run"], f"cannot write run/{name}")
