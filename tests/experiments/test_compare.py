"""`compare`: from arms in words, or functions of one's own, to a table, curves and a page; and what it refuses."""

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from ablations import Arm, cli, compare
from ablations.experiments.compare import requested
from ablations.training import workers
from ablations.training.jobs import Finished
from ablations.training.own import own_of
from tricks import PPO, REINFORCE, Config, InputError, train
from tricks.clip import clipped_surrogate

TINY = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
SHARED = ["--env", TINY.env, "--steps", "320", "--lanes", "2", "--horizon", "16", "--minibatches", "2"]


class Coin(gym.Env):
    """One step: action 1 earns 1."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return np.ones(1, np.float32), float(action), True, False, {}


def test_the_shell_prints_a_table_and_leaves_a_folder_with_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = ["ppo", "bare=reinforce --lr 0.01"]
    assert cli.main(["compare", *arms, *SHARED, "--workers", "1", "--seeds", "5", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "tricks/Corridor-v0: 2 arms × 5 seeds × 320 steps" in said
    assert re.search(r"\| ppo  +\| 0\.001 \|.*\n\| bare +\| 0\.01 [\s\S]*/report\.html, and 7 other files", said)
    (folder,) = tmp_path.glob("compare_*")
    names = {"table.csv", "runs.csv", "curves.csv.gz", "curves.png", "curves.svg", "curves.csv", "report.html"}
    assert {path.name for path in folder.iterdir()} == {*names, "comparison.md"}
    curves = pd.read_csv(folder / "curves.csv.gz")
    alone = train(Config(**{**vars(TINY), "seeds": 5}), PPO).curve
    mine = curves[curves.arm == "ppo"]
    np.testing.assert_allclose(mine["return"].to_numpy(), alone["return"].to_numpy(), rtol=1e-5)
    assert {"entropy", "approx_kl"} <= {*curves}
    runs = pd.read_csv(folder / "runs.csv")
    assert set(runs.tricks) == {" ".join(PPO.on), "reinforce"}
    page = (folder / "report.html").read_text()
    assert "data:image/png" in page
    assert "python -m ablations compare ppo" in page


def test_asked_again_it_trains_nothing_and_more_seeds_train_only_those(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compare(["ppo", "reinforce"], TINY, seeds=10, out=tmp_path, workers=1)
    trained: list[Any] = []
    real = workers.in_pool

    def noting(jobs: Any, *rest: Any) -> Any:
        trained.extend(jobs)
        return real(jobs, *rest)

    monkeypatch.setattr(workers, "in_pool", noting)
    again = compare({"ppo": PPO, "reinforce": REINFORCE}, TINY, seeds=10, out=tmp_path, workers=1)
    assert not trained
    pd.testing.assert_frame_equal(first.table, again.table)
    compare(["ppo", "reinforce"], TINY, seeds=12, out=tmp_path, workers=1)
    assert [job.config.seeds for job in trained] == [(10, 11)] * 2


def test_rates_are_chosen_on_other_seeds_and_their_noise_is_in_the_interval(tmp_path: Path) -> None:
    found = compare(["ppo", "reinforce"], TINY, seeds=5, rates=[0.003, 0.001], rate_seeds=5, out=tmp_path, workers=1)
    assert found.by_rate is not None
    best = found.by_rate.sort_values("area").groupby("arm").lr.last()
    assert dict(zip(found.table.arm, found.table.lr, strict=True)) == best.to_dict()
    plain = compare(
        [Arm("ppo", PPO, {"lr": best["ppo"]}), Arm("reinforce", REINFORCE, {"lr": best["reinforce"]})],
        TINY, seeds=5, out=tmp_path, workers=1,
    )  # fmt: skip
    assert found.table.difference[1] == plain.table.difference[1]
    assert found.table.high[1] - found.table.low[1] > plain.table.high[1] - plain.table.low[1]
    assert "each arm at its own best learning rate of 0.001, 0.003" in found.rates
    assert len(list(tmp_path.glob("compare_*"))) == 2  # neither replaced the other


def test_an_environment_of_one_s_own_goes_to_worker_processes_and_what_cannot_trains_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(steps=256, lanes=2, horizon=16, lr=0.01)
    found = compare(["ppo", "reinforce"], config, env=lambda: Coin(), seeds=2, out=tmp_path, workers=1)
    assert found.env == "own environment"
    assert list((tmp_path / "jobs").glob("*.csv"))
    lock = threading.Lock()  # cannot be pickled
    here = compare(["ppo", "reinforce"], config, env=lambda: lock and Coin(), seeds=2, out=tmp_path / "b", workers=1)
    assert "everything trains in this process, and no finished job is kept" in capsys.readouterr().out
    assert not list((tmp_path / "b" / "jobs").glob("*.csv"))
    assert own_of(Config("x"), env=lambda: lock and Coin()) != own_of(
        Config("x"), env=lambda: lock or Coin()
    )  # by what they are
    pd.testing.assert_frame_equal(found.table, here.table)


def test_a_changed_environment_is_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished jobs belong to the code of the user's module, which gets another line between two comparisons."""
    text = Path(__file__).read_text().partition("\ndef test")[0].partition("class Coin")[2]
    home = tmp_path / "mine_for_this_test.py"
    head = "from typing import Any\nimport gymnasium as gym\nimport numpy as np\n\nclass Coin" + text
    home.write_text(head + "\ngym.register('Mine-v0', Coin)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = Config("mine_for_this_test:Mine-v0", steps=64, lanes=2, horizon=16)
    compare(["ppo", "reinforce"], config, seeds=1, out=tmp_path, workers=1)
    compare(["ppo", "reinforce"], config, seeds=1, out=tmp_path, workers=1)
    assert len(list((tmp_path / "jobs").glob("*.csv"))) == 2
    home.write_text(home.read_text() + "# changed\n")
    compare(["ppo", "reinforce"], config, seeds=1, out=tmp_path, workers=1)
    assert len(list((tmp_path / "jobs").glob("*.csv"))) == 4


def test_a_function_that_replaces_one_of_ours_makes_an_arm(tmp_path: Path) -> None:
    def halved(*given: Any) -> Any:
        return clipped_surrogate(*given) / 2

    arms = [Arm("ppo", PPO), Arm("halved", PPO, functions={"clipped_surrogate": halved})]
    found = compare(arms, TINY, seeds=2, out=tmp_path, workers=1)
    first = found.curves[found.curves["update"] == 0].groupby("arm").policy_loss.mean()
    assert first["halved"] != first["ppo"]
    with pytest.raises(InputError, match="arm 'x': there is no function 'clip_surrogate' to replace"):
        compare([arms[0], Arm("x", PPO, functions={"clip_surrogate": halved})], TINY, out=tmp_path)


@pytest.mark.parametrize("how", [["mine.py"], ["-m", "mine"]], ids=["script", "module"])
def test_a_script_needs_no_guard_against_being_imported_by_workers(how: list[str], tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "from ablations import compare\nfrom tricks import Config\n"
        "config = Config('tricks/Corridor-v0', steps=320, lanes=2, horizon=16)\n"
        "print(len(compare(['ppo', 'reinforce'], config, seeds=1, workers=1).runs))\n"
    )
    done = subprocess.run([sys.executable, *how], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n", done.stderr


REFUSED = {
    "one arm": (["ppo"], "a comparison needs at least two arms, such as 'ppo' 'ppo --no-gae', not 1"),
    "no reference": (
        ["ppo", "ppg", "--against", "every"],
        "the reference 'every' is no arm; the arms are 'ppo', 'ppg'",
    ),
    "no environment": (["ppo", "ppg", "--env", "Nowhere-v0"], "Nowhere-v0"),
    "no mask": (["ppo", "x=ppo --action-mask"], "arm 'x': action_mask"),
    "minibatches": (["ppo", "x=ppo --minibatches 5000"], "arm 'x': 5000 minibatches are more than the 1024 rows"),
    "an arm after options": (
        ["ppo", "--env", "CartPole-v1", "ppg"],
        "'ppg' comes after the options; put it first: compare ARM ARM ...",
    ),
    "a rate twice": (["ppo", "x=ppo --lr 0.1", "--rates", "0.1,0.2"], "arm 'x' has its own learning rate"),
    "a rate for all, too": (["ppo", "ppg", "--lr", "0.1", "--rates", "tune"], "--lr and --rates exclude each other"),
    "no rate": (["ppo", "ppg", "--rates", "fast"], "rates must be numbers such as 0.001,0.003, or tune, not 'fast'"),
    "no seeds": (["ppo", "ppg", "--seeds", "0"], "--seeds must name at least one seed, not '0'"),
    "an idle number": (["ppo", "ppg", "--target-kl", "0.1"], "target_kl has no effect in any arm"),
    "the same arm": (["ppo", "x=ppo"], "arms 'ppo' and 'x' are the same, with the same flags and numbers"),
    "a default given twice": (["ppg", "x=ppo --lr 0.001", "--rates", "0.1"], "arm 'x' has its own learning rate"),
    "an unknown option": (["ppo", "ppg", "--agianst", "ppg"], "unknown option --agianst (did you mean --against?)"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_compared_is_refused_in_one_line_before_anything_trains(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *arguments, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("out/jobs/*"))


def test_options_outside_the_quotes_hold_for_all_arms() -> None:
    request, chosen = requested(
        [
            "ppo",
            "continuous --epochs 3",
            "--gamma",
            "0.9",
            "--no-gae",
            "--lr=0.001",
            "--hidden",
            "8",
            "8",
            "--seeds",
            "3:5",
        ]
    )
    assert (request.config.gamma, request.config.hidden, request.seeds) == (0.9, (8, 8), (3, 4))
    first, second = (arm.config(request.config) for arm in request.arms)
    assert (first.gamma, second.gamma, second.lr, second.epochs, second.lanes) == (0.9, 0.9, 0.001, 3, 1)
    assert not any(arm.tricks.gae for arm in request.arms)
    assert chosen.rates == ""
    request, _ = requested(["ppo", "continuous", "--rates", "0.1,0.01"])
    assert request.rates == (0.01, 0.1)
    assert "lr" not in dict(request.arms[1].numbers)  # the preset's own rate gives way


def test_a_job_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = lambda jobs, *_: ((job, Finished(error="no luck")) for job in jobs)  # noqa: E731
    monkeypatch.setattr(workers, "in_pool", failing)
    with pytest.raises(InputError, match="arm 'ppo' failed"):
        compare(["ppo", "reinforce"], TINY, seeds=1, out=tmp_path, workers=1)
