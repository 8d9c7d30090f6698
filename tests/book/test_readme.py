"""What the README and the other pages say is so."""

import ast
import difflib
import re
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from support import pages

from ablations import cli
from ablations.analysis.study_files import RESULTS
from ablations.design.designs import DESIGNS
from ablations.design.registry import SUITES
from ablations.experiments import (
    around_base,
    compare,
    design_runs,
    judge,
    plotting,
    quoted,
    random_design,
    sweep,
    worlds,
)
from ablations.findings import calibrate, games, speed
from ablations.findings.our_designs import SB3
from ablations.training.plan import plans
from chapters.book.grading.grade import GradeOptions
from chapters.book.site.staging import documentation
from tricks import PPO, REINFORCE, Config, Tricks, export
from tricks.cli.main import Checking, Playing, Saving, main
from tricks.cli.shell import ALIASES, options, parse
from tricks.cli.train import Output
from tricks.ladder import PRESETS, switched
from tricks.reading.ladder_table import table

README = pages.PAGES["README.md"]
SHELL, ABLATIONS = pages.commands("tricks"), pages.commands("ablations")
TRAINS = [command for command in SHELL if command.startswith(("train", "play", "save-policy"))]
PRINTS = [command for command in SHELL if command and command not in TRAINS]
OF_EXPERIMENTS = {"run": design_runs, "compare": compare, "judge": judge, "plot": plotting, "around": around_base}
OF_EXPERIMENTS |= {"worlds": worlds, "sweep": sweep, "random": random_design}
KINDS = {name: module.Options for name, module in OF_EXPERIMENTS.items()}
KINDS |= {"calibrate": calibrate.Options, "games": games.Options, "speed": speed.Options}
KINDS |= {"report": cli.ReportOptions, "tune": design_runs.TuneOptions}


def test_the_readme_fits_one_sitting_and_its_table_leads_to_every_page_once() -> None:
    assert len(README.splitlines()) <= 180
    listed = [str(page.relative_to(pages.ROOT)) for found in documentation().values() for page in found]
    assert sorted(listed) == sorted({*pages.PAGES} - {"README.md", "chapters/README.md"})


def functions(tricks: Tricks) -> str:
    """What a training computes, in the one agent with these flags."""
    text = export(tricks)
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    found = [node for node in found if node.name in ("losses", "train")]
    return "\n\n\n".join(str(ast.get_source_segment(text, node)) for node in found)


def test_the_code_on_the_first_page_is_the_one_agent_s() -> None:
    pages.check("core", f"```python\n{functions(REINFORCE)}\n```\n")
    before, after = (functions(switched(names)).splitlines() for names in (["reuse"], ["reuse", "clip"]))
    changes = difflib.unified_diff(before, after, "reuse", "reuse, clip", lineterm="", n=1)
    pages.check("diff", "```diff\n" + "".join(f"{line}\n" for line in changes) + "```\n")


def test_the_ladder_and_the_speed_on_the_pages_are_those_that_there_are() -> None:
    pages.check("ladder", f"{table(markdown=True)}\n")
    assert ", ".join(f"`{name}`" for name in PPO.on) in pages.PAGES["chapters/README.md"]
    assert all(f"- `{name}`: " in pages.PAGES["docs/running.md"] for name in PRESETS)
    stored = pd.read_csv(RESULTS / "speed.csv")
    pages.check("speed", f"{speed.in_words(stored)}\n")
    ours = stored[stored.who == "tricks"].set_index("seeds").steps_per_second
    assert 3.5 <= 10 * ours[1] / ours[10] < 4.5  # "the price of four"


