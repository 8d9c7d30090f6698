"""What the README and the other pages say is so: tables, the glossary, the wall chart, the teacher's kit, recipes."""

import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from support import pages
from support.fixtures import Capture, Patch, Told
from support.pages import PAGES, ROOT, blocks_of, region

from ablations import RESULTS, cli, holm
from ablations.cli import COMMANDS, command_at
from ablations.experiments import compare, design_runs
from ablations.experiments.options import parsed
from ablations.findings.our_designs import ZOO_FLAGS
from ablations.question.designs import DESIGNS, SUITES
from ablations.training.question import Question
from chapters.book.build import CHAPTERS, EXERCISE, number
from chapters.book.grading.asked import exercises
from chapters.book.grading.grade import GradeOptions
from chapters.book.site.staging import documentation
from chapters.book.site.wall_chart import described, in_plain_text, numbers, tables_of_diagnostics, wall_chart
from chapters.book.slides.outline import outline
from tricks import PPO, Config, Tricks
from tricks.advantage_norm import standardize
from tricks.cli.main import Playing, Saving
from tricks.cli.shell import ALIASES, options, parse
from tricks.cli.train import Output
from tricks.clip import clipped_surrogate
from tricks.core.moments import ReturnStats
from tricks.gae import gae
from tricks.grad_clip import shorten
from tricks.ladder import FILES, NEEDS, PRESETS
from tricks.popart import renormalize
from tricks.value_clip import clipped_error

EVERY = {name: pages.commands(name) for name in ("tricks", "ablations")}
SHELL, ABLATIONS = ([command for command in every if "--trick " not in command] for every in EVERY.values())
TRAINS = [command for command in SHELL if command.startswith(("train", "play", "save-policy"))]
HERE = os.environ | {"PYTHONPATH": str(ROOT)}
KINDS = [command_at(place)[1]["chosen"] for place, _ in COMMANDS.values()]


def asked_by(words: list[str]) -> list[Question]:
    """What `compare`, `judge`, or `run` around a base would train."""
    with patch.object(compare, "answer") as answer:
        assert cli.main(words) == 0
    asked, seeds, *_ = answer.call_args.args
    return [replace(each, seeds=tuple(range(seeds)) if isinstance(seeds, int) else seeds) for each in asked]


def test_the_readme_fits_one_sitting_and_lists_every_page_and_preset() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 180
    listed = [str(page.relative_to(pages.ROOT)) for found in documentation().values() for page in found]
    assert sorted(listed) == sorted({*pages.PAGES} - {"README.md", "chapters/README.md"})
    assert ", ".join(f"`{name}`" for name in PPO.on) in pages.PAGES["chapters/README.md"]
    assert all(f"- `{name}`: " in pages.PAGES["docs/running.md"] for name in PRESETS)
    stored = pd.read_csv(RESULTS / "speed.csv")
    ours = stored[stored.who == "tricks"].set_index("seeds").steps_per_second
    assert 4.5 <= 10 * ours[1] / ours[10] < 5.5  # "the price of five"


