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

TINY = ["train", "ppo", "--env", "ShortCartPole-v0", "--steps", "120", "--lanes", "2", "--horizon", "16"]
TINY += ["--hidden", "8"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_home_directory_is_expanded_wherever_a_folder_is_named(home: Path) -> None:
    assert main([*TINY, "--seeds", "1", "--out", "~/run"]) == 0
    assert main(["play", "~/run", "--episodes", "1", "--no-gif"]) == 0
    assert main(["train", "--resume", "~/run"]) == 2
    assert (home / "run" / "run.json").exists()
    assert not (home / "~").exists()


def test_training_over_a_finished_run_has_to_be_asked_for(tmp_path: Path, refuses: Callable[..., None]) -> None:
    out = ["--seeds", "1", "--out", str(tmp_path)]
    assert main([*TINY, *out]) == 0
    before = (tmp_path / "run.json").read_bytes()
    refuses(main, [*TINY, *out], f"{tmp_path} holds a finished run; add --overwrite to replace it")
    assert (tmp_path / "run.json").read_bytes() == before
    assert main([*TINY, *out, "--overwrite", "--lr", "0.5"]) == 0
    assert load(tmp_path).config.lr == 0.5
    refuses(main, [*TINY, "--overwrite"], "--overwrite needs --out, the folder to write into")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--env", "Nowhere-v0"],
        ["--action-mask", "--env", "CartPole-v1"],
        ["--start-from", "nowhere"],
        ["--device", "no"],
    ],
)
@pytest.mark.parametrize("more", [[], ["--checkpoint-every", "50"], ["--checkpoint-every", "0"]])
def test_a_refused_training_leaves_nothing(wrong: list[str], more: list[str], tmp_path: Path) -> None:
    assert main([*TINY, *wrong, *more, "--out", str(tmp_path / "a" / "run")]) == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").mkdir()  # the user's own stays
    assert main([*TINY, *wrong, *more, "--out", str(tmp_path / "a" / "run")]) == 2
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]


def test_a_refused_training_with_checkpoints_leaves_nothing_from_python(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        train(Config("Nowhere-v0"), PPO, checkpoints=Checkpoints(tmp_path / "a" / "run", 50))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def after_rollouts(count: int, act: Callable[[], object]) -> Callable[[Player], Rollout]:
    plain = Player.rollout

    def rollout(player: Player) -> Rollout:
        if player.rollouts[0] == count:
            act()
        return plain(player)

    return rollout


def test_a_run_whose_folder_is_gone_is_saved_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a" / "run"

    def gone() -> None:  # a file takes its place
        shutil.rmtree(folder.parent)
        folder.parent.touch()

    monkeypatch.setattr(Player, "rollout", after_rollouts(2, gone))
    assert main([*TINY, "--seeds", "1", "--out", str(folder)]) == 2
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith(f"cannot write {folder / 'curve.csv'}: ")
    assert first.endswith("; the training goes on and will be saved at its end")
    assert last.startswith(f"error: cannot make the folder {folder}: ")
    elsewhere = Path(last.rsplit("; the run is saved in ")[1])
    assert isinstance(load(elsewhere), Run)
    shutil.rmtree(elsewhere)


@pytest.mark.parametrize("name", ["agent.pt", "curve.csv", "run.json", "checkpoint.pt", "curve.png"])
def test_a_folder_in_the_way_of_a_file_is_found_before_the_training(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Callable[..., None]
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(Player, "rollout", lambda _: pytest.fail("it trained"))
    refuses(main, [*TINY, "--out", str(tmp_path)], str(tmp_path))


def test_the_next_command_sweeps_up_what_a_kill_left(tmp_path: Path) -> None:
    assert main([*TINY, "--seeds", "1", "--out", str(tmp_path)]) == 0
    before = sorted(tmp_path.iterdir())
    for name in (f".play.gif.{HOST}.{2**22 + 1}", ".lock"):
        (tmp_path / name).touch()
    assert main(["play", str(tmp_path), "--no-gif", "--episodes", "1"]) == 0
    assert sorted(tmp_path.iterdir()) == before
