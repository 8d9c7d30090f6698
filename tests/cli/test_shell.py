"""The command lines: what they print, and one line and exit status 2 for what they cannot do."""

import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.commands import begin, ended
from support.fixtures import Capture, Patch, Refuses, Told, refusal

from tricks import ATARI, ATARI_CONFIG, PPO, REINFORCE, Config, Tricks
from tricks.cli import start
from tricks.cli.main import main
from tricks.cli.shell import parse
from tricks.ladder import NEEDS, named


def test_list_listing_and_diff_print(told: Told) -> None:
    shown = told("list")
    assert all(name in shown for name in NEEDS)
    assert max(map(len, shown.splitlines())) <= 80
    text = told("listing ppo --no-gae")
    assert "clipped_surrogate" in text
    assert "gae(" not in text
    assert "+    ratio = importance_ratio(log_prob, b.old_log_prob)" in told("diff baseline reuse")


def test_whole_numbers_may_be_written_as_powers_of_ten() -> None:
    written = "--steps 1e5 --lanes=1.6e1 --seeds 1e0 --lr 1e-3 --hidden=1e1 20"
    _, (config,) = parse(written.split(), "train", Config)
    assert config == Config(steps=100_000, lanes=16, seeds=1, lr=1e-3, hidden=(10, 20))
    refusal("--steps: takes a whole number", parse, ["--steps", "1.23e1"], "train", Config)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train --gea", "unknown option --gea (did you mean --gae?)"),
        ("train --dry-run", "unknown option --dry-run; see --help"),
        ("train --steps many", "--steps: takes a whole number, not 'many'; see --help"),
        ("train --seeds 1,1", "--seeds: takes a whole number, or several with spaces between, not '1,1'"),
        ("train --env", "--env: expected one argument; see --help"),
        ("train --compile yes", "unexpected argument 'yes'; see --help"),
        ("train --env Zzzz", "`Zzzz` doesn't exist; if a module of yours"),
        ("train --tensorboard", "--tensorboard needs --out, the folder to write into"),
        ("train --tensorboard --out x", 'install it with: pip install "ppo-tricks[tensorboard]"'),
        ("train --eval-every 0", "evaluations must be at least"),
        ("train --eval-every 9 --eval-episodes 0", "an evaluation needs at least 1 episode, not 0"),
        ("train --eval-episodes 3", "--eval-episodes needs --eval-every"),
        ("diff ppo", "diff takes two rungs"),
        ("teach", "unknown command 'teach'; the commands are train, play, save-policy, list"),
        ("trian", "unknown command 'trian' (did you mean train?)"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words: str, message: str, monkeypatch: Patch, refuses: Refuses) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    refuses(main, words.split(), message)
    assert not list(Path().iterdir())


def test_the_one_line_is_the_same_where_no_box_can_be_drawn() -> None:
    said = "error: --lr: takes a number, or several with spaces between, not 'abc'; see --help\n"
    assert ended(begin("tricks", ["train", "--lr", "abc"], Path(), PYTHONIOENCODING="ascii")) == (2, "", said)


def test_ctrl_c_during_imports_is_one_line_and_other_ends_hand_on_a_status(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "argv", ["tricks", "teach"])
    assert start.start("tricks.cli.main") == 2
    capsys.readouterr()
    monkeypatch.setattr(start, "import_module", Mock(side_effect=KeyboardInterrupt))
    assert start.start("tricks.cli.main") == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_command_keeps_freed_memory(monkeypatch: Patch) -> None:
    keep_memory = Mock()
    monkeypatch.setattr(start, "keep_memory", keep_memory)
    monkeypatch.setattr(sys, "argv", ["tricks", "list"])
    assert start.start("tricks.cli.main") == 0 and keep_memory.called


def test_help_says_where_the_flags_start_and_shows_the_rungs_own_numbers(capsys: Capture, told: Told) -> None:
    for rung, clip_range in (([], 0.2), (["atari"], 0.1)):
        with pytest.raises(SystemExit):
            main(["train", *rung, "--help"])
        said = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert "The default is ppo. (In Python, Tricks() has every flag off: reinforce.)" in said
        assert f"ε of the clipped surrogate (clip). (default: {clip_range})" in said
        assert "Raises" not in said
    assert (parse([], "train", Config)[0], Tricks()) == (PPO, REINFORCE)  # so it is
    for words in ("list --help", "diff -h"):  # which have no options
        assert told(words).startswith("usage: python -m tricks")


def test_a_run_in_which_every_seed_diverges_says_so(capsys: Capture) -> None:
    small = "--env ShortCartPole-v0 --steps 2000 --lanes 2 --horizon 16 --seeds 2"
    assert main(f"train reinforce {small} --lr 1e38".split()) == 2
    captured = capsys.readouterr()
    assert "seed 0: diverged at step" in captured.out
    assert "every seed diverged" in captured.err


def test_the_preset_atari_has_the_published_numbers() -> None:
    flags, (config,) = parse(["atari", "--seeds", "2"], "train", Config)
    assert flags == ATARI
    assert config == replace(ATARI_CONFIG, seeds=2)
    assert (config.lanes, config.horizon, config.epochs, config.minibatches) == (8, 128, 4, 4)
    assert (config.lr, config.clip_range, config.value_coef, config.entropy_coef) == (2.5e-4, 0.1, 0.5, 0.01)
    assert parse(["atari+kl_stop", "--seeds", "2"], "train", Config) == (named("atari+kl_stop"), [config])