@pytest.mark.parametrize("page", pages.PAGES)
def test_links_and_pictures_lead_somewhere(page: str) -> None:
    path = pages.ROOT / page
    for target in pages.links(pages.PAGES[page]):
        name, _, anchor = target.partition("#")
        there = path.parent / name if name else path
        assert there.exists(), target
        assert not anchor or anchor in pages.anchors(there.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("command", [command for command in SHELL if command and command not in TRAINS])
def test_the_commands_that_print_work_as_written(command: str, told: Told) -> None:
    assert told(command)


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
    assert asked("train cleanrl --no-value-clip") == (ZOO_FLAGS, published)  # whose agents were evaluated


@pytest.mark.parametrize("code", pages.one_liners())
def test_the_one_liners_import_what_is_there(code: str) -> None:
    exec(code.split(";")[0])  # the rest may write files


@pytest.mark.parametrize("command", ABLATIONS)
def test_the_ablation_commands_ask_for_something_that_is_there(command: str) -> None:
    name, *words = shlex.split(command) or ["run"]
    if name in ("compare", "judge") or "--base" in words:
        assert all(each.arms for each in asked_by([name, *words]))
        return
    chosen = parsed(command_at(COMMANDS[name][0])[1]["chosen"], words, name)
    if isinstance(chosen, design_runs.Options):
        assert all(each.jobs(each.table_rates) for each in design_runs.questions(chosen, chosen.seeds))


def test_commands_with_a_trick_of_one_s_own_work_as_written(tmp_path: Path) -> None:
    (code,) = pages.blocks_of("py", pages.PAGES["docs/your-own.md"])
    (tmp_path / "mine.py").write_text(code)
    with_it = [(name, each.split()) for name, every in EVERY.items() for each in every if "--trick " in each]
    run = "from ablations.experiments import compare; compare.answer = print; from {} import main; assert not main({})"
    places = {"tricks": "tricks.cli.main", "ablations": "ablations.cli"}
    programs = [(["-c", run.format(places[name], words)], "rollback") for name, words in with_it]
    programs.append((["-m", "ablations", "compare", "--trick", "mine.py", "--help"], "--rollback-slope"))  # an option
    for program, said in programs:
        done = subprocess.run([sys.executable, *program], cwd=tmp_path, capture_output=True, text=True, env=HERE)
        assert done.returncode == 0 and said in done.stdout, done.stderr
    assert len(with_it) == 2


def test_every_option_design_and_suite_on_a_page_is_there() -> None:
    own = (Tricks, Config, Output, Playing, Saving, GradeOptions)
    known = [field for group in (*own, *KINDS, compare.BaseOptions) for field in fields(group)]
    names = {f.name for f in known} | {f"no_{f.name}" for f in known if isinstance(f.default, bool)}
    others = {*ALIASES.values(), "--version", "--help", "--trick"}
    assert pages.options() <= {f"--{name.replace('_', '-')}" for name in names} | others
    text = pages.PAGES["docs/method.md"]
    for name in {*DESIGNS, *SUITES, "worlds"}:
        assert re.search(rf"`[^`]*\b{name}\b[^`]*`", text), name


@pytest.mark.parametrize("page", [page for page in pages.PAGES if page not in ("CONTRIBUTING.md", "docs/recipes.md")])
def test_the_python_examples_run(page: str, tmp_path: Path, monkeypatch: Patch) -> None:
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in pages.blocks_of("python", pages.PAGES[page].replace(pages.region("core"), "")):
        exec(re.sub(r"steps=[\d_]+", "steps=2000", code), names)
    if page == "docs/running.md":
        assert names["run"].curve.seed.nunique() == 4
        assert (tmp_path / "runs" / "mine" / "curve.csv").exists()


def test_the_trick_that_contributing_adds_is_right(monkeypatch: Patch) -> None:
    """The page's file and its tests; the rest of the page's code goes into files that are there already."""
    blocks = pages.blocks_of("python", pages.PAGES["CONTRIBUTING.md"])
    code, test = (block for block in blocks if block.startswith('"""rollback: '))
    module = ModuleType("tricks.rollback")
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, "tricks.rollback", module)
    checks: dict[str, Any] = {}
    exec(test, checks)
    assert len([check() for name, check in checks.items() if name.startswith("test_")]) == 3


ROWS = re.findall(r"^\| ([\w ]+ \d+\. .*) \|$", PAGES["docs/details.md"], re.MULTILINE)
DETAILS = [tuple(map(str.strip, row.split("|"))) for row in ROWS]
TERMS = re.findall(r"^\| (\w[\w ]*) \|.*\| (`.*`) \|$", PAGES["docs/internal/glossary.md"], re.MULTILINE)