@pytest.mark.parametrize("page", pages.PAGES)
def test_links_and_pictures_lead_somewhere(page: str) -> None:
    path = pages.ROOT / page
    for target in pages.links(pages.PAGES[page]):
        name, _, anchor = target.partition("#")
        there = path.parent / name if name else path
        assert there.exists(), target
        assert not anchor or anchor in pages.anchors(there.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("command", PRINTS)
def test_the_commands_that_print_work_as_written(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", TRAINS)
def test_the_commands_that_train_or_play_ask_for_something_that_is_there(command: str) -> None:
    name, *words = command.split()
    if "--help" in words:
        with pytest.raises(SystemExit, match="0"):
            parse(words, name, Config, Output)
    elif name in ("play", "save-policy"):
        folder = options(Playing, words, "").folder if name == "play" else options(Saving, words, "").folder
        assert any(other.startswith("train") and f"--out {folder} " in f"{other} " for other in SHELL)
    else:
        _, (_, output) = parse(words, name, Config, Output)
        assert output.resume is None or words == ["--resume", str(output.resume)]


def asked(start: str) -> tuple[Tricks, Config]:
    """The flags and numbers of the training command that starts like this."""
    (command,) = (command for command in SHELL if command.startswith(start))
    tricks, (config, _) = parse(command.split()[1:], "train", Config, Output)
    return tricks, config


def test_the_training_commands_ask_for_what_the_page_says() -> None:
    tricks, config = asked("train ppo --no-gae")
    assert set(PPO.on) - set(tricks.on) == {"gae"}
    assert (config.env, config.seeds, config.steps) == ("CartPole-v1", 10, 100_000)
    assert "python -m tricks train                                    # ppo on" in pages.PAGES["docs/running.md"]
    assert parse([], "train", Config)[0] == PPO
    assert Tricks().on == ()
    (published,) = (s.config for s in SUITES["published"].settings if s.config.env == "LunarLander-v3")
    assert asked("train ppo --no-value-clip") == (SB3, published)  # whose agents were evaluated


@pytest.mark.parametrize("code", pages.one_liners())
def test_the_one_liners_import_what_is_there(code: str) -> None:
    exec(code.split(";")[0])  # the rest may write files


@pytest.mark.parametrize("command", ABLATIONS)
def test_the_ablation_commands_ask_for_something_that_is_there(command: str) -> None:
    name, *words = shlex.split(command) or ["run"]
    if name in ("compare", "judge"):
        assert compare.requested(words) if name == "compare" else quoted.parsed(words, judge.Options, name)
        return
    if name == "run" and around_base.is_asked_for(words):
        assert around_base.requested(words)
        return
    chosen: object = options(KINDS[name], words, "")
    if isinstance(chosen, design_runs.Options):
        assert all(plan.jobs for plan in plans(chosen, chosen.seeds))


def test_every_option_on_a_page_is_an_option() -> None:
    own = (Tricks, Config, Output, Playing, Saving, Checking, GradeOptions)
    known = [field for group in (*own, *KINDS.values()) for field in fields(group)]
    names = {f.name for f in known} | {f"no_{f.name}" for f in known if isinstance(f.default, bool)}
    others = {*ALIASES.values(), "--version", "--print-completion", "--help"}
    assert pages.options() <= {f"--{name.replace('_', '-')}" for name in names} | others


def test_the_designs_and_suites_on_the_pages_are_those_that_there_are() -> None:
    text = pages.PAGES["docs/method.md"]
    for name in {*DESIGNS, *SUITES, "worlds"}:
        assert re.search(rf"`[^`]*\b{name}\b[^`]*`", text), name


@pytest.mark.parametrize("page", [page for page in pages.PAGES if page not in ("CONTRIBUTING.md", "docs/recipes.md")])
def test_the_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in pages.blocks_of("python", pages.PAGES[page].replace(pages.region("core"), "")):
        exec(re.sub(r"steps=[\d_]+", "steps=2000", code), names)
    if page == "docs/running.md":
        assert names["run"].curve.seed.nunique() == 4
        assert (tmp_path / "runs" / "mine" / "curve.csv").exists()


def test_the_trick_that_contributing_adds_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's file and its tests; the rest of the page's code goes into files that are there already."""
    blocks = pages.blocks_of("python", pages.PAGES["CONTRIBUTING.md"])
    code, test = (block for block in blocks if block.startswith('"""rollback: '))
    module = ModuleType("tricks.rollback")
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, "tricks.rollback", module)
    checks: dict[str, Any] = {}
    exec(test, checks)
    found = [check() for name, check in checks.items() if name.startswith("test_")]
    assert len(found) == 3
