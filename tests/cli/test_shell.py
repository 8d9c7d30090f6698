"""The command lines: what they print, and one line and exit status 2 for what they cannot do."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import tricks
from tricks import ATARI, PPO, REINFORCE, Config, InputError, Tricks
from tricks.cli import start as begin
from tricks.cli.main import main
from tricks.cli.parsing import parse
from tricks.config import ATARI_CONFIG
from tricks.ladder import NEEDS, named

TINY = ["--env", "ShortCartPole-v0", "--steps", "120", "--lanes", "2", "--horizon", "16", "--seeds"]


def test_train_prints_a_line_a_seed_and_writes_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert main(["train", "ppo", "--no-gae", *TINY, "3", "5", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("seed 3: return ")
    assert lines[1].startswith("seed 5: return ")
    assert sorted(path.name for path in out.iterdir()) == ["agent.pt", "curve.csv", "curve.png", "last.pt", "run.json"]
    assert '"gae"' not in (out / "run.json").read_text()


def test_list_listing_and_diff_print(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in NEEDS)
    assert max(map(len, shown.splitlines())) <= 80
    assert main(["listing", "ppo", "--no-gae"]) == 0
    text = capsys.readouterr().out
    assert "clipped_surrogate" in text
    assert "gae(" not in text
    assert main(["diff", "baseline", "reuse"]) == 0
    assert "+        ratio = importance_ratio(log_prob, b.old_log_prob)" in capsys.readouterr().out


def test_whole_numbers_may_be_written_as_powers_of_ten() -> None:
    written = ["--steps", "1e5", "--lanes=1.6e1", "--seeds", "1e0", "--lr", "1e-3", "--hidden", "1e1", "20"]
    _, (config,) = parse(written, "train", Config)
    assert config == Config(steps=100_000, lanes=16, seeds=1, lr=1e-3, hidden=(10, 20))
    with pytest.raises(InputError, match="--steps: takes a whole number"):
        parse(["--steps", "1.23e1"], "train", Config)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "ppo", "--no-baseline"], "gae needs baseline"),
        (
            ["train", "reinforce", "--popart"],
            "popart needs return_norm, which needs baseline: add --baseline --return-norm",
        ),
        (["train", "pppo"], "unknown rung 'pppo' (did you mean ppo?)"),
        (["train", "--gea"], "unknown option --gea (did you mean --gae?)"),
        (["train", "--dry-run"], "unknown option --dry-run; see --help"),
        (["train", "--steps", "-5"], "steps must be positive and finite, not -5"),
        (["train", "--steps", "many"], "--steps: takes a whole number, not 'many'; see --help"),
        (["train", "--seeds", "1,1"], "--seeds: takes a whole number, or several with spaces between, not '1,1'"),
        (["train", "--lr=0.1,0.2"], "--lr: takes a number, or several with spaces between, not '0.1,0.2'; see --help"),
        (["train", "--eval_every", "x"], "--eval-every: takes a whole number, not 'x'; see --help"),
        (["train", "--env"], "Missing value for argument '--env'. Expected 1 values; see --help"),
        (["train", "--compile", "yes"], "Unrecognized options: yes; see --help"),
        (["train", "--env", "Zzzz"], "`Zzzz` doesn't exist; if a module of yours"),
        (["train", "--env", "CartPole-v7"], "(did you mean CartPole-v1?)"),
        (["train", "--env", "Talking-v0"], "Talking-v0 has a Text observation space"),
        (["train", *TINY, "1", "--out", "/dev/null/x"], "cannot make the folder"),
        (["diff", "ppo"], "diff takes two rungs"),
        (["list", "x"], "list takes no arguments"),
        (["teach"], "unknown command 'teach'; the commands are train, play, save-policy, list"),
        (["trian"], "unknown command 'trian' (did you mean train?)"),
        (["difff"], "unknown command 'difff' (did you mean diff?)"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: list[str], message: str, refuses: Callable[..., None]) -> None:
    refuses(main, arguments, message)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_one_line_is_the_same_where_no_box_can_be_drawn(encoding: str) -> None:
    command = [sys.executable, "-m", "tricks", "train", "--lr", "abc"]
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert ended.stderr == "error: --lr: takes a number, or several with spaces between, not 'abc'; see --help\n"
    assert ended.returncode == 2


def test_list_does_not_wait_for_what_it_does_not_need() -> None:
    code = """if True:
        import sys
        from tricks.cli.main import main
        main(["list"])
        print(sorted({"torch", "libcst", "tyro", "pandas", "numpy", "gymnasium"} & set(sys.modules)))"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"


def test_every_public_name_has_its_home() -> None:
    assert set(tricks.HOMES) < set(tricks.__all__)
    assert all(getattr(tricks, name).__name__ == name for name in tricks.HOMES)
    with pytest.raises(AttributeError, match="has no attribute 'tricky'"):
        tricks.tricky  # noqa: B018


@pytest.mark.parametrize("package", ["tricks", "ablations"])
def test_a_command_line_starts_with_its_own_main(package: str) -> None:
    said = subprocess.run([sys.executable, "-m", package, "--help"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"usage: python -m {package}")


def test_ctrl_c_during_the_imports_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(begin, "import_module", stopped)
    assert begin.start("tricks.cli.main") == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_command_line_hands_on_the_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tricks", "teach"])
    assert begin.start("tricks.cli.main") == 2


def test_help_says_where_the_flags_start_and_shows_the_rungs_own_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    for rung, clip_range in (([], 0.2), (["atari"], 0.1)):
        with pytest.raises(SystemExit):
            main(["train", *rung, "--help"])
        said = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert "The default is ppo. (In Python, Tricks() has every flag off: reinforce.)" in said
        assert f"ε of the clipped surrogate (clip). (default: {clip_range})" in said
        assert "Raises" not in said
    assert (parse([], "train", Config)[0], Tricks()) == (PPO, REINFORCE)  # so it is


def test_a_run_in_which_every_seed_diverges_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "reinforce", *TINY, "2", "--lr", "1e38", "--steps", "2000"]) == 2
    captured = capsys.readouterr()
    assert "seed 0: diverged at step" in captured.out
    assert "every seed diverged" in captured.err


def test_the_preset_atari_has_the_published_numbers() -> None:
    flags, (config,) = parse(["atari", "--seeds", "2"], "train", Config)
    assert flags == ATARI
    assert config == replace(ATARI_CONFIG, seeds=2)
    assert (config.lanes, config.horizon, config.epochs, config.minibatches) == (8, 128, 4, 4)
    assert (config.lr, config.clip_range, config.value_coef, config.entropy_coef) == (2.5e-4, 0.1, 0.5, 0.01)
    assert config.max_grad_norm == 0.5
    assert parse(["atari+kl_stop", "--seeds", "2"], "train", Config) == (named("atari+kl_stop"), [config])
    assert {"lr_anneal", "clip_anneal", "shared_trunk"} <= set(flags.on)


@pytest.mark.parametrize("arguments", [["list", "--help"], ["diff", "-h"]])
def test_commands_without_options_show_the_usage_when_asked_for_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("usage: python -m tricks")