def test_all_37_details_and_each_term_has_one_row() -> None:
    counts = {"core": 13, "Atari": 9, "continuous": 9, "LSTM": 5, "MultiDiscrete": 1, "auxiliary": 4}
    numbered = [f"{group} {k}" for group, count in counts.items() for k in range(1, count + 1)]
    assert [row[0].partition(". ")[0] for row in DETAILS] == numbered
    assert 25 <= len(TERMS) <= 36 and len({term for term, _ in TERMS}) == len(TERMS)
    assert len(TERMS) == PAGES["docs/internal/glossary.md"].count("\n| ") - 1  # without the head


NOTATION = re.findall(r"(?m)^\| (.+?) \| .* \| \[(\d+)\]\(\.\./chapters/(\w+)\.ipynb\) \|$", PAGES["docs/notation.md"])


def test_a_symbol_or_term_is_in_the_chapter_that_introduces_it() -> None:
    assert len(NOTATION) == PAGES["docs/notation.md"].count("](../chapters/") > 30
    for said, shown, name in NOTATION:
        script = (CHAPTERS / f"{name}.py").read_text(encoding="utf-8").lower()
        words = [re.split(r"[(_]", each.strip("$").lower())[0] for each in said.split(", ")]
        assert shown == number(name) and [each for each in words if each not in script] == [], said


@pytest.mark.parametrize("row", DETAILS, ids=lambda row: row[0])
def test_a_flag_a_number_a_function_and_a_chapter_are_there(row: tuple[str, ...]) -> None:
    _, here, function, chapter = row
    names = {*re.findall(r"`(\w+)`", here)}
    assert names <= {*NEEDS} | {field.name for field in fields(Config)}
    if here.startswith("not here"):
        assert (function, chapter) == ("–", "–")
        return
    home, _, name = function.strip("`").rpartition(".")
    assert hasattr(import_module(home), name)
    (page,) = re.findall(r"\]\((.+?)\)", chapter)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [flag for flag in names & {*NEEDS} if flag not in text] == []
    assert not names & {*NEEDS} or home.startswith("tricks.core") or home.rpartition(".")[2] in FILES.values()


@pytest.mark.parametrize(("term", "where"), TERMS)
def test_a_term_is_something_in_the_code(term: str, where: str) -> None:
    for path in re.findall(r"`([\w.]+)`", where):
        home, _, name = path.rpartition(".")
        if not hasattr(import_module(home), name):
            import_module(path)


def test_the_wall_chart_has_ppo_s_defaults_and_is_one_page(tmp_path: Path) -> None:
    found = {name: value for name, value, _ in numbers()}
    assert found["clip_range"] == str(Config.clip_range)
    assert "return_beta" in found and "value_clip_range" not in found  # of PPO's own tricks
    assert all(text for _, _, text in numbers())
    assert described()["gamma"] == "Discount γ" and described()["epochs"] == "Passes over each batch"
    assert described()["lanes"] == "N: parallel environments per seed"
    sound, symptoms = tables_of_diagnostics()
    assert [row[0] for row in sound[1:]][:2] == ["approx_kl", "clip_fraction"]
    assert symptoms[0] == ("symptom", "look for") and len(symptoms) > 6
    assert not any("$" in cell or "`" in cell for row in (*sound, *symptoms) for cell in row)
    assert in_plain_text(r" `entropy` stays at $\log A$ ") == "entropy stays at log A"
    assert in_plain_text(r"ratio $\pi/\pi_\text{old}$ of `max_grad_norm`") == "ratio π/πold of max_grad_norm"
    wall_chart(tmp_path / "chart.pdf")
    written = (tmp_path / "chart.pdf").read_bytes()
    assert written.startswith(b"%PDF") and written.count(b"/Type /Page ") == 1


PAGE = PAGES["docs/teaching.md"]
EXAM = CHAPTERS / "solutions" / "exam.md"


def row(*numbers: float) -> torch.Tensor:
    return torch.tensor([numbers], dtype=torch.float32)


def listed(numbers: torch.Tensor) -> str:
    return ", ".join(f"{x:.4g}" for x in numbers.flatten().tolist())


