"""What the commands do with the folders that they are given."""

import gc
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tricks import PPO, Checkpoints, Config, InputError, Run, load, train
from tricks.cli.main import main
from tricks.core.rollout import Player, Rollout
from tricks.runs.files import HOST

Told = Callable[..., str]
TINY = "train ppo --env ShortCartPole-v0 --steps 120 --lanes 2 --horizon 16 --hidden 8 --seeds 1"


def test_the_home_directory_is_expanded_wherever_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    told(f"{TINY} --out ~/run")
    told("play ~/run --episodes 1 --no-gif")
    assert "its run is complete" in told("train --resume ~/run", 2)
    load("~/run").save("~/copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "run"]


def test_training_over_a_finished_run_has_to_be_asked_for(refuses: Callable[..., None], told: Told) -> None:
    told(f"{TINY} --out run")
    before = Path("run/run.json").read_bytes()
    refuses(main, [*TINY.split(), "--out", "run"], "run holds a finished run; add --overwrite to replace it")
    assert Path("run/run.json").read_bytes() == before
    told(f"{TINY} --out run --overwrite --lr 0.5")
    assert load("run").config.lr == 0.5
    refuses(main, [*TINY.split(), "--overwrite"], "--overwrite needs --out, the folder to write into")


@pytest.mark.parametrize(
    "wrong", ["--env Nowhere-v0", "--action-mask --env CartPole-v1", "--start-from nowhere", "--device no"]
)
@pytest.mark.parametrize("more", ["", "--checkpoint-every 50", "--checkpoint-every 0"])
def test_a_refused_training_leaves_nothing(wrong: str, more: str, told: Told) -> None:
    told(f"{TINY} {wrong} {more} --out a/run", 2)
    assert not list(Path().iterdir())
    Path("a").mkdir()  # the user's own stays
    told(f"{TINY} {wrong} {more} --out a/run", 2)
    assert list(Path().rglob("*")) == [Path("a")]


def test_a_refused_training_with_checkpoints_leaves_nothing_from_python() -> None:
    with pytest.raises(InputError):
        train(Config("Nowhere-v0"), PPO, checkpoints=Checkpoints("a/run", 50))
    gc.collect()
    assert not list(Path().iterdir())


def test_a_run_whose_folder_is_gone_is_saved_elsewhere(monkeypatch: pytest.MonkeyPatch, told: Told) -> None:
    plain = Player.rollout

    def rollout(player: Player) -> Rollout:
        if player.rollouts[0] == 2:  # a file takes the folder's place
            shutil.rmtree("a")
            Path("a").touch()
        return plain(player)

    monkeypatch.setattr(Player, "rollout", rollout)
    first, last = told(f"{TINY} --out a/run", 2).splitlines()
    assert first.startswith("cannot write a/run/curve.csv: ")
    assert first.endswith("; the training goes on and will be saved at its end")
    assert last.startswith("error: cannot make the folder a/run: ")
    elsewhere = Path(last.rsplit("; the run is saved in ")[1])
    assert isinstance(load(elsewhere), Run)
    shutil.rmtree(elsewhere)


@pytest.mark.parametrize("name", ["agent.pt", "curve.csv", "run.json", "checkpoint.pt", "curve.png"])
def test_a_folder_in_the_way_of_a_file_is_found_before_the_training(
    name: str, monkeypatch: pytest.MonkeyPatch, refuses: Callable[..., None]
) -> None:
    Path("run", name).mkdir(parents=True)
    monkeypatch.setattr(Player, "rollout", lambda _: pytest.fail("it trained"))
    refuses(main, [*TINY.split(), "--out", "run"], f"cannot write run/{name}")


def test_the_next_command_sweeps_up_what_a_kill_left(told: Told) -> None:
    told(f"{TINY} --out run")
    before = sorted(Path("run").iterdir())
    for name in (f".play.gif.{HOST}.{2**22 + 1}", ".lock"):
        Path("run", name).touch()
    told("play run --no-gif --episodes 1")
    assert sorted(Path("run").iterdir()) == before
