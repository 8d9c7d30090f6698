"""What the README says is so."""

import re
from pathlib import Path
from typing import Any

import pytest

import ablations.cli as harness
from ablations.design.designs import DESIGNS, SB3
from ablations.design.suites import SUITES
from ablations.experiments import games, speed, worlds
from ablations.training.plan import plans
from tricks import PPO, Tricks
from tricks.cli.main import main, parse
from tricks.cli.shell import options
from tricks.config import Config
from tricks.reading.ladder_table import table

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SHELL = re.findall(r"^python -m tricks (.+?)(?:\s+#.*)?$", re.sub(r" \\\n +", " ", README), re.MULTILINE)


def test_the_ladder_in_the_readme_is_the_ladder() -> None:
    assert table(markdown=True) in README  # else paste what `tricks.ladder.table(markdown=True)` gives
    assert ", ".join(f"`{name}`" for name in PPO.on) in README


@pytest.mark.parametrize("command", [command for command in SHELL if not command.startswith("train")])
def test_the_commands_that_print_work_as_written(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    assert capsys.readouterr().out


def asked(start: str) -> tuple[Tricks, Config]:
    """The flags and numbers of the training command that starts like this."""
    (command,) = (command for command in SHELL if command.startswith(start))
    words = command.split()[1:]
    tricks, (config,) = parse(words[: words.index("--out")], "train", Config)
    return tricks, config


def test_the_training_command_asks_for_what_it_says() -> None:
    tricks, config = asked("train ppo --no-gae")
    assert set(PPO.on) - set(tricks.on) == {"gae"}
    assert (config.env, config.seeds, config.steps) == ("CartPole-v1", 10, 100_000)


def test_the_agents_that_were_evaluated_had_the_published_flags_and_numbers() -> None:
    (published,) = (s.config for s in SUITES["published"].settings if s.config.env == "LunarLander-v3")
    assert asked("train ppo --no-value-clip") == (SB3, published)


ABLATIONS = re.findall(r"^python -m ablations (.+?)(?:\s+#.*)?$", README, re.MULTILINE)
KINDS = {
    "run": harness.Options,
    "report": harness.ReportOptions,
    "worlds": worlds.Options,
    "games": games.Options,
    "speed": speed.Options,
}


@pytest.mark.parametrize("command", ABLATIONS)
def test_the_ablation_commands_ask_for_something_that_is_there(command: str) -> None:
    name, *words = command.split()
    chosen = options(KINDS[name], words, "")
    if isinstance(chosen, harness.Options):
        assert all(plan.jobs for plan in plans(chosen, chosen.seeds))


def test_the_designs_and_suites_in_the_readme_are_those_that_there_are() -> None:
    for name in set(DESIGNS) - {"ppo"} | {*SUITES, "worlds"}:
        assert re.search(rf"`[^`]*\b{name}\b[^`]*`", README), name


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.+?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code.replace("20_000", "2_000"), names)
    assert names["run"].curve.seed.nunique() == 4
    assert (tmp_path / "runs" / "x" / "curve.csv").exists()