def steps_of(command: str) -> int:
    """The environment steps of a week's experiment."""
    program, name, *words = shlex.split(command)[2:]
    if program == "tricks":
        config = parse(words, name, Config, Output)[1][0]
        return config.steps * len(config.seed_list)
    every = [(each, len(each.seeds) + len(each.rates or ()) * each.rate_seeds) for each in asked_by([name, *words])]
    return sum(len(each.arms) * seeds * each.config.steps for each, seeds in every)


def test_the_syllabus_has_the_chapters_exercises_hours_and_slides() -> None:
    found = re.findall(r'thumbnails/(\w+)\.png".*\| (\d+)(?: \+ \d+)? \|$', PAGES["chapters/README.md"], re.MULTILINE)
    chapters = {number(name): (name, int(first)) for name, first in found}
    (block,) = (each for each in blocks_of("sh", PAGE) if "runs/week1" in each)
    rows = region("syllabus").splitlines()[2:]
    for line, command in zip(rows, block.splitlines(), strict=True):
        _, which, reading, given, experiment, hours, checked, read = map(str.strip, line.strip("|").split("|"))
        week = [chapters[each] for each in which.split(", ")]
        asked = [each for name, _ in week for each in exercises(name)]
        minutes = sum(first for _, first in week) - EXERCISE * len(asked)
        running = math.ceil(steps_of(command) / 2_000_000)
        assert (reading, given, experiment) == (f"{minutes} min", f"{15 * len(asked)} min", f"{running} min")
        assert float(hours) == math.ceil((2 * minutes + 15 * len(asked) + running + 30) / 30) / 2
        assert checked == ", ".join(each.label for each in asked if each.check)
        assert read == ", ".join(each.label for each in asked if not each.check)
    slides = [slide.heading for slide in outline("03_clip")]
    places = re.findall(r'(?:"([^"]+?)\.?"|exercise 3\.(\d)) \(slide (\d+)\)', PAGE)
    assert len(places) == 6
    for title, exercise, place in places:
        heading = title or next(each for each in slides if each.startswith(f"Exercise {exercise}:"))
        assert slides[int(place) - 1] == heading
        assert heading == "One lucky pull" or heading not in slides[: int(place) - 1]


