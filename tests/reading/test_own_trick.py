"""A trick in a file of one's own is a flag like ours; what it lacks is one line."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from support.fixtures import Patch, refusal
from support.pages import PAGES, blocks_of

from tricks.ladder import OWN
from tricks.own_trick import load_asked, load_trick

(ROLLBACK,) = blocks_of("py", PAGES["docs/your-own.md"])
USED = """
from dataclasses import replace

import pandas as pd
import pytest
import torch

import tricks
import tricks.restore
from tricks import PPO, Config, InputError, Tricks, diff, export, listing, load, load_trick
from tricks.fast.dispatch import plain
from ablations import compare

SMALL = Config(seeds=2, steps=1500, lanes=4, horizon=32, lr=0.02, epochs=8)
before = tricks.train(SMALL, PPO).curve
assert load_trick("rollback_trick.py") == load_trick("rollback_trick.py") == "rollback"
pd.testing.assert_frame_equal(tricks.train(SMALL, PPO).curve, before)  # an agent without it is as it was
assert tricks.restore.train is tricks.loop.train  # wherever the loop's functions were imported
mine = replace(PPO, rollback=True)
run = tricks.train(SMALL, mine)
assert not run.curve.equals(before)
with plain():
    flat = tricks.train(replace(SMALL, rollback_slope=1e-12), mine)
    clipped = tricks.train(SMALL, PPO)
torch.testing.assert_close(flat.curve["return"].tolist(), clipped.curve["return"].tolist(), equal_nan=True)
assert "+    objective = rolled_back(ratio, advantage, t.clip_range, config.rollback_slope)" in diff(PPO, mine)
shown = {}
exec(listing(mine), shown)
with plain():  # what is listed is what runs
    pd.testing.assert_frame_equal(shown["train"](SMALL).curve, tricks.train(SMALL, mine).curve)
for wrong, said in ((lambda: Tricks(rollback=True), "rollback needs"), (lambda: export(mine), "no rollback"),
                    (lambda: replace(SMALL, rollback_slope="a"), "rollback_slope must be")):
    with pytest.raises(InputError, match=said):
        wrong()
run.save("kept")
pd.testing.assert_frame_equal(load("kept").curve, run.curve)
found = compare([PPO, "ppo+rollback --rollback-slope 0.5"], SMALL, seeds=2, out="out", workers=1)
assert found.runs.tricks.str.contains("rollback").sum() == 2
"""


def test_a_trick_from_a_file_is_trained_listed_compared_and_saved(tmp_path: Path) -> None:
    two = ROLLBACK.replace('=("rollback_slope",)', '=("rollback_slope", "below")') + "\nbelow: float = -0.5\n"
    (tmp_path / "rollback_trick.py").write_text(two)
    used = [sys.executable, "-c", USED]  # a process of its own: the flag stays in all that knows flags
    done = subprocess.run(used, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = "the run in kept has a trick from a file, rollback: --trick or load_trick (rollback (rollback_trick.py "
    again = [sys.executable, "-m", "tricks", "play", "kept"]
    refused = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and said in refused.stderr and refused.stderr.count("\n") == 1
    (tmp_path / "kept" / "play.gif").unlink(missing_ok=True)
    again += ["--episodes", "1", "--trick", "rollback_trick.py"]
    assert subprocess.run(again, cwd=tmp_path, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('needs=("clip",)', 'needs=("clap",)', r"there is no trick 'clap' \(did you mean clip\?\)"),
        ("rollback: bool = trick", "clip: bool = trick", r"there is a trick 'clip' already"),
        ("rollback_slope: float = 0.3", "", "must give rollback_slope a default"),
        ('numbers=("rollback_slope",)', 'numbers=("gamma",)', "Config has a number 'gamma' already"),
        ("AFTER =", "BEFORE =", "must say where its lines enter the loop"),
        ('t.clip_range)"', 't.clip)"', "the loop has no statement `objective = clipped"),
        ('needs=("clip",)', 'needs=("gae",)', "its lines use 'ratio', so rollback needs reuse"),
        ("= rolled_back(ratio", "= rolled_bak(ratio", "its lines use 'rolled_bak', which neither"),
        ("if tricks.rollback:", "if tricks.clip:", "must stand under `if tricks.rollback:`"),
        ("    objective = rolled_back", "  objective = = rolled_back", "is no Python"),
        ("import torch\n", "import torchh\n", "cannot be run: ModuleNotFoundError"),
        ("import torch\n", "import torch, sys; sys.exit(3)\n", "cannot be run: SystemExit"),
    ],
)
def test_what_a_file_lacks_is_one_line_and_changes_nothing(old: str, new: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine_of_mine.py"
    path.write_text(ROLLBACK.replace(old, new))
    assert refusal(said, load_trick, path).startswith(str(path))
    assert "tricks.mine_of_mine" not in sys.modules


def test_a_file_that_has_changed_is_not_taken_for_the_one_that_was_loaded(tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "mine_of_mine.py"
    path.write_text("x = 1\n")
    monkeypatch.setitem(OWN, "mine", (path.resolve(), hashlib.sha256(b"x = 1\n").hexdigest()[:16]))
    assert load_trick(path) == "mine"
    path.write_text("x = 2\n")
    refusal("must declare one flag", load_trick, path)  # it is read anew


def test_only_a_file_that_is_there_and_has_a_name_of_its_own_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "clip.py"
    path.write_text(ROLLBACK)
    for asked, said in ((["--trick", str(path)], "the name of a file of this package"), (["--trick"], "needs a file")):
        refusal(said, load_asked, ["train", *asked])
    for name in ("my-trick.py", "2nd.py", "class.py"):
        (tmp_path / name).write_text(ROLLBACK)
        refusal("must have the name of a module, such as mine.py", load_trick, tmp_path / name)
    refusal(r"there is no file nowhere\.py", load_asked, ["--trick=nowhere.py"])
    assert load_asked(["train", "ppo", "--no-gae"]) == ["train", "ppo", "--no-gae"]
