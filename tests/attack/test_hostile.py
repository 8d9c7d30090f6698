"""What a stranger's run names is not imported when the run is opened."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.attack.damages import MODULE, ran
from support.attack.law import run as said
from support.training import interrupted

from ablations.cli import main as ablations
from tricks import PPO, Config, InputError, load, train
from tricks.cli.main import main
from tricks.restore import resume

REGISTERS = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
gymnasium.register("Stolen-v0", CartPoleEnv, max_episode_steps=20)
"""
SMALL = Config(env="stolen:Stolen-v0", seeds=1, steps=64, lanes=2, horizon=8, hidden=(4,))


def _resumed(folder: Path) -> None:
    with pytest.raises(InputError, match="stolen"):
        resume(folder)


OPENED: dict[str, Callable[[Path], object]] = {
    "load": load,
    "play": lambda folder: said(main, ["play", str(folder), "--episodes", "1"]),
    "games": lambda folder: said(ablations, ["games", str(folder), "--games", "5", "--out", str(folder / "x")]),
    "resume": _resumed,
    "--resume": lambda folder: said(main, ["train", "--resume", str(folder)]),
}


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("how", OPENED)
def test_opening_a_run_imports_no_module_that_it_names(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stolen.py").write_text(MODULE + REGISTERS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    if "resume" in how:
        interrupted(tmp_path, replace(SMALL, steps=900), PPO, 2, monkeypatch)
    else:
        train(SMALL, PPO).save(tmp_path)
    assert ran()  # the training itself may import it
    OPENED[how](tmp_path)
    assert not ran()