@pytest.mark.skipif(not EXAM.exists(), reason="a student's copy has no answers")
def test_the_exam_has_an_answer_to_each_question_with_the_numbers_that_the_library_computes() -> None:
    _, *answers = re.split(r"^\d+\. ", EXAM.read_text(encoding="utf-8"), flags=re.MULTILINE)
    asked = re.findall(r"^(\d+)\. ", PAGE.split("## An exam")[1], re.MULTILINE)
    assert asked == [*map(str, range(1, 13))]
    assert len(answers) == 12
    logits = torch.zeros(2, requires_grad=True)
    slopes = [torch.autograd.grad(logits.log_softmax(0)[action], logits)[0][0].item() for action in (0, 1)]
    plain, based = ([(pay - base) * slope for pay, slope in zip((1, 3), slopes, strict=True)] for base in (0, 2))
    old, new = row(0.9, 0.1), row(0.5, 0.5)
    rho, value = row(1.5, 0.5, 1.5, 0.5).requires_grad_(), row(0.5, -0.5).requires_grad_()
    objective = clipped_surrogate(rho, row(1, 1, -1, -1), torch.tensor([0.2]))
    loss = clipped_error(value, row(0, 0), row(1, 1), 0.2)
    slope, value_slope = (torch.autograd.grad(x.sum(), y)[0] for x, y in ((objective, rho), (loss, value)))
    assert (slope != 0).tolist() == [[False, True, True, False]]
    assert value_slope.tolist() == [[0, -1.5]]
    reward, values, after, end = (row(*x).unsqueeze(2) for x in ((1, 0, 2), (1, 2, 1), (2, 1, 9), (0, 0, 1)))
    advantages = [gae(reward, values, after, end.bool(), end.bool(), 1.0, lam) for lam in (0, 0.5, 1)]
    before, later = map(ReturnStats, torch.tensor([[0.0], [10.0]]).double(), torch.tensor([[1.0], [25.0]]).double())
    assert renormalize(row(7), before, later).item() == pytest.approx(0.4 * 3 - 1.8)
    whole = torch.ones(1, 3, dtype=torch.bool)
    table: tuple[tuple[Any, ...], ...] = (
        (1, f"it is {plain[0]:g} or {plain[1]:g}: ", f"With b = 2 it is {based[0]:g} either way"),
        (2, f"The mean is 0.9 · 5/9 + 0.1 · 5 = {new.sum():g}", f"= {1 / (new**2 / old).sum():.0%} of the batch"),
        (3, f"{listed(objective)}. The second and the third have a gradient."),
        (4, *(f"λ = {lam}: ({listed(found)})" for lam, found in zip("0½1", advantages, strict=True))),
        (5, *(f"({listed(standardize(scale * row(1, 2, 3), whole))})" for scale in (1, 100))),
        (6, "5 · (0.4 · 3 - 1.8) + 10 = 7"),
        (7, f"({listed(shorten(row(3, 4), torch.tensor([5.0]), 0.5))})"),
        (8, *(f"ln {k} ≈ {math.log(k):.3f} nats" for k in (4, 2))),
        (10, *(f"= {each}, from" for each in listed(loss).split(", "))),
        (11, listed(torch.tensor(holm(np.array([0.01, 0.03, 0.04]))))),
        (12, *(reuse := ("-0.51", "+0.47", "+0.07", "+0.004", "+0.14"))),
    )
    for question, *said in table:
        answer = " ".join(answers[question - 1].split()).replace("−", "-")
        assert [each for each in said if each not in answer] == [], question
    told = next(line for line in region("take-home").splitlines() if line.startswith("2. "))
    assert all(each in told for each in reuse)


PARTS = pages.PAGES["docs/recipes.md"].split("\n## ")[1:]
INSTALLS = {part.split("\n")[0]: "".join(pages.blocks_of("sh", part)).partition("#")[0].strip() for part in PARTS}
RECIPES = {part.split("\n")[0]: "".join(pages.blocks_of("python", part)) for part in PARTS}
LEAVES = {"Weights & Biases": "wandb", "MLflow": "mlflow.db", "TensorBoard": "runs/board"}
OTHERS = {"MLflow": "mlflow", "TensorBoard": "tensorboard", "Optuna": "optuna", "rliable": "rliable.library"}
PACKAGES = {"Weights & Biases": "wandb"} | OTHERS
SAYS = {"Stop when it's solved": "solved after", "Optuna": "on new seeds", "rliable": "the whole ladder: interquartile"}
SMALLER = [(r"steps=[\d_]+", "steps=2000"), (r"Solved\(475\)", "Solved(15)"), (r"n_trials=\d+", "n_trials=3")]


def test_every_recipe_leaves_or_says_something() -> None:
    assert {*RECIPES} == {*LEAVES, *SAYS}
    assert {name for name, line in INSTALLS.items() if line.startswith("pip install ")} == {*PACKAGES}
    assert all(RECIPES.values())


@pytest.mark.filterwarnings("ignore")  # the tools' own
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs(name: str, tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    try:
        import_module(PACKAGES.get(name, "tricks"))
    except Exception as error:  # rliable raises a TypeError beside pandas 3
        pytest.skip(f"the recipe {name} needs {INSTALLS[name]} ({type(error).__name__}: {error})")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    code = RECIPES[name]
    for long, short in SMALLER:
        code = re.sub(long, short, code)
    exec(compile(code, name, "exec"), {"__name__": "__main__"})
    assert (tmp_path / LEAVES.get(name, ".")).exists() and SAYS.get(name, "") in capsys.readouterr().out
